"""What `explain` tells of jobs, queues, Placements and clusters; and which of several causes it names."""

import json
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.admin import explain, explanations, inventory
from fleetqueue.admin.explanation_text import as_text
from fleetqueue.admin.explanations import NOTHING_STANDS_AGAINST
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.job_ancestors import Ancestors, of_part
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment, ReplicaSet, StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL
from fleetqueue.api.job_kinds import RayJob
from fleetqueue.api.kueue_pods import GROUP_NAME, OWNER_GVK, OWNER_NAME
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.topology_names import REQUIRED
from fleetqueue.api.usage_scores import FRESH
from fleetqueue.client import Client
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.testing.builders import by_secret, condition, pod_template

NAMESPACE = "kueue-system"
OF_CONFIG = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": "gpu"}
MULTIKUEUE_CHECK = kueue.AdmissionCheck.manifest(
    "mk", spec={"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": OF_CONFIG}
)


def viewed(kind, *args, **fields):
    return kind.view(kind.manifest(*args, **fields))


def check(name, controller, group, kind):
    parameters = {"apiGroup": group, "kind": kind, "name": "gpu"}
    spec = {"controllerName": controller, "parameters": parameters}
    return viewed(kueue.AdmissionCheck, name, spec=spec, status={"conditions": [condition("Active")]})


def healthy():
    """A hub on which everything that a job needs is as it should be."""
    labels = {cluster.CLUSTER_SET_LABEL: "spoke"}
    strategy = {"admissionChecks": [{"name": "gpu"}, {"name": "mk"}]}
    flavors = [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]
    queue = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "admissionChecksStrategy": strategy,
    }
    available = {"conditions": [condition(cluster.AVAILABLE)]}
    decisions = {"decisions": [{"clusterName": "c1", "reason": ""}]}
    of_placement = {cluster.PLACEMENT_LABEL: "gpu"}
    return HubState(
        checks={
            "gpu": check("gpu", CHECK_CONTROLLER, cluster.GROUP, "Placement"),
            "mk": check("mk", kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        },
        local_queues={"a/q": viewed(kueue.LocalQueue, "q", "a", spec={"clusterQueue": "cq"})},
        cluster_queues={
            "cq": viewed(kueue.ClusterQueue, "cq", spec=queue, status={"conditions": [condition("Active")]})
        },
        flavors={"default"},
        configs={"gpu": viewed(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c1"]})},
        members={
            "gpu-c1": viewed(
                kueue.MultiKueueCluster,
                "gpu-c1",
                labels={CLUSTER_LABEL: "c1"},
                status={"conditions": [condition("Active")]},
            )
        },
        fleet=FleetObjects(
            clusters=[
                viewed(cluster.ManagedCluster, "c1", labels=labels, spec={"hubAcceptsClient": True}, status=available)
            ],
            sets=[viewed(cluster.ManagedClusterSet, "spoke", spec={})],
            bindings=[viewed(cluster.ManagedClusterSetBinding, "spoke", NAMESPACE, spec={})],
            placements=[viewed(cluster.Placement, "gpu", NAMESPACE, spec={"clusterSets": ["spoke"]})],
            decisions=[viewed(cluster.PlacementDecision, "gpu-1", NAMESPACE, labels=of_placement, status=decisions)],
            scores=[],
        ),
    )


WAITING = viewed(kueue.Workload, "w", "a", spec={"queueName": "q"})


def inactive(hub):
    """Let the checks and the queue say that nothing can be sent, as they do whatever the reason is."""
    off = (msgspec.convert(condition("Active", False, "NoClustersAvailable", "none"), type(_condition(hub))),)
    checks = {name: _with_conditions(one, off) for name, one in hub.checks.items()}
    queues = {name: _with_conditions(one, off) for name, one in hub.cluster_queues.items()}
    return replace(hub, checks=checks, cluster_queues=queues)


def _condition(hub):
    return next(iter(hub.checks["gpu"].status.conditions))


def _with_conditions(obj, conditions):
    return msgspec.structs.replace(obj, status=msgspec.structs.replace(obj.status, conditions=conditions))


def _stopped(obj):
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, stop_policy="Hold"))


def without_local_queue(hub):
    return replace(hub, local_queues={})


def with_stopped_local_queue(hub):
    return replace(hub, local_queues={key: _stopped(one) for key, one in hub.local_queues.items()})


def without_cluster_queue(hub):
    return replace(hub, cluster_queues={})


def with_stopped_cluster_queue(hub):
    return replace(hub, cluster_queues={name: _stopped(one) for name, one in hub.cluster_queues.items()})


def without_flavor(hub):
    return inactive(replace(hub, flavors=set()))


def without_placement(hub):
    return inactive(replace(hub, fleet=replace(hub.fleet, placements=[])))


def without_binding(hub):
    return inactive(replace(hub, fleet=replace(hub.fleet, bindings=[], decisions=[])))


def without_set(hub):
    return inactive(replace(hub, fleet=replace(hub.fleet, sets=[], decisions=[])))


def without_clusters(hub):
    return inactive(replace(hub, fleet=replace(hub.fleet, clusters=[], decisions=[])))


def without_connection(hub):
    refused = (msgspec.convert(condition("Active", False, "Lost", "x"), type(_condition(hub))),)
    members = {name: _with_conditions(one, refused) for name, one in hub.members.items()}
    off = replace(hub, members=members)
    return replace(off, checks={**off.checks, "mk": inactive(off).checks["mk"]}, cluster_queues=_off(off))


OLD_COPIES = messages.left_behind("c1", ["a/job-x"])


def without_config(hub):
    return replace(hub, configs={}, members={})


def leaving_out(hub):
    """Let the placement check list c1 no longer, though its Placement chooses it."""
    said = condition("Active", False, *messages.no_clusters("gpu", {"gpu-c1": OLD_COPIES}, []))
    off = (msgspec.convert(said, type(_condition(hub))),)
    return replace(without_config(hub), checks={**hub.checks, "gpu": _with_conditions(hub.checks["gpu"], off)})


def _off(hub):
    return inactive(hub).cluster_queues


FAULTS = {
    "LocalQueueMissing": without_local_queue,
    "LocalQueueStopped": with_stopped_local_queue,
    "ClusterQueueMissing": without_cluster_queue,
    "ClusterQueueStopped": with_stopped_cluster_queue,
    "FlavorMissing": without_flavor,
    "PlacementMissing": without_placement,
    "SetNotBound": without_binding,
    "SetMissing": without_set,
    "SetEmpty": without_clusters,
    "ClusterNotConnected": without_connection,
}
"""In the order in which they are to be mended: the way of a job."""


def test_a_healthy_hub_has_no_cause_for_waiting():
    assert cause_of(WAITING, healthy()).code == "Queued"


@pytest.mark.parametrize("code", FAULTS)
def test_each_fault_alone_is_the_cause(code):
    assert cause_of(WAITING, FAULTS[code](healthy())).code == code


@given(st.lists(st.sampled_from(list(FAULTS)), min_size=2, max_size=3, unique=True))
def test_of_several_faults_the_first_to_mend_is_the_cause(codes):
    hub = healthy()
    for code in sorted(codes, key=list(FAULTS).index, reverse=True):
        hub = FAULTS[code](hub)

    assert cause_of(WAITING, hub).code == min(codes, key=list(FAULTS).index)


def test_the_chain_marks_what_is_broken_on_the_way():
    found = explanations.of_workload(WAITING, without_binding(healthy()), "a job")

    assert [(link.state, link.kind, link.name) for link in found.chain] == [
        ("ok", "LocalQueue", "q"),
        ("broken", "ClusterQueue", "cq"),
        ("broken", "AdmissionCheck", "gpu"),
        ("broken", "Placement", "kueue-system/gpu"),
        ("broken", "ManagedClusterSet", "spoke"),
        ("broken", "AdmissionCheck", "mk"),
        ("ok", "MultiKueueConfig", "gpu"),
    ]


def test_what_cannot_be_seen_is_neither_broken_nor_claimed():
    found = explanations.of_workload(WAITING, HubState(), "a job")

    assert [(link.state, link.kind) for link in found.chain] == [("not seen", "LocalQueue")]
    assert (found.cause.code, found.clusters) == ("NotLookedAt", [])


def test_every_cluster_has_a_row_with_what_the_dispatcher_said_of_it():
    status = {
        "admissionChecks": [
            {"name": "gpu", "state": "Pending", "message": "waiting: gpu-c1: has 1 cpu, and the job needs 2"},
            {"name": "mk", "state": "Pending", "message": ""},
        ],
        "conditions": [condition("QuotaReserved")],
    }
    waiting = viewed(kueue.Workload, "w", "a", spec={"queueName": "q"}, status=status)

    found = explanations.of_workload(waiting, healthy(), "a job")

    (row,) = found.clusters
    assert (row["cluster"], row["rule"], row["connected"]) == ("c1", "Chosen", "yes")
    assert row["dispatcher"] == "has 1 cpu, and the job needs 2"
    assert row["missing"] == [{"resource": "cpu", "quota": "1", "borrowable": None, "needed": "2"}]
    assert found.cause.code == "WorkerQuotaTooSmall"


@pytest.mark.parametrize(
    ("standing", "worker", "is_dated"),
    [
        pytest.param(
            {"nominatedClusterNames": ["gpu-c1"]}, "nominated, and has not admitted it yet", False, id="not yet"
        ),
        pytest.param({"clusterName": "gpu-c1"}, 'The workload was admitted on "gpu-c1"', True, id="admitted"),
        pytest.param({}, "", False, id="not sent"),
    ],
)
def test_the_row_of_a_cluster_tells_what_its_worker_has_said(standing, worker, is_dated):
    checks = [
        {
            "name": "mk",
            "state": "Ready",
            "message": 'The workload was admitted on "gpu-c1"',
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]
    sent = viewed(
        kueue.Workload,
        "w",
        "a",
        spec={"queueName": "q"},
        status={"admissionChecks": checks if is_dated else [], **standing},
    )

    (row,) = explanations.of_workload(sent, healthy(), "a job").clusters

    assert (row["worker"], row["worker_said_at"] is not None) == (worker, is_dated)


def test_the_row_of_a_cluster_has_its_scores_with_their_age():
    since = condition(FRESH, False, "Silent", since="2026-01-01T00:00:00Z")
    status = {"scores": [{"name": "gpu", "value": 70}], "conditions": [since]}
    score = viewed(cluster.AddOnPlacementScore, "usage", "c1", status=status)
    by_gpu = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "gpu"}}
    weighed = {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": by_gpu, "weight": 2}]}}
    placement = viewed(cluster.Placement, "gpu", NAMESPACE, spec={"clusterSets": ["spoke"], **weighed})
    hub = replace(healthy(), fleet=replace(healthy().fleet, placements=[placement], scores=[score]))

    (row,) = explanations.of_placement(placement, hub).clusters
    (part,) = row["score_parts"]

    assert (part["name"], part["value"], part["weight"], part["valid_until"], part["fresh"]) == (
        "gpu",
        70,
        2,
        None,
        "False",
    )
    assert timestamp(part["fresh_since"]) == "2026-01-01T00:00:00Z"


def test_the_clusters_of_a_config_that_was_written_by_hand_have_rows_too():
    hub = healthy()
    by_hand = replace(hub, checks={"mk": hub.checks["mk"]}, fleet=FleetObjects())
    status = {"admissionChecks": [{"name": "mk", "state": "Ready", "message": ""}]}

    (row,) = explanations.of_workload(viewed(kueue.Workload, "w", "a", status=status), by_hand, "a job").clusters

    assert (row["cluster"], row["rule"], row["connected"]) == ("gpu-c1", "Listed", "yes")


@pytest.mark.parametrize(
    ("hub", "code"),
    [
        pytest.param(healthy(), "Open", id="well"),
        pytest.param(without_binding(healthy()), "SetNotBound", id="broken"),
    ],
)
def test_a_queue_is_explained_as_a_job_of_it_would_be(hub, code):
    assert explanations.of_queue("q", "a", hub).cause.code == code


@pytest.mark.parametrize(
    ("hub", "code"),
    [
        pytest.param(healthy(), "Decided", id="it has chosen"),
        pytest.param(without_clusters(healthy()), "SetEmpty", id="it has not"),
    ],
)
def test_a_placement_is_explained(hub, code):
    assert explanations.of_placement(hub.fleet.placements[0], hub).cause.code == code


@pytest.mark.parametrize(
    ("hub", "code"),
    [
        pytest.param(healthy(), "Serving", id="jobs are sent to it"),
        pytest.param(without_connection(healthy()), "ClusterNotConnected", id="not connected"),
        pytest.param(leaving_out(healthy()), "LeftOut", id="left out"),
        pytest.param(without_config(healthy()), "ClusterNotConnected", id="not listed yet"),
        pytest.param(replace(healthy(), fleet=replace(healthy().fleet, decisions=[])), "NotChosen", id="not chosen"),
    ],
)
def test_a_cluster_is_explained(hub, code):
    assert explanations.of_cluster(hub.fleet.clusters[0], hub).cause.code == code


def test_a_cluster_that_is_left_out_is_explained_in_the_words_of_its_check():
    hub = leaving_out(healthy())

    cause = explanations.of_cluster(hub.fleet.clusters[0], hub).cause
    (row,) = explanations.of_placement(hub.fleet.placements[0], hub).clusters

    assert cause.sentence == f"Placement gpu chooses it, and AdmissionCheck gpu leaves it out: {OLD_COPIES}"
    assert (row["rule"], row["why"]) == (
        "Chosen",
        f"the Placement has chosen it; AdmissionCheck gpu leaves it out: {OLD_COPIES}",
    )


def test_a_chosen_cluster_that_no_check_is_about_is_told_so():
    hub = replace(without_config(healthy()), checks={})

    cause = explanations.of_cluster(hub.fleet.clusters[0], hub).cause

    assert cause.sentence == "Kueue does not reach it: no AdmissionCheck uses the Placement"


def job(**labels):
    spec = {"suspend": True, "template": pod_template()}
    return Job.manifest("train", "default", labels=labels, spec=spec)


async def test_a_job_without_a_queue_label_is_told_so(api):
    api.add(job())

    said = await explain.job(Client(api), "train", "default", kueue_namespace=NAMESPACE)

    assert as_text([said], "table").splitlines()[0] == "Job/train of namespace default: NoQueue"


async def test_a_job_that_kueue_does_not_know_is_told_so(api):
    api.add(job(**{kueue.QUEUE_LABEL: "q"}))

    said = await explain.job(Client(api), "job/train", "default", kueue_namespace=NAMESPACE)
    (row,) = json.loads(as_text([said], "json"))

    assert (row["cause"], row["about"]) == ("NoWorkload", "Job/train of namespace default")


async def test_a_job_that_there_is_not_is_an_error(api):
    with pytest.raises(errors.NotFound, match='there is no job "train" in namespace default'):
        await explain.job(Client(api), "train", "default", kueue_namespace=NAMESPACE)


async def test_a_queue_that_there_is_not_is_an_error(api):
    with pytest.raises(errors.NotFound, match='there is no LocalQueue "nope" in namespace default'):
        await explain.queue(Client(api), "nope", "default", kueue_namespace=NAMESPACE)


async def test_a_job_that_was_not_submitted_is_explained_and_nothing_is_written(api):
    api.writes.clear()

    planned = job(**{kueue.QUEUE_LABEL: "q"})
    said = as_text([await explain.planned_job(Client(api), planned, "default", kueue_namespace=NAMESPACE)], "table")

    assert said.splitlines()[0] == "Job/train, not submitted: LocalQueueMissing"
    assert "To do: create it" in said
    assert api.writes == []


async def test_a_job_that_was_not_submitted_of_a_missing_namespace_is_told_that(api):
    planned = {**job(**{kueue.QUEUE_LABEL: "q"})}
    planned["metadata"]["namespace"] = "nosuch"

    said = await explain.planned_job(Client(api), planned, "default", kueue_namespace=NAMESPACE)

    assert (said.cause.code, said.cause.sentence) == (
        "LocalQueueMissing",
        "there is no namespace nosuch, and so no LocalQueue q in it",
    )
    assert said.cause.step.startswith("`kubectl create namespace nosuch`")


@pytest.mark.parametrize(
    ("namespace", "message"),
    [
        pytest.param(
            "default", r"there is one in default: `fleetqueue explain placement gpu --kueue-names", id="there"
        ),
        pytest.param("", r"placements\S* \"gpu\" not found$", id="nowhere"),
    ],
)
async def test_a_placement_of_another_namespace_is_named(api, namespace, message):
    if namespace:
        api.add(cluster.Placement.manifest("gpu", namespace, spec={}))

    with pytest.raises(errors.NotFound, match=message):
        await explain.placement(Client(api), "gpu", kueue_namespace=NAMESPACE)


def add_open_queue(api):
    strategy = {"flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}
    groups = [{"coveredResources": ["cpu"], **strategy}]
    active = {"conditions": [condition(kueue.ACTIVE)]}
    api.add(kueue.ResourceFlavor.manifest("f", spec={}))
    api.add(kueue.ClusterQueue.manifest("cq", spec={"resourceGroups": groups}, status=active))
    api.add(kueue.LocalQueue.manifest("q", "default", spec={"clusterQueue": "cq"}))


async def test_what_was_not_judged_of_a_planned_job_is_told(api):
    add_open_queue(api)
    planned = RayJob.manifest("r", "default", labels={kueue.QUEUE_LABEL: "q"}, spec={"clusterSelector": {"a": "b"}})

    said = await explain.planned_job(Client(api), planned, "default", kueue_namespace=NAMESPACE)

    assert (said.cause.code, said.cause.sentence) == (
        "Open",
        f"{NOTHING_STANDS_AGAINST}; what it asks for itself was not judged: it uses a cluster that is there already,"
        " and has no pods of its own",
    )


async def test_that_topology_is_not_judged_of_a_planned_job_is_told(api):
    add_open_queue(api)
    planned = job(**{kueue.QUEUE_LABEL: "q"})
    planned["spec"]["template"] = pod_template(annotations={REQUIRED: "rack"}, requests={"cpu": "1"})

    said = await explain.planned_job(Client(api), planned, "default", kueue_namespace=NAMESPACE)

    assert (said.cause.code, said.cause.sentence) == (
        "Open",
        f"{NOTHING_STANDS_AGAINST}; the topology that it asks for was not judged",
    )


@pytest.mark.parametrize("is_sent", [True, False])
async def test_that_workers_are_not_judged_of_a_planned_job_is_told(api, is_sent):
    add_open_queue(api)
    if is_sent:
        api.add(mk := {**MULTIKUEUE_CHECK, "status": {"conditions": [condition(kueue.ACTIVE)]}})
        strategy = {"admissionChecks": [{"name": mk["metadata"]["name"]}]}
        api.change(kueue.ClusterQueue, "cq", spec={"admissionChecksStrategy": strategy})
        member = {"conditions": [condition(kueue.ACTIVE)]}
        api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["c1"]}))
        api.add(kueue.MultiKueueCluster.manifest("c1", spec=by_secret(), status=member))
    planned = job(**{kueue.QUEUE_LABEL: "q"})
    planned["spec"]["template"] = pod_template(requests={"cpu": "1"})

    said = await explain.planned_job(Client(api), planned, "default", kueue_namespace=NAMESPACE)

    workers = "; whether a worker has its namespace and LocalQueue, and quota enough, shows only when it is submitted"
    assert (said.cause.code, said.cause.sentence) == ("Open", f"{NOTHING_STANDS_AGAINST}{workers if is_sent else ''}")


def pod_of_deployment(api, name, *, true=()):
    """Make a pod of Deployment web, with its Workload."""
    replica_set = controller_reference(ReplicaSet.resource, "web-1", "uid-of-web-1")
    pod = Pod.manifest(name, "default", labels={"app": "web", kueue.QUEUE_LABEL: "q"}, spec=pod_template()["spec"])
    api.add({**pod, "metadata": {**pod["metadata"], "ownerReferences": [replica_set]}})
    status = {"conditions": [condition(kind) for kind in true]}
    workload = kueue.Workload.manifest(f"pod-{name}", "default", spec={"queueName": "q"}, status=status)
    owner = controller_reference(Pod.resource, name, api.get(Pod, name).uid)
    api.add({**workload, "metadata": {**workload["metadata"], "ownerReferences": [owner]}})


def deployment(**labels):
    served = {**pod_template()["spec"], "restartPolicy": "Always"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": served}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return Deployment.manifest("web", "default", labels=labels, spec=spec)


@pytest.mark.parametrize("name", ["web", "deployment/web", "deploy/web"])
async def test_a_deployment_is_explained_by_the_pod_that_has_come_least_far(api, name):
    api.add(deployment(**{kueue.QUEUE_LABEL: "q"}))
    pod_of_deployment(api, "web-1-a", true=(kueue.QUOTA_RESERVED, kueue.ADMITTED))
    pod_of_deployment(api, "web-1-b")

    said = await explain.job(Client(api), name, "default", kueue_namespace=NAMESPACE)

    assert (said.about, said.cause.code) == ("Deployment/web of namespace default", "LocalQueueMissing")
    assert said.cause.sentence == (
        "1 of its 2 queued pods are admitted; Pod/web-1-b: there is no LocalQueue q in namespace default"
    )


async def test_a_deployment_of_which_no_pod_is_queued_is_told_so(api):
    api.add(deployment(**{kueue.QUEUE_LABEL: "q"}))

    said = await explain.job(Client(api), "deployment/web", "default", kueue_namespace=NAMESPACE)

    assert said.cause.code == "NoWorkload"
    assert said.cause.sentence.startswith("Kueue queues each of its pods for itself, and none of them has a Workload")


def pod(api, name, owner=None, **labels):
    """Make a pod that names queue q, on the hub, where pods of sets and groups wait at Kueue's gate."""
    found = Pod.manifest(name, "default", labels={kueue.QUEUE_LABEL: "q", **labels}, spec=pod_template()["spec"])
    api.add({**found, "metadata": {**found["metadata"], "ownerReferences": [owner] if owner else []}})


def stateful_set(api, **labels):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {**pod_template()["spec"], "restartPolicy": "Always"}}
    spec = {"serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template}
    api.add(StatefulSet.manifest("web", "default", labels=labels, spec=spec))
    return controller_reference(StatefulSet.resource, "web", api.get(StatefulSet, "web", "default").uid)


async def explained(api, name):
    said = await explain.job(Client(api), name, "default", kueue_namespace=NAMESPACE)
    return said.about, said.cause.code


def waits(api, name, *owners, **annotations):
    """Make a Workload that waits, as its queue does not exist."""
    workload = kueue.Workload.manifest(name, "default", annotations=annotations, spec={"queueName": "q"})
    api.add({**workload, "metadata": {**workload["metadata"], "ownerReferences": [*owners]}})


@pytest.mark.parametrize("name", ["g1", "Pod/g1", "po/g1"])
async def test_a_pod_of_a_group_leads_to_the_group(api, name):
    pod(api, "g1", **{GROUP_NAME: "grp"})
    waits(api, "grp", {**controller_reference(Pod.resource, "g1", api.get(Pod, "g1").uid), "controller": False})

    about = "Pod/grp of namespace default, to which Pod/g1 belongs"
    assert await explained(api, name) == (about, "LocalQueueMissing")


async def test_a_pod_of_a_group_that_is_not_complete_leads_to_the_group(api):
    pod(api, "g1", **{GROUP_NAME: "grp"})

    assert await explained(api, "g1") == ("Pod/grp of namespace default, to which Pod/g1 belongs", "NoWorkload")


@pytest.mark.parametrize(
    ("labels", "is_queued", "code"),
    [
        pytest.param({GROUP_NAME: "set-web"}, True, "LocalQueueMissing", id="by its group"),
        pytest.param({}, True, "LocalQueueMissing", id="by who made it"),
        pytest.param({}, False, "NoWorkload", id="which has no Workload"),
    ],
)
async def test_a_pod_of_a_set_leads_to_the_set(api, labels, is_queued, code):
    pod(api, "web-0", stateful_set(api, **{kueue.QUEUE_LABEL: "q"}), **labels)
    if is_queued:
        waits(api, "set-web", **{OWNER_GVK: "apps/v1, Kind=StatefulSet", OWNER_NAME: "web"})

    about = "StatefulSet/web of namespace default, to which Pod/web-0 belongs"
    assert await explained(api, "web-0") == (about, code)


async def test_a_pod_leads_to_the_part_of_its_job_that_it_is_of(api):
    owner = stateful_set(api)
    for group in ("web-0", "web-1"):
        pod(api, f"{group}-x", owner, **{GROUP_NAME: group})
        waits(api, group, **{OWNER_GVK: "apps/v1, Kind=StatefulSet", OWNER_NAME: "web"})

    above = await Ancestors(Client(api), "default").of("Pod", api.raw(Pod, "web-1-x", "default"))
    found = [kueue.Workload.view(api.raw(kueue.Workload, name, "default")) for name in ("web-0", "web-1")]

    assert above == ["Pod/web-1", "StatefulSet/web"]
    assert [one.name for one in of_part(api.raw(Pod, "web-1-x", "default"), above, found)] == ["web-1"]


async def test_a_pod_with_a_queue_is_never_said_to_have_none(api):
    pod(api, "web-0", stateful_set(api))

    assert await explained(api, "web-0") == ("Pod/web-0 of namespace default", "NoWorkload")


async def test_the_pods_of_a_deployment_are_listed_by_its_name(api):
    api.add(deployment(**{kueue.QUEUE_LABEL: "q"}))
    pod_of_deployment(api, "web-1-a")

    rows = await inventory.jobs(Client(api), "default", "deploy/web")

    assert [row["job"] for row in rows] == ["Pod/web-1-a"]
