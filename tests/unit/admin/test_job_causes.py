"""Why a job is where it is: one cause, never nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue import clock
from fleetqueue.admin.causes import NOTHING_TO_DO
from fleetqueue.admin.hub_state import HubState, last_notes, silence_of, trouble_of
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.admin.queue_causes import JUST_CREATED, ONE_OF_EQUALS
from fleetqueue.admin.step_commands import commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL
from fleetqueue.api.kueue_pods import OWNER_GVK, OWNER_NAME
from fleetqueue.api.meta import OwnerReference
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.testing.builders import condition


def workload(true=(), false=(), checks=(), *, nominated=(), on="", deleting=False, active=True, message=""):
    status = {
        "conditions": [
            *({"type": kind, "status": "True", "message": f"{kind} it is"} for kind in true),
            *({"type": kind, "status": "False", "message": message} for kind in false),
        ],
        "admissionChecks": [{"name": n, "state": s, "message": m} for n, s, m in checks],
        "nominatedClusterNames": list(nominated),
        "clusterName": on,
    }
    manifest = kueue.Workload.manifest("w", "default", spec={"active": active, "queueName": "q"}, status=status)
    manifest["metadata"]["uid"] = "u1"
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return kueue.Workload.view(manifest)


MK = ("mk", "Pending", "")
READY = ("gpu", "Ready", "placement gpu selects 1 cluster")
QUOTA = ("QuotaReserved",)
UNREADY = "Admitted it is; its Job shows no ready pod"


def said(cause):
    return cause.code, cause.sentence


@pytest.mark.parametrize(
    ("found", "note", "code", "sentence"),
    [
        pytest.param(workload(), "", "NotLookedAt", "no queue has looked at it yet", id="nobody has looked at it"),
        pytest.param(
            workload(false=QUOTA, message="something that only Kueue knows"),
            "",
            "Pending",
            "something that only Kueue knows",
            id="the queue says why",
        ),
        pytest.param(
            workload(active=False), "", "Deactivated", "it is deactivated (spec.active is false)", id="deactivated"
        ),
        pytest.param(
            workload(("Evicted",), active=False),
            "",
            "Deactivated",
            "it is deactivated (spec.active is false)",
            id="deactivated later",
        ),
        pytest.param(
            workload(false=QUOTA, checks=[("mk", "Rejected", "The owner is not managed by Kueue")]),
            "",
            "CheckRejected",
            "AdmissionCheck mk has rejected it: The owner is not managed by Kueue",
            id="rejected",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            "",
            "NotNominated",
            "mk is Pending: no cluster is nominated yet",
            id="just begun",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            "gpu-c1: not connected",
            "ClusterNotConnected",
            "no cluster can take it: gpu-c1: not connected",
            id="the dispatcher has said why",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1", "gpu-c2"]),
            "",
            "Nominated",
            "mk is Pending: nominated for gpu-c1, gpu-c2, not recorded as admitted there yet",
            id="nominated",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1"]),
            "it must not run twice, so it stays on gpu-c1",
            "Nominated",
            "mk is Pending: nominated for gpu-c1, not recorded as admitted there yet; it must not run twice, so it"
            " stays on gpu-c1",
            id="nominated, and told why it stays there",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", ""), ("gpu", "Pending", "waiting: no clusters")]),
            "",
            "CheckWaits",
            "gpu is Pending: waiting: no clusters",
            id="a check that says why goes first",
        ),
        pytest.param(
            workload(QUOTA, checks=[("gpu", "Pending", "waiting: no clusters")]),
            "its pods on gpu-c1 may still be stopping",
            "CheckWaits",
            "gpu is Pending: waiting: no clusters; its pods on gpu-c1 may still be stopping",
            id="an Event says something else than the check",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Retry", "Worker lost")]),
            "",
            "CheckWaits",
            "mk is Retry: Worker lost",
            id="a retry",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", "")], on="gpu-c1"),
            "",
            "Nominated",
            "mk is Pending: it is on gpu-c1, which has not said so yet",
            id="a winner that is not ready",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Ready", "")]),
            "",
            "AboutToBeAdmitted",
            "all checks are Ready; Kueue is about to admit it",
            id="nothing is missing any more",
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")),
            "",
            "Evicted",
            "it is being evicted: Evicted it is",
            id="on its way out",
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")),
            "waits for gpu-c1, which may run it and does not answer since 2026-01-01T00:00:00Z",
            "WaitsForLostWorker",
            "it is being evicted: Evicted it is; waits for gpu-c1, which may run it and does not answer since"
            " 2026-01-01T00:00:00Z",
            id="on its way out, and its cluster is silent",
        ),
        pytest.param(workload(("QuotaReserved", "Admitted")), "", "Admitted", "Admitted it is", id="it runs"),
        pytest.param(workload(("Admitted", "Finished")), "", "Finished", "Finished it is", id="it has ended"),
        pytest.param(
            workload(QUOTA, checks=[("ac", "Pending", "Reset to Pending after eviction. Previously: Retry"), MK]),
            "its copy on c1 must be removed",
            "NotNominated",
            "ac is Pending: no cluster is nominated yet; its copy on c1 must be removed",
            id="taken back, and not sent anywhere yet",
        ),
        pytest.param(workload(QUOTA, deleting=True), "", "Deleting", "it is being deleted", id="deleted"),
    ],
)
def test_the_cause_of_a_job(found, note, code, sentence):
    assert said(cause_of(found, HubState(notes={"u1": note}))) == (code, sentence)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        pytest.param("workload namespace doesn't match ClusterQueue selector", "NamespaceNotAllowed", id="namespace"),
        pytest.param(
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously"
            " considered podsets requests (0) + current podset request (9) > maximum capacity (4)",
            "ExceedsQuota",
            id="more than there is",
        ),
        pytest.param(
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor a, 1 more needed",
            "QuotaShort",
            id="more than is free",
        ),
        pytest.param(
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor a, previously considered"
            " podsets requests (0) + current podset request (9) > maximum capacity (4), insufficient unused quota for"
            " cpu in flavor b, 1 more needed",
            "QuotaShort",
            id="one flavor is too small, and another one full",
        ),
        pytest.param(
            "couldn't assign flavors to pod set main: flavor a doesn't match node affinity",
            "NoFlavorFits",
            id="flavors",
        ),
        pytest.param(
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor a, 1 more needed."
            " Pending the preemption of 1 workload(s)",
            "PreemptionPending",
            id="others make room",
        ),
    ],
)
def test_what_kueue_says_of_quota_has_a_code(message, code):
    assert said(cause_of(workload(false=QUOTA, message=message), HubState())) == (code, message)


SINCE = datetime(2026, 1, 1, tzinfo=UTC)
"""When a cluster fell silent."""


@pytest.mark.parametrize(
    ("note", "code"),
    [
        pytest.param(messages.no_such_cluster("c9"), "PinnedToNobody", id="a cluster that there is not"),
        pytest.param(messages.not_selected("c2", "gpu"), "PinnedToNobody", id="a cluster that is not offered"),
        pytest.param("gpu-c1: not among fleetqueue.dev/clusters", "PinnedToNobody", id="all others"),
        pytest.param(f"gpu-c1: {messages.credential_refused('s')}", "CredentialRefused", id="a refused credential"),
        pytest.param("gpu-c1: not connected", "ClusterNotConnected", id="no connection"),
        pytest.param(f"gpu-c1: {messages.no_local_queue('ns', 'q')}", "WorkerQueueMissing", id="no LocalQueue there"),
        pytest.param(messages.not_brought(["gpu-c1"], "ns", "q"), "WorkerQueueMissing", id="not brought"),
        pytest.param(
            f"gpu-c1: {messages.queue_stopped(kueue.ClusterQueue.view(kueue.ClusterQueue.manifest('cq')))}",
            "WorkerQueueStopped",
            id="a stopped queue",
        ),
        pytest.param("gpu-c1: has 1 cpu, and the job needs 2", "WorkerQuotaTooSmall", id="a small worker"),
        pytest.param("gpu-c1: draining", "ClusterDraining", id="a drain"),
        pytest.param("gpu-c1: draining; gpu-c2: not connected", "ClusterNotConnected", id="a fault before a drain"),
        pytest.param(messages.nomination_refused("x"), "NominationRefused", id="a refused nomination"),
        pytest.param(messages.job_not_created("gpu-c1", None), "JobRefused", id="a refused job"),
        pytest.param(messages.waits_for_first(), "WaitsForItsGroup", id="a group"),
        pytest.param(
            messages.waits_for_silent("gpu-c1", SINCE, "wait", is_ours=True), "WaitsForLostWorker", id="a lost worker"
        ),
        pytest.param(messages.waits_for_fence("gpu-c1", SINCE, None), "WaitsForFence", id="a fence"),
    ],
)
def test_what_the_dispatcher_says_has_a_code(note, code):
    by_event = cause_of(workload(QUOTA, checks=[MK]), HubState(notes={"u1": note}))
    entry = ("gpu", "Pending", messages.check_waits(note))
    by_check = cause_of(workload(QUOTA, checks=[entry, MK]), HubState())

    by_both = cause_of(workload(QUOTA, checks=[entry, MK]), HubState(notes={"u1": note}))

    assert by_event.code == by_check.code == by_both.code == code
    assert note in by_event.sentence
    assert by_both.sentence.count(note) == 1
    assert by_event.step


@pytest.mark.parametrize(
    ("message", "part"),
    [
        pytest.param(
            'Flavor "f" does not contain the requested level', "spec.levels of the flavor's Topology", id="level"
        ),
        pytest.param('Flavor "f" does not support TopologyAwareScheduling', "flavor with spec.topologyName", id="none"),
        pytest.param('Flavor "f" supports only TopologyAwareScheduling', "ask for a topology", id="only"),
        pytest.param('Flavor "f" information missing in TAS cache', "create the Topology", id="no Topology"),
        pytest.param("there is no TAS cache information", "create the Topology", id="no Topology in the hub's Kueue"),
        pytest.param('topology "t" allows to fit only 4 out of 5 pod(s)', "room on the nodes", id="no room"),
        pytest.param(
            "no topology domains at level: kubernetes.io/hostname", "kubectl get nodes --show-labels", id="no node"
        ),
        pytest.param("flavor fast doesn't match node affinity", "node selector and tolerations", id="no topology"),
    ],
)
def test_what_topology_keeps_off_says_what_to_do_about_it(message, part):
    cause = cause_of(workload(false=QUOTA, message=f"couldn't assign flavors to pod set main: {message}"), HubState())

    assert cause.code == "NoFlavorFits"
    assert part in cause.step


@pytest.mark.parametrize(
    ("nominations", "code", "advice"),
    [
        pytest.param({}, "Nominated", "wait a moment", id="nothing is known"),
        pytest.param({"u1": "gpu-c1: score 0, no room now"}, "WorkerQuotaShort", "more quota", id="a full queue"),
    ],
)
def test_a_job_that_its_worker_does_not_admit_is_led_to_what_kueue_says_there(nominations, code, advice):
    member = kueue.MultiKueueCluster.manifest("gpu-c1", labels={CLUSTER_LABEL: "c1"}, status={"conditions": active()})
    around = HubState(nominations=nominations, members={"gpu-c1": kueue.MultiKueueCluster.view(member)})

    cause = cause_of(workload(QUOTA, checks=[MK], nominated=["gpu-c1"]), around)

    assert cause.code == code
    assert advice in cause.step
    assert cause.step.endswith("`kubectl --context CONTEXT -n default describe workload w`, with your context of c1")


def test_a_job_whose_worker_has_not_placed_it_by_topology_says_so():
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "delayedTopologyRequest": "Pending"}]}
    status = {
        "conditions": [{"type": "QuotaReserved", "status": "True"}],
        "admissionChecks": [{"name": "mk", "state": "Ready", "message": ""}],
        "admission": admission,
        "clusterName": "c1",
    }

    cause = cause_of(kueue.Workload.view(kueue.Workload.manifest("w", "default", status=status)), HubState())

    assert cause.code == "AboutToBeAdmitted"
    assert "its worker has not placed its pods by topology yet" in cause.sentence
    assert "give the flavor there a spec.topologyName" in cause.step


def test_a_job_that_is_queued_again_later_says_when():
    later = HubState().now + timedelta(minutes=2)
    status = {
        "conditions": [{"type": "Evicted", "status": "True", "message": "Preempted to accommodate another"}],
        "requeueState": {"requeueAt": timestamp(later), "count": 1},
    }
    found = kueue.Workload.view(kueue.Workload.manifest("w", "default", spec={"queueName": "q"}, status=status))

    cause = cause_of(found, HubState())

    sentence = f"it was evicted, and is queued again at {timestamp(later)}; Preempted to accommodate another"
    assert (cause.code, cause.sentence, cause.step) == ("RequeuedLater", sentence, "wait until then")


def test_a_job_behind_a_gate_says_which():
    gated = "Admission is gated by: example.com/budget"

    cause = cause_of(workload(false=QUOTA, message=gated), HubState())

    step = "wait until nobody stands in the annotation kueue.x-k8s.io/admission-gated-by of the job"
    assert (cause.code, cause.sentence, cause.step) == ("AdmissionGated", gated, step)


def test_a_set_that_was_changed_after_it_was_sent_says_so():
    status = {"conditions": [{"type": "Admitted", "status": "True", "message": "Admitted it is"}], "clusterName": "c1"}
    annotations = {OWNER_GVK: "apps/v1, Kind=StatefulSet", OWNER_NAME: "web"}
    manifest = kueue.Workload.manifest("w", "default", annotations=annotations, status=status)
    members = {"c1": kueue.MultiKueueCluster.view(connected("c1"))}

    cause = cause_of(kueue.Workload.view(manifest), HubState(members=members, rolling_out={"default/web"}))

    sentence = (
        "Admitted it is; its template was changed, which its copy does not follow, and Kueue may run the hub's older"
        " pods, too"
    )
    step = "kubectl -n default scale statefulset web --replicas 0; and up again when its pods are gone"
    assert (cause.code, cause.sentence, cause.step) == ("TemplateChanged", sentence, step)


def connected(name):
    return kueue.MultiKueueCluster.manifest(name, spec={}, status={"conditions": [condition(kueue.ACTIVE)]})


def ended(reason, message):
    condition = {"type": "Finished", "status": "True", "reason": reason, "message": message}
    return kueue.Workload.view(kueue.Workload.manifest("w", "default", status={"conditions": [condition]}))


@pytest.mark.parametrize(
    ("found", "code", "sentence"),
    [
        pytest.param(
            ended("Succeeded", "Job finished successfully"), "Succeeded", "Job finished successfully", id="succeeded"
        ),
        pytest.param(ended("Succeeded", ""), "Succeeded", "it has succeeded", id="succeeded without a word"),
        pytest.param(ended("Failed", "backoff limit"), "Failed", "it has failed: backoff limit", id="failed"),
        pytest.param(ended("Failed", ""), "Failed", "it has failed", id="failed without a word, as a Pod does"),
        pytest.param(ended("OwnerNotFound", ""), "Finished", "it has finished", id="ended otherwise"),
    ],
)
def test_a_failure_is_told_from_a_success(found, code, sentence):
    assert said(cause_of(found, HubState())) == (code, sentence)


@pytest.mark.parametrize(
    ("where", "step"),
    [
        pytest.param({}, "fleetqueue logs Job/j -n default", id="on the hub"),
        pytest.param(
            {"clusterName": "gpu-c1"},
            "read its logs where gpu-c1 keeps old ones, since its pods there are gone; or create it again, and read"
            " them while it runs: fleetqueue logs Job/j -n default -f",
            id="on a worker",
        ),
    ],
)
def test_who_reads_that_a_job_has_failed_is_told_where_its_logs_are(where, step):
    condition = {"type": "Finished", "status": "True", "reason": "Failed", "message": "backoff limit"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": True}
    raw = kueue.Workload.manifest("job-j-12345", "default", status={"conditions": [condition], **where})
    raw["metadata"]["ownerReferences"] = [owner]

    assert cause_of(kueue.Workload.view(raw), HubState()).step == step


def test_a_job_that_kueue_has_deactivated_says_why():
    message = "The workload is deactivated due to Admission check(s): [gpu], were rejected"
    evicted = {"type": "Evicted", "status": "True", "reason": "DeactivatedDueToAdmissionCheck", "message": message}
    status = {"conditions": [evicted]}
    found = kueue.Workload.view(kueue.Workload.manifest("w", "default", spec={"active": False}, status=status))

    reason = "it is deactivated (spec.active is false): Admission check(s): [gpu], were rejected"
    assert said(cause_of(found, HubState())) == ("Deactivated", reason)


def job(**status):
    manifest = Job.manifest("j", "default", status=status)
    manifest["metadata"]["uid"] = "j1"
    return Job.view(manifest)


def of_job(**options):
    """A Workload that is admitted, of a Job."""
    found = workload(("QuotaReserved", "Admitted"), **options)
    owner = OwnerReference(kind="Job", name="j", uid="j1", controller=True)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, owner_references=(owner,)))


@pytest.mark.parametrize(
    ("found", "jobs", "reason"),
    [
        pytest.param(of_job(on="gpu-c1"), [job(active=2, ready=0)], UNREADY, id="its pods are not ready"),
        pytest.param(of_job(on="gpu-c1"), [job()], UNREADY, id="it has no pods"),
        pytest.param(of_job(on="gpu-c1"), [job(active=2, ready=1)], "Admitted it is", id="one is ready"),
        pytest.param(of_job(on="gpu-c1"), [job(active=2)], "Admitted it is", id="nobody says how many are ready"),
        pytest.param(of_job(on="gpu-c1"), [], "Admitted it is", id="the Job is not seen"),
        pytest.param(
            of_job(false=["PodsReady"], message="Not all pods are ready or succeeded", on="gpu-c1"),
            [job()],
            "Admitted it is; Not all pods are ready or succeeded",
            id="Kueue says so itself",
        ),
    ],
)
def test_an_admitted_job_without_ready_pods_says_so(found, jobs, reason):
    assert cause_of(found, HubState(jobs={job.uid: job for job in jobs})).sentence == reason


def active(status="True", reason="Active", message="all is well"):
    return [{"type": "Active", "status": status, "reason": reason, "message": message}]


def check(name, controller=CHECK_CONTROLLER, conditions=None, parameters=None):
    status = {"conditions": active() if conditions is None else conditions}
    spec = {"controllerName": controller, "parameters": parameters}
    return kueue.AdmissionCheck.view(kueue.AdmissionCheck.manifest(name, spec=spec, status=status))


def hub(*checks, queue=None, **known):
    """A hub with these checks, and a queue that is inactive for the reason of them."""
    strategy = {"admissionChecks": [{"name": found.name} for found in checks]}
    inactive = kueue.ClusterQueue.manifest(
        "cq", spec={"admissionChecksStrategy": strategy}, status={"conditions": queue or active("False", message="")}
    )
    local = kueue.LocalQueue.view(kueue.LocalQueue.manifest("q", "default", spec={"clusterQueue": "cq"}))
    known = {"local_queues": {"default/q": local}, "cluster_queues": {"cq": kueue.ClusterQueue.view(inactive)}, **known}
    return HubState(checks={found.name: found for found in checks}, **known)


@pytest.mark.parametrize(
    ("names", "named"),
    [
        pytest.param(["a", "gpu"], '"name":"gpu"', id="the one of its name"),
        pytest.param(["a"], '"name":"a"', id="the only one"),
        pytest.param(["a", "b"], "kind Placement, and its name", id="nobody knows which"),
        pytest.param([], "kind Placement, and its name", id="there is none"),
    ],
)
def test_a_check_without_parameters_is_told_which_placement_to_name(names, named):
    placements = [cluster.Placement.view(cluster.Placement.manifest(name, "kueue-system", spec={})) for name in names]
    around = replace(hub(check("gpu", conditions=[])), fleet=FleetObjects(placements=placements))

    assert named in cause_of(INACTIVE, around).step


def members(**troubles):
    """MultiKueueClusters, and what Kueue says of those that it is not connected to."""
    found = {
        name: kueue.MultiKueueCluster.manifest(
            name, status={"conditions": active("False", "Lost", trouble) if trouble else active()}
        )
        for name, trouble in troubles.items()
    }
    return {name: kueue.MultiKueueCluster.view(manifest) for name, manifest in found.items()}


def config(*listed):
    return {"gpu": kueue.MultiKueueConfig.view(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": list(listed)}))}


TO_CONFIG = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": "gpu"}
TO_PLACEMENT = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "gpu"}
MULTIKUEUE = check("mk", kueue.MULTIKUEUE_CONTROLLER, parameters=TO_CONFIG)
NO_CONFIG = check("mk", kueue.MULTIKUEUE_CONTROLLER, active("False", "BadConfig", "no config"), TO_CONFIG)
SERVED = check("gpu", parameters=TO_PLACEMENT)
NO_CLUSTERS = check("gpu", conditions=active("False", "NoClustersAvailable", "no clusters"), parameters=TO_PLACEMENT)
LEFT_OUT = check(
    "gpu", conditions=active("False", "NoClustersAvailable", "no clusters; left out: c1 (x)"), parameters=TO_PLACEMENT
)
UNSEEN = check("gpu", conditions=[], parameters=TO_PLACEMENT)
INACTIVE = workload(false=QUOTA, message="ClusterQueue cq is inactive")
DEAD = "there is no lease; does it run?"
LOST = {"gpu-c1": "x"}
WELL = {"gpu-c1": ""}


@pytest.mark.parametrize(
    ("found", "around", "code", "sentence"),
    [
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, NO_CLUSTERS),
            "CheckInactive",
            "ClusterQueue cq is inactive: AdmissionCheck gpu is not Active: NoClustersAvailable: no clusters",
            id="our check goes before MultiKueue's, which has no config because of it",
        ),
        pytest.param(
            INACTIVE,
            hub(NO_CLUSTERS, fleet=FleetObjects(placements=())),
            "PlacementMissing",
            "ClusterQueue cq is inactive: Placement gpu not found in namespace kueue-system; so AdmissionCheck gpu is"
            " not Active",
            id="what is wrong with the Placement goes before what the check says",
        ),
        pytest.param(
            INACTIVE,
            hub(LEFT_OUT),
            "ClustersLeftOut",
            "ClusterQueue cq is inactive: AdmissionCheck gpu is not Active: no clusters; left out: c1 (x)",
            id="all chosen clusters are left out",
        ),
        pytest.param(
            INACTIVE,
            hub(check("gpu", conditions=[])),
            "CheckParametersInvalid",
            "ClusterQueue cq is inactive: AdmissionCheck gpu: spec.parameters must name a Placement: apiGroup"
            " cluster.open-cluster-management.io, kind Placement, and its name",
            id="a check that names nothing",
        ),
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, SERVED),
            "CheckInactive",
            "ClusterQueue cq is inactive: AdmissionCheck mk is not Active: BadConfig: no config",
            id="another check is inactive, and no more can be seen",
        ),
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, SERVED, configs={}),
            "ConfigMissing",
            "ClusterQueue cq is inactive: AdmissionCheck mk names MultiKueueConfig gpu, which does not exist",
            id="the config is gone",
        ),
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, SERVED, configs=config("gpu-c1"), members=members(**LOST)),
            "ClusterNotConnected",
            "ClusterQueue cq is inactive: Kueue reaches no cluster of MultiKueueConfig gpu: gpu-c1: Kueue is not"
            " connected to it: Lost: x",
            id="no cluster is connected",
        ),
        pytest.param(
            INACTIVE,
            hub(MULTIKUEUE, UNSEEN),
            "CheckNotLookedAt",
            "ClusterQueue cq is inactive: AdmissionCheck gpu was not looked at yet by"
            " open-cluster-management.io/placement",
            id="a check that nobody has looked at",
        ),
        pytest.param(
            INACTIVE,
            hub(MULTIKUEUE, UNSEEN, silence=DEAD),
            "ControllerSilent",
            f"ClusterQueue cq is inactive: nobody answers for AdmissionCheck gpu: {DEAD}",
            id="a check that nobody will look at",
        ),
        pytest.param(
            INACTIVE,
            HubState(
                checks={},
                local_queues=hub(MULTIKUEUE).local_queues,
                cluster_queues=hub(MULTIKUEUE).cluster_queues,
            ),
            "CheckMissing",
            "ClusterQueue cq is inactive: AdmissionCheck mk does not exist",
            id="a check that there is not",
        ),
        pytest.param(
            workload(false=QUOTA, message="only Kueue knows"),
            hub(NO_CLUSTERS, queue=active()),
            "Pending",
            "only Kueue knows",
            id="a queue that is active waits for nothing of that",
        ),
        pytest.param(
            INACTIVE,
            hub(SERVED, queue=active()),
            "Queued",
            f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}",
            id="a queue that is active again",
        ),
        pytest.param(
            workload(),
            hub(SERVED, queue=active()),
            "Queued",
            f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}",
            id="one of several equal jobs",
        ),
        pytest.param(
            workload(),
            hub(),
            "ClusterQueueInactive",
            "ClusterQueue cq is inactive",
            id="nobody says why its queue is inactive",
        ),
        pytest.param(INACTIVE, HubState(), "Pending", "ClusterQueue cq is inactive", id="nothing else can be seen"),
        pytest.param(
            INACTIVE,
            HubState(local_queues={}),
            "LocalQueueMissing",
            "there is no LocalQueue q in namespace default",
            id="no LocalQueue",
        ),
        pytest.param(
            INACTIVE,
            HubState(local_queues=hub().local_queues, cluster_queues={}),
            "ClusterQueueMissing",
            "LocalQueue q leads to ClusterQueue cq, which does not exist",
            id="no ClusterQueue",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(members=members(**LOST)),
            "WorkerLost",
            "Admitted it is; gpu-c1 may be lost: Kueue is not connected to it: Lost: x",
            id="admitted on a worker that is lost",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(members={}),
            "WorkerLost",
            "Admitted it is; gpu-c1 may be lost: its MultiKueueCluster is gone",
            id="admitted on a worker that is gone",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(members=members(**WELL)),
            "Admitted",
            "Admitted it is",
            id="admitted on a worker that is well",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY]),
            hub(SERVED, queue=active()),
            "RunsOnHub",
            "Admitted it is; its ClusterQueue has a placement check and no MultiKueue check, so it runs on the hub",
            id="admitted on the hub",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted")),
            hub(SERVED, MULTIKUEUE, queue=active()),
            "NotChecked",
            "Admitted it is; Kueue has asked no check about it, since it asks for nothing that its queue has a quota"
            " for: it is not sent",
            id="a job without requests",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY, ("mk", "Ready", "")], on="gpu-c1"),
            hub(SERVED, MULTIKUEUE, queue=active()),
            "Admitted",
            "Admitted it is",
            id="admitted through MultiKueue",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY, ("gone", "Ready", "")]),
            hub(SERVED, queue=active()),
            "Admitted",
            "Admitted it is",
            id="admitted, and a check that is gone may have been MultiKueue's",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[("other", "Ready", "")]),
            hub(check("other", "x.io/other"), queue=active()),
            "Admitted",
            "Admitted it is",
            id="admitted on the hub, where no Placement was to choose",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1", "gpu-c2"]),
            HubState(members=members(**WELL, **{"gpu-c2": "x"})),
            "WorkerLost",
            "mk is Pending: nominated for gpu-c1, gpu-c2, not recorded as admitted there yet; gpu-c2 may be lost:"
            " Kueue is not connected to it: Lost: x",
            id="nominated for one that is lost",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1"]),
            HubState(nominations={"u1": "gpu-c1; spread; gpu-c1: score 0, no room now, 100% of its cpu used"}),
            "WorkerQuotaShort",
            "mk is Pending: nominated for gpu-c1, not recorded as admitted there yet: there was no room for it, and it"
            " waits until others end",
            id="nominated for one that is full",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK, ("gpu", "Pending", "")]),
            hub(MULTIKUEUE, SERVED, silence=DEAD, notes={"u1": "an old word"}),
            "ControllerSilent",
            f"nobody answers for AdmissionCheck gpu: {DEAD}",
            id="nobody answers",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            hub(MULTIKUEUE, silence=DEAD, notes={"u1": "a word"}),
            "NotNominated",
            "mk is Pending: no cluster is nominated yet; a word",
            id="nothing of it is ours to answer",
        ),
        pytest.param(
            workload(QUOTA, checks=[("gpu", "Pending", "waiting: no room"), MK]),
            hub(NO_CONFIG, SERVED, configs={}, silence=DEAD),
            "ConfigMissing",
            "AdmissionCheck mk names MultiKueueConfig gpu, which does not exist",
            id="the config was deleted since",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            HubState(checks={}),
            "CheckMissing",
            "AdmissionCheck mk does not exist",
            id="the check was deleted",
        ),
    ],
)
def test_the_cause_of_a_job_in_its_surroundings(found, around, code, sentence):
    assert said(cause_of(found, around)) == (code, sentence)


LOOK = "look whether gpu-c1 is up and reachable from the hub at the address of its credential"


@pytest.mark.parametrize(
    ("found", "note", "code", "first", "second"),
    [
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            "",
            "WorkerLost",
            LOOK,
            "the job starts elsewhere after Kueue's workerLostTimeout",
            id="it runs there",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1"]), "", "WorkerLost", LOOK, "only if", id="nominated for it"
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted"), on="gpu-c1"),
            "",
            "Evicted",
            LOOK,
            "the job starts elsewhere",
            id="taken away from it",
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")),
            f"gpu-c1 cannot be asked (no route); {messages.MAY_RUN}",
            "Evicted",
            LOOK,
            "only if",
            id="the dispatcher cannot ask it",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]), "gpu-c1: not connected", "ClusterNotConnected", LOOK, "only if", id="not sent"
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            "the first is on gpu-c1, which is not connected",
            "ClusterNotConnected",
            LOOK,
            "only if",
            id="not sent, since its group is there",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            f"gpu-c1: {messages.credential_refused('s')}",
            "CredentialRefused",
            "fleetqueue's controller renews it",
            "",
            id="its credential is refused",
        ),
        pytest.param(
            workload(QUOTA, checks=[("gpu", "Pending", "waits for gpu-c1, which does not answer since noon")]),
            "",
            "WaitsForLostWorker",
            LOOK,
            "only if",
            id="it must not run twice",
        ),
    ],
)
def test_who_cannot_be_reached_is_looked_at(found, note, code, first, second):
    around = replace(hub(queue=active(), members=members(**LOST), notes={"u1": note} if note else {}), checks=None)

    cause = cause_of(found, around)

    assert cause.code == code
    assert cause.step.startswith(first)
    assert second in cause.step


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "message", "code", "sentence"),
    [
        pytest.param(0, "", "NotLookedAt", JUST_CREATED, id="just created"),
        pytest.param(-1, "", "NotLookedAt", JUST_CREATED, id="by a clock that goes before ours"),
        pytest.param(4, "", "NotLookedAt", JUST_CREATED, id="seconds old"),
        pytest.param(5, "", "Queued", f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}", id="no longer"),
        pytest.param(0, "only Kueue knows", "Pending", "only Kueue knows", id="Kueue has looked at once"),
        pytest.param(
            0,
            "ClusterQueue cq is inactive",
            "Queued",
            f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}",
            id="Kueue has looked, and its queue is active since",
        ),
    ],
)
def test_of_a_job_that_was_created_just_now_no_other_reason_is_guessed(seconds, message, code, sentence):
    found = workload(false=QUOTA if message else (), message=message)
    created = msgspec.structs.replace(found.metadata, creation_timestamp=NOW - timedelta(seconds=seconds))
    around = hub(SERVED, queue=active(), now=NOW)

    assert said(cause_of(msgspec.structs.replace(found, metadata=created), around)) == (code, sentence)


JOB = OwnerReference(kind="Job", name="train", uid="j1", controller=True)


@pytest.mark.parametrize(
    ("owner", "on", "step"),
    [
        pytest.param(
            JOB,
            "gpu-c1",
            "kubectl --context CONTEXT -n default describe pods -l batch.kubernetes.io/job-name=train,"
            " with your context of c1",
            id="a Job on a worker",
        ),
        pytest.param(
            JOB, "", "kubectl -n default describe pods -l batch.kubernetes.io/job-name=train", id="a Job on the hub"
        ),
        pytest.param(
            msgspec.structs.replace(JOB, kind="JobSet"),
            "gpu-c1",
            "kubectl --context CONTEXT -n default get pods -o wide, with your context of c1",
            id="of another kind",
        ),
    ],
)
def test_pods_that_are_not_ready_are_looked_at_where_they_are(owner, on, step):
    found = workload(("QuotaReserved", "Admitted"), ("PodsReady",), on=on, message="not ready")
    owned = msgspec.structs.replace(found.metadata, owner_references=(owner,))
    status = {"conditions": active()}
    member = kueue.MultiKueueCluster.manifest("gpu-c1", labels={CLUSTER_LABEL: "c1"}, status=status)
    seen = HubState(members={"gpu-c1": kueue.MultiKueueCluster.view(member)})

    cause = cause_of(msgspec.structs.replace(found, metadata=owned), seen)

    assert (cause.code, cause.step) == ("PodsNotReady", step)
    assert commands_of(cause.step) == [step.partition(", with")[0]]


def test_a_set_that_was_sent_is_not_called_unready_for_its_pods_at_the_hubs_gate():
    found = workload(("QuotaReserved", "Admitted"), ("PodsReady",), on="gpu-c1", message="not ready")
    of_set = msgspec.structs.replace(found.metadata, annotations={OWNER_NAME: "web"})

    assert cause_of(found, HubState()).code == "PodsNotReady"
    assert cause_of(msgspec.structs.replace(found, metadata=of_set), HubState()).code == "Admitted"


def lease(**spec):
    return Lease.view(Lease.manifest("fleetqueue-controller", "fleetqueue-system", spec=spec))


def ago(seconds):
    return (clock.now() - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def test_a_controller_that_keeps_its_lease_is_heard():
    assert silence_of(lease(holderIdentity="pod-1", renewTime=ago(10))) == ""


@pytest.mark.parametrize(
    ("found", "begin"),
    [
        pytest.param(None, "there is no lease fleetqueue-system/fleetqueue-controller;", id="none"),
        pytest.param({}, "nobody holds the lease fleetqueue-system/fleetqueue-controller;", id="given back"),
        pytest.param(
            {"holderIdentity": "pod-1", "renewTime": "2020-01-01T00:00:00.000000Z"},
            "pod-1 has not renewed the lease fleetqueue-system/fleetqueue-controller since 2020-01-01T00:00:00Z",
            id="not renewed",
        ),
    ],
)
async def test_a_controller_without_a_lease_is_not(found, begin):
    assert silence_of(lease(**found) if found is not None else None).startswith(begin)


def available(status):
    return {"type": "ManagedClusterConditionAvailable", "status": status, "reason": "R", "message": "agent stopped"}


@pytest.mark.parametrize(
    ("conditions", "managed", "trouble"),
    [
        pytest.param([], {}, "Kueue has not reached it yet", id="not tried"),
        pytest.param(
            active("False", "ClientConnectionFailed", "refused"),
            {},
            "Kueue is not connected to it: ClientConnectionFailed: refused",
            id="refused",
        ),
        pytest.param(active(), None, "", id="connected, and no more can be seen"),
        pytest.param(active(), {"c1": available("True")}, "", id="well"),
        pytest.param(active(), {}, "ManagedCluster c1 is gone", id="gone"),
        pytest.param(
            active(), {"c1": available("Unknown")}, "ManagedCluster c1 is not available: agent stopped", id="silent"
        ),
    ],
)
def test_what_is_wrong_with_a_member(conditions, managed, trouble):
    labels = {CLUSTER_LABEL: "c1"}
    member = kueue.MultiKueueCluster.manifest("gpu-c1", labels=labels, status={"conditions": conditions})
    clusters = managed and {
        name: cluster.ManagedCluster.view(cluster.ManagedCluster.manifest(name, status={"conditions": [condition]}))
        for name, condition in managed.items()
    }

    assert trouble_of(kueue.MultiKueueCluster.view(member), clusters) == trouble


KINDS = ("QuotaReserved", "Evicted", "Admitted", "Finished")


@given(
    true=st.sets(st.sampled_from(KINDS)),
    checks=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["Ready", "Pending", "Retry", "Rejected"]), st.just(""))
    ),
    nominated=st.lists(st.sampled_from(["c1", "c2"]), unique=True),
    on=st.sampled_from(["", "c1"]),
    deleting=st.booleans(),
    active=st.booleans(),
)
def test_no_job_is_without_a_reason(true, checks, nominated, on, deleting, active):
    found = workload(true, checks=checks, nominated=nominated, on=on, deleting=deleting, active=active)

    cause = cause_of(found, HubState())

    assert cause.sentence.strip()
    assert not cause.sentence.endswith((":", ": "))
    assert cause.step or cause.code in NOTHING_TO_DO


def event(reason, note, time, uid="u1"):
    return {"reason": reason, "note": note, "eventTime": time, "regarding": {"uid": uid}}


def test_who_is_stuck_in_an_eviction_is_told_what_the_event_says():
    note = messages.eviction_stuck("JobSet j", [])

    cause = cause_of(workload(("QuotaReserved", "Evicted")), HubState(notes={"u1": note}))

    assert said(cause) == ("Evicted", f"it is being evicted: Evicted it is; {note}")
    assert cause.step == "delete it and create it again"


def test_the_newest_event_counts_and_one_that_explains_no_waiting_says_nothing():
    events = [
        event("NominationRefused", "refused", "2026-01-01T00:00:02.000000Z"),
        event("NoClusterToNominate", "nobody", "2026-01-01T00:00:01.000000Z"),
        event("WaitingForCluster", "c1 is silent", "2026-01-01T00:00:01.000000Z", uid="u2"),
        event("Nominated", "c1", "2026-01-01T00:00:02.000000Z", uid="u2"),
    ]

    assert last_notes(events) == {"u1": "refused"}
