"""Every cause that can be made on a fleet is named by its code, and gone after the step that is told."""

from functools import partial

import pytest

from fleetqueue.admin import cluster_sets
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.fence import LOST_WORKER
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.testing.virtual_time import advance
from tests.cause_sentences import says

from .agreement import TOLD_BY
from .world import LAST, ONLY_LAST, WORKERS, Place, mended, tell

# The first test plays all cases, one after the other on one fleet.
pytestmark = pytest.mark.timeout(600)

STOP = {"spec": {"stopPolicy": "Hold"}}
ASKS = {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "yes"}}}}]}
WORDS = {
    "queue": "q",
    "resource": "cpu",
    "needs": 2,
    "short": 2,
    "has": 1,
    "set": "spoke",
    "label": "gpu",
    "refusal": "watch workloads: connection refused",
    "silence": "nobody holds the lease fleetqueue-system/fleetqueue-controller",
}


async def local_queue_missing(place: Place) -> None:
    await place.hub.delete(kueue.LocalQueue.resource, "q", place.name)
    await place.submit()
    await place.expect("LocalQueueMissing")
    queue = kueue.LocalQueue.manifest("q", place.name, spec={"clusterQueue": place.name})
    await place.hub.create(kueue.LocalQueue.resource, queue)
    await place.submit_again()


async def local_queue_stopped(place: Place) -> None:
    await place.patch(kueue.LocalQueue, "q", STOP, place.name)
    await place.submit()
    await place.expect("LocalQueueStopped")
    await place.do_as_told()
    await place.submit_again()


async def cluster_queue_missing(place: Place) -> None:
    await place.hub.delete(kueue.ClusterQueue.resource, place.name)
    await place.submit()
    await place.expect("ClusterQueueMissing")
    (queue,) = [one for one in place.queues(is_hub=True) if one["kind"] == "ClusterQueue"]
    await place.hub.create(kueue.ClusterQueue.resource, queue)


async def cluster_queue_stopped(place: Place) -> None:
    await place.patch_queue(STOP["spec"])
    await place.submit()
    await place.expect("ClusterQueueStopped")
    await place.do_as_told()


async def flavor_missing(place: Place) -> None:
    absent = place.quota("4")
    absent["resourceGroups"][0]["flavors"][0]["name"] = "absent"
    await place.patch_queue(absent)
    await place.submit()
    await place.expect("FlavorMissing")
    await place.do_as_told()


async def namespace_not_allowed(place: Place) -> None:
    await place.patch_queue({"namespaceSelector": {"matchLabels": {"team": "other"}}})
    await place.submit()
    await place.expect("NamespaceNotAllowed")
    await place.do_as_told()


async def exceeds_quota(place: Place) -> None:
    await place.patch_queue(place.quota("1"))
    await place.submit(cpu="2")
    await place.expect("ExceedsQuota")
    await place.patch_queue(place.quota("4"))


async def quota_short(place: Place) -> None:
    await place.submit("first", cpu="4")
    await advance(5)
    await place.submit(cpu="2")
    await place.expect("QuotaShort")
    await place.hub.delete(Job.resource, "first", place.name)


async def no_flavor_fits(place: Place) -> None:
    for name, worker in zip(WORKERS, place.workers, strict=True):
        labels = {"metadata": {"labels": {"disk": "slow"}}}
        await worker.merge(Node.resource, f"{name}-control-plane", "", labels)
    wanted = {"nodeLabels": {"disk": "fast"}}
    await place.hub.create(kueue.ResourceFlavor.resource, kueue.ResourceFlavor.manifest("fast", spec=wanted))
    groups = place.quota("4")
    groups["resourceGroups"][0]["flavors"][0]["name"] = "fast"
    await place.patch_queue(groups)
    await place.submit(pod={"nodeSelector": {"disk": "slow"}})
    await place.expect("NoFlavorFits")
    await place.patch_queue(place.quota("4"))


async def deactivated(place: Place) -> None:
    await place.submit()
    await advance(5)
    workload = await place.workload()
    await place.patch(kueue.Workload, workload.name, {"spec": {"active": False}}, place.name)
    await place.expect("Deactivated")
    await place.do_as_told()


async def check_rejected(place: Place) -> None:
    await place.hub.delete(kueue.LocalQueue.resource, "q", place.name)
    await place.submit()
    await advance(5)
    # The webhook gives a job to MultiKueue only where its queue leads there already.
    queue = kueue.LocalQueue.manifest("q", place.name, spec={"clusterQueue": place.name})
    await place.hub.create(kueue.LocalQueue.resource, queue)
    await place.expect("CheckRejected")
    await place.submit_again()


async def check_missing(place: Place) -> None:
    strategy = {"admissionChecks": [{"name": place.name}, {"name": f"{place.name}-mk"}, {"name": "absent"}]}
    await place.patch_queue({"admissionChecksStrategy": strategy})
    await place.submit()
    await place.expect("CheckMissing")
    await place.do_as_told()


async def placement_missing(place: Place) -> None:
    await place.hub.delete(cluster.Placement.resource, place.name, KUEUE_NAMESPACE)
    await place.submit()
    await place.expect("PlacementMissing")
    (placement,) = [one for one in place.checks() if one["kind"] == "Placement"]
    await place.hub.create(cluster.Placement.resource, placement)


async def set_not_bound(place: Place) -> None:
    await cluster_sets.unbind(place.hub, "spoke", KUEUE_NAMESPACE)
    await place.submit()
    await place.expect("SetNotBound")
    await place.do_as_told()


async def set_missing(place: Place) -> None:
    await cluster_sets.create_set(place.hub, place.name)
    await cluster_sets.bind(place.hub, place.name, KUEUE_NAMESPACE)
    await place.hub.delete(cluster.ManagedClusterSet.resource, place.name)
    await place.patch_placement({"clusterSets": [place.name]})
    await place.submit()
    await place.expect("SetMissing")
    await place.do_as_told()
    await place.until_it_is("SetEmpty")
    await place.patch_placement({"clusterSets": ["spoke"]})


async def parameters_invalid(place: Place) -> None:
    await place.patch(kueue.AdmissionCheck, place.name, {"spec": {"parameters": None}})
    await place.submit()
    await place.expect("CheckParametersInvalid")
    await place.do_as_told()


async def set_empty(place: Place) -> None:
    empty = cluster.ManagedClusterSet.manifest(place.name, spec={})
    await place.hub.create(cluster.ManagedClusterSet.resource, empty)
    await cluster_sets.bind(place.hub, place.name, KUEUE_NAMESPACE)
    await place.patch_placement({"clusterSets": [place.name]})
    await place.submit()
    await place.expect("SetEmpty")
    await place.patch_placement({"clusterSets": ["spoke"]})


async def no_cluster_matches(place: Place) -> None:
    await place.patch_placement(ASKS)
    await place.submit()
    await place.expect("NoClusterMatches")
    await place.do_as_told()


async def taint_not_tolerated(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    taint = {"key": "maintenance", "effect": "NoSelect"}
    await place.patch(cluster.ManagedCluster, LAST, {"spec": {"taints": [taint]}})
    await place.submit()
    await place.expect("TaintNotTolerated")
    await place.do_as_told()


async def number_is_zero(place: Place) -> None:
    await place.patch_placement({"numberOfClusters": 0})
    await place.submit()
    await place.expect("NumberIsZero")
    await place.do_as_told()


async def config_missing(place: Place) -> None:
    check = f"{place.name}-mk"
    await place.patch(kueue.AdmissionCheck, check, {"spec": {"parameters": {"name": "absent"}}})
    await place.submit()
    await place.expect("ConfigMissing")
    await place.patch(kueue.AdmissionCheck, check, {"spec": {"parameters": {"name": place.name}}})


async def runs_on_hub(place: Place) -> None:
    await place.patch_queue({"admissionChecksStrategy": {"admissionChecks": [{"name": place.name}]}})
    await advance(5)
    await place.submit()
    await place.expect("RunsOnHub")
    await place.do_as_told()
    await place.submit_again()


async def pinned_to_nobody(place: Place) -> None:
    await place.submit(annotations={ALLOWED_CLUSTERS: "cluster9"})
    await place.expect("PinnedToNobody")
    await place.submit_again(annotations={ALLOWED_CLUSTERS: "cluster1"})


async def worker_queue_missing(place: Place) -> None:
    for worker in place.workers:
        await worker.delete(kueue.LocalQueue.resource, "q", place.name)
    await advance(5)
    await place.submit()
    await place.expect("WorkerQueueMissing", within=120)
    for worker in place.workers:
        queue = kueue.LocalQueue.manifest("q", place.name, spec={"clusterQueue": place.name})
        await worker.create(kueue.LocalQueue.resource, queue)


async def worker_queue_stopped(place: Place) -> None:
    await place.patch_queue(STOP["spec"], *place.workers)
    await advance(60)
    await place.submit()
    await place.expect("WorkerQueueStopped", within=120)
    await place.do_as_told()


async def worker_quota_too_small(place: Place) -> None:
    await place.patch_queue(place.quota("1"), *place.workers)
    await advance(60)
    await place.submit(cpu="2")
    await place.expect("WorkerQuotaTooSmall", within=120)
    await place.patch_queue(place.quota("4"), *place.workers)


async def worker_quota_short(place: Place) -> None:
    await place.patch_queue(place.quota("90"))
    for number in range(3):
        await place.submit(f"first{number}", cpu="4")
    await advance(60)
    await place.submit(cpu="2")
    await place.expect("WorkerQuotaShort")
    await place.hub.delete(Job.resource, "first0", place.name)


async def pods_not_ready(place: Place) -> None:
    await place.submit(pod={"nodeSelector": {"there": "is-none"}})
    await place.expect("PodsNotReady", within=120)
    await place.submit_again()


async def worker_lost(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    await advance(5)
    await place.submit()
    await advance(5)
    place.fleet.cut(LAST)
    await place.expect("WorkerLost", within=120)
    await place.do_as_told()
    place.fleet.heal(LAST)


async def waits_for_lost_worker(place: Place) -> None:
    await place.submit(annotations={LOST_WORKER: "wait"})
    await advance(20)
    lost = (await place.workload()).status.cluster_name.removeprefix(f"{place.name}-")
    place.fleet.cut(lost)
    await place.expect("WaitsForLostWorker", within=1500)
    await place.do_as_told()
    place.fleet.heal(lost)


async def cluster_not_connected(place: Place) -> None:
    await place.patch_placement({**ONLY_LAST, "tolerations": [{"operator": "Exists"}]})
    await advance(10)
    place.fleet.cut(LAST)
    await advance(120)
    await place.submit()
    await place.expect("ClusterNotConnected")
    await place.do_as_told()
    place.fleet.heal(LAST)


async def controller_silent(place: Place) -> None:
    (deployment,) = [
        raw["metadata"]["name"]
        for raw in (await place.hub.list(Deployment.resource, NAMESPACE)).items
        if "controller" in raw["metadata"]["name"]
    ]
    await place.patch(Deployment, deployment, {"spec": {"replicas": 0}}, NAMESPACE)
    await advance(90)
    await place.submit()
    await place.expect("ControllerSilent")
    await place.patch(Deployment, deployment, {"spec": {"replicas": 1}}, NAMESPACE)


CASES = {
    case.__name__: case
    for case in (
        local_queue_missing,
        local_queue_stopped,
        cluster_queue_missing,
        cluster_queue_stopped,
        flavor_missing,
        namespace_not_allowed,
        exceeds_quota,
        quota_short,
        no_flavor_fits,
        deactivated,
        check_rejected,
        check_missing,
        placement_missing,
        set_not_bound,
        set_missing,
        parameters_invalid,
        set_empty,
        no_cluster_matches,
        taint_not_tolerated,
        number_is_zero,
        config_missing,
        runs_on_hub,
        pinned_to_nobody,
        worker_queue_missing,
        worker_queue_stopped,
        worker_quota_too_small,
        worker_quota_short,
        pods_not_ready,
        worker_lost,
        waits_for_lost_worker,
        cluster_not_connected,
        controller_silent,
    )
}


@pytest.fixture(scope="module")
def told():
    return tell({name: partial(mended, case) for name, case in CASES.items()})


@pytest.mark.parametrize("case", CASES)
def test_it_is_named_and_gone_after_its_step(told, case):
    seen = told[case]

    if isinstance(seen, Exception):
        raise seen
    cause, admitted = seen
    assert says(cause, name=case.replace("_", "-"), **WORDS)
    assert says(admitted)
    assert cause.step
    assert cause.told_by == TOLD_BY.get(cause.code, set())
