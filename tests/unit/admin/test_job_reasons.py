"""Why a job is where it is: never nothing."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue import clock
from fleetqueue.admin.hub_state import HubState, last_notes, silence_of, trouble_of
from fleetqueue.admin.job_reasons import ONE_OF_EQUALS, why
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL
from fleetqueue.api.meta import OwnerReference


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
    manifest = kueue.Workload.manifest("w", "default", spec={"active": active}, status=status)
    manifest["metadata"]["uid"] = "u1"
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return kueue.Workload.view(manifest)


MK = ("mk", "Pending", "")
READY = ("gpu", "Ready", "placement gpu selects 1 cluster")
QUOTA = ("QuotaReserved",)
UNREADY = "Admitted it is; its Job shows no ready pod; look at its pods on gpu-c1"


@pytest.mark.parametrize(
    ("found", "note", "reason"),
    [
        pytest.param(workload(), "", "no queue has looked at it yet", id="nobody has looked at it"),
        pytest.param(
            workload(false=QUOTA, message="insufficient quota for nvidia.com/gpu"),
            "",
            "insufficient quota for nvidia.com/gpu",
            id="the queue says why",
        ),
        pytest.param(workload(active=False), "", "it is deactivated (spec.active is false)", id="deactivated"),
        pytest.param(
            workload(("Evicted",), active=False), "", "it is deactivated (spec.active is false)", id="deactivated later"
        ),
        pytest.param(workload(QUOTA, checks=[MK]), "", "mk is Pending: no cluster is nominated yet", id="just begun"),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            "gpu-c1: not connected",
            "mk is Pending: no cluster is nominated yet; gpu-c1: not connected",
            id="the dispatcher has said why",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1", "gpu-c2"]),
            "",
            "mk is Pending: nominated for gpu-c1, gpu-c2, not recorded as admitted there yet",
            id="nominated",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", ""), ("gpu", "Pending", "waiting: no clusters")]),
            "",
            "gpu is Pending: waiting: no clusters",
            id="a check that says why goes first",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Retry", "Worker lost")]), "", "mk is Retry: Worker lost", id="a retry"
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", "")], on="gpu-c1"),
            "",
            "mk is Pending: it is on gpu-c1, which has not said so yet",
            id="a winner that is not ready",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Ready", "")]),
            "",
            "all checks are Ready; Kueue is about to admit it",
            id="nothing is missing any more",
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")), "", "it is being evicted: Evicted it is", id="on its way out"
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")),
            "waits for gpu-c1, which may run it and does not answer since 2026-01-01T00:00:00Z",
            "it is being evicted: Evicted it is; waits for gpu-c1, which may run it and does not answer since"
            " 2026-01-01T00:00:00Z",
            id="on its way out, and its cluster is silent",
        ),
        pytest.param(workload(("QuotaReserved", "Admitted")), "", "Admitted it is", id="it runs"),
        pytest.param(workload(("Admitted", "Finished")), "", "Finished it is", id="it has ended"),
        pytest.param(
            workload(QUOTA, checks=[("ac", "Pending", "Reset to Pending after eviction. Previously: Retry"), MK]),
            "its copy on c1 must be removed",
            "ac is Pending: no cluster is nominated yet; its copy on c1 must be removed",
            id="taken back, and not sent anywhere yet",
        ),
        pytest.param(workload(QUOTA, deleting=True), "", "it is being deleted", id="deleted"),
    ],
)
def test_the_reason_of_a_job(found, note, reason):
    assert why(found, HubState(notes={"u1": note})) == reason


def ended(reason, message):
    condition = {"type": "Finished", "status": "True", "reason": reason, "message": message}
    return kueue.Workload.view(kueue.Workload.manifest("w", "default", status={"conditions": [condition]}))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(ended("Succeeded", "Job finished successfully"), "Job finished successfully", id="succeeded"),
        pytest.param(ended("Succeeded", ""), "it has succeeded", id="succeeded without a word"),
        pytest.param(ended("Failed", "backoff limit"), "it has failed: backoff limit", id="failed"),
        pytest.param(ended("Failed", ""), "it has failed", id="failed without a word, as a Pod does"),
        pytest.param(ended("OwnerNotFound", ""), "it has finished", id="ended otherwise"),
    ],
)
def test_a_failure_is_told_from_a_success(found, reason):
    assert why(found, HubState()) == reason


def test_a_job_that_kueue_has_deactivated_says_why():
    message = "The workload is deactivated due to Admission check(s): [gpu], were rejected"
    evicted = {"type": "Evicted", "status": "True", "reason": "DeactivatedDueToAdmissionCheck", "message": message}
    status = {"conditions": [evicted]}
    found = kueue.Workload.view(kueue.Workload.manifest("w", "default", spec={"active": False}, status=status))

    reason = "it is deactivated (spec.active is false): Admission check(s): [gpu], were rejected"
    assert why(found, HubState()) == reason


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
    assert why(found, HubState(jobs={job.uid: job for job in jobs})) == reason


def active(status="True", reason="Active", message="all is well"):
    return [{"type": "Active", "status": status, "reason": reason, "message": message}]


def check(name, controller=CHECK_CONTROLLER, conditions=None):
    status = {"conditions": active() if conditions is None else conditions}
    manifest = kueue.AdmissionCheck.manifest(name, spec={"controllerName": controller}, status=status)
    return kueue.AdmissionCheck.view(manifest)


def hub(*checks, queue=None, **known):
    """A hub with these checks, and a queue that is inactive for the reason of them."""
    strategy = {"admissionChecks": [{"name": found.name} for found in checks]}
    inactive = kueue.ClusterQueue.manifest(
        "cq", spec={"admissionChecksStrategy": strategy}, status={"conditions": queue or active("False")}
    )
    queues = {"default/": kueue.ClusterQueue.view(inactive)}
    return HubState(checks={found.name: found for found in checks}, queues=queues, **known)


MULTIKUEUE = check("mk", kueue.MULTIKUEUE_CONTROLLER)
NO_CONFIG = check("mk", kueue.MULTIKUEUE_CONTROLLER, active("False", "BadConfig", "no config"))
NO_CLUSTERS = check("gpu", conditions=active("False", "NoClustersAvailable", "No clusters available for placement gpu"))
UNSEEN = check("gpu", conditions=[])
INACTIVE = workload(false=QUOTA, message="ClusterQueue cq is inactive")
DEAD = "there is no lease; does it run?"


@pytest.mark.parametrize(
    ("found", "around", "reason"),
    [
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, NO_CLUSTERS),
            "ClusterQueue cq is inactive; check gpu is not Active: NoClustersAvailable: No clusters available for"
            " placement gpu",
            id="our check knows why the queue is inactive",
        ),
        pytest.param(
            INACTIVE,
            hub(NO_CONFIG, check("gpu")),
            "ClusterQueue cq is inactive; check mk is not Active: BadConfig: no config",
            id="another check knows it",
        ),
        pytest.param(
            INACTIVE,
            hub(MULTIKUEUE, UNSEEN),
            "ClusterQueue cq is inactive; check gpu was not looked at yet by open-cluster-management.io/placement",
            id="a check that nobody has looked at",
        ),
        pytest.param(
            INACTIVE,
            hub(MULTIKUEUE, UNSEEN, silence=DEAD),
            "ClusterQueue cq is inactive; check gpu was not looked at yet by open-cluster-management.io/placement:"
            f" {DEAD}",
            id="a check that nobody will look at",
        ),
        pytest.param(
            workload(false=QUOTA, message="insufficient quota"),
            hub(NO_CLUSTERS, queue=active()),
            "insufficient quota",
            id="a queue that is active waits for nothing of that",
        ),
        pytest.param(
            INACTIVE,
            hub(check("gpu"), queue=active()),
            f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}",
            id="a queue that is active again",
        ),
        pytest.param(
            workload(),
            hub(check("gpu"), queue=active()),
            f"it waits in ClusterQueue cq; {ONE_OF_EQUALS}",
            id="one of several equal jobs",
        ),
        pytest.param(workload(), hub(), "ClusterQueue cq is inactive", id="nobody says why its queue is inactive"),
        pytest.param(INACTIVE, HubState(), "ClusterQueue cq is inactive", id="nothing else can be seen"),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(troubles={"gpu-c1": "Kueue is not connected to it: x"}),
            "Admitted it is; gpu-c1 may be lost: Kueue is not connected to it: x",
            id="admitted on a worker that is lost",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(troubles={"gpu-c2": ""}),
            "Admitted it is; gpu-c1 may be lost: its MultiKueueCluster is gone",
            id="admitted on a worker that is gone",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), on="gpu-c1"),
            HubState(troubles={"gpu-c1": ""}),
            "Admitted it is",
            id="admitted on a worker that is well",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY]),
            hub(check("gpu"), queue=active()),
            "Admitted it is; it runs on the hub: its ClusterQueue has a placement check and no MultiKueue check",
            id="admitted on the hub",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY, ("mk", "Ready", "")], on="gpu-c1"),
            hub(check("gpu"), MULTIKUEUE, queue=active()),
            "Admitted it is",
            id="admitted through MultiKueue",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[READY, ("gone", "Ready", "")]),
            hub(check("gpu"), queue=active()),
            "Admitted it is",
            id="admitted, and a check that is gone may have been MultiKueue's",
        ),
        pytest.param(
            workload(("QuotaReserved", "Admitted"), checks=[("other", "Ready", "")]),
            hub(check("other", "x.io/other"), queue=active()),
            "Admitted it is",
            id="admitted on the hub, where no Placement was to choose",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1", "gpu-c2"]),
            HubState(troubles={"gpu-c1": "", "gpu-c2": "x"}),
            "mk is Pending: nominated for gpu-c1, gpu-c2, not recorded as admitted there yet; gpu-c2 may be lost: x",
            id="nominated for one that is lost",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK, ("gpu", "Pending", "")]),
            hub(MULTIKUEUE, check("gpu"), silence=DEAD, notes={"u1": "an old word"}),
            f"mk is Pending: no cluster is nominated yet; nobody answers: {DEAD}",
            id="nobody answers",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            hub(MULTIKUEUE, silence=DEAD, notes={"u1": "a word"}),
            "mk is Pending: no cluster is nominated yet; a word",
            id="nothing of it is ours to answer",
        ),
        pytest.param(
            workload(QUOTA, checks=[("gpu", "Pending", "waiting: no clusters"), MK]),
            hub(MULTIKUEUE, check("gpu"), silence=DEAD),
            f"gpu is Pending: waiting: no clusters; nobody answers: {DEAD}",
            id="what was said may be old",
        ),
        pytest.param(
            workload(QUOTA, checks=[("gpu", "Pending", "waiting: no room"), MK]),
            hub(NO_CONFIG, check("gpu"), silence=DEAD),
            f"gpu is Pending: waiting: no room; nobody answers: {DEAD}; check mk is not Active: BadConfig: no config",
            id="what was said is old: the config was deleted since",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK, ("gpu", "Ready", "placement gpu selects 2 clusters")]),
            hub(NO_CONFIG, NO_CLUSTERS, notes={"u1": "an old word"}),
            "mk is Pending: no cluster is nominated yet; check gpu is not Active: NoClustersAvailable:"
            " No clusters available for placement gpu",
            id="the config was deleted",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            HubState(checks={}),
            "mk is Pending: no cluster is nominated yet; check mk does not exist",
            id="the check was deleted",
        ),
    ],
)
def test_the_reason_of_a_job_in_its_surroundings(found, around, reason):
    assert why(found, around) == reason


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
    checks=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["Ready", "Pending", "Retry"]), st.just(""))),
    nominated=st.lists(st.sampled_from(["c1", "c2"]), unique=True),
    on=st.sampled_from(["", "c1"]),
    deleting=st.booleans(),
    active=st.booleans(),
)
def test_no_job_is_without_a_reason(true, checks, nominated, on, deleting, active):
    found = workload(true, checks=checks, nominated=nominated, on=on, deleting=deleting, active=active)

    reason = why(found, HubState())

    assert reason.strip()
    assert not reason.endswith((":", ": "))


def event(reason, note, time, uid="u1"):
    return {"reason": reason, "note": note, "eventTime": time, "regarding": {"uid": uid}}


def test_the_newest_event_counts_and_one_that_explains_no_waiting_says_nothing():
    events = [
        event("NominationRefused", "refused", "2026-01-01T00:00:02.000000Z"),
        event("NoClusterToNominate", "nobody", "2026-01-01T00:00:01.000000Z"),
        event("WaitingForCluster", "c1 is silent", "2026-01-01T00:00:01.000000Z", uid="u2"),
        event("Nominated", "c1", "2026-01-01T00:00:02.000000Z", uid="u2"),
    ]

    assert last_notes(events) == {"u1": "refused"}
