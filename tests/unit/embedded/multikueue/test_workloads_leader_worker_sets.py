"""LeaderWorkerSets have a Workload for each group; all go to one worker, and no status comes back."""

from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.embedded.operators.leader_worker_sets import LeaderWorkerSetController, hooks
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from tests.invariants.second_look import managed
from tests.unit.embedded.operators.leader_worker_set_objects import leader_worker_set, make_pods

from .objects import NAMESPACE, QUEUE
from .queues import arrange

FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"


@pytest.fixture
async def sets(env):
    for cluster in env.fleet:
        cluster.add(*crds("leaderworkerset"))
        env.fleet._fleet.clusters[cluster.name].server.webhooks.install("lws", hooks())
    arrange(env)
    env.frameworks = ("batch/job", "pod", FRAMEWORK)
    await env.fleet.advance(10)
    return env


@asynccontextmanager
async def running(env, **settings):
    """Let Kueue and the stand-in for the operator run everywhere."""
    async with AsyncExitStack() as stack:
        for cluster in env.fleet:
            view = Cluster(cluster.name, env.fleet._fleet.clusters[cluster.name].client())
            controllers = [LeaderWorkerSetController(view, Metrics())]
            await stack.enter_async_context(managed(Manager(view, controllers)))
        await stack.enter_async_context(env.kueue(**settings))
        yield


async def go_on(env, turns=5):
    """Let time pass, and Kubernetes make pods."""
    for _ in range(turns):
        await env.fleet.advance(4)
        for cluster in env.fleet:
            await make_pods(env.fleet._fleet.clusters[cluster.name].client(), NAMESPACE)
    await env.fleet.advance(5)


def clusters(env):
    """Return where each group is."""
    found = sorted(env.hub.list(kueue.Workload), key=lambda each: each.name)
    return [workload.status.cluster_name for workload in found]


def copies(env):
    return [worker.name for worker in env.workers if worker.list(LeaderWorkerSet)]


def phases(cluster):
    return {pod.name: pod.status.phase for pod in cluster.list(Pod)}


async def test_all_groups_run_on_one_worker_and_wait_on_the_hub(sets):
    async with running(sets):
        sets.hub.add(leader_worker_set(3, 2, namespace=NAMESPACE, queue=QUEUE))
        await go_on(sets)

    [worker] = copies(sets)
    copy, hub = sets.fleet[worker].get(LeaderWorkerSet, "l", NAMESPACE), sets.hub.get(LeaderWorkerSet, "l", NAMESPACE)
    assert clusters(sets) == [worker] * 3
    assert copy.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == hub.uid
    assert kueue.PREBUILT_WORKLOAD not in copy.metadata.annotations
    assert sorted(phases(sets.fleet[worker])) == ["l-0", "l-0-1", "l-1", "l-1-1", "l-2", "l-2-1"]
    assert set(phases(sets.fleet[worker]).values()) == {"Running"}
    assert set(phases(sets.hub).values()) == {"Pending"}
    assert [len(each.list(kueue.Workload)) for each in sets.workers if each.name != worker] == [0]


async def test_groups_come_one_after_the_other_where_a_few_clusters_are_nominated_at_a_time(sets):
    async with running(sets, dispatcher=kueue.INCREMENTAL):
        sets.hub.add(leader_worker_set(2, 1, namespace=NAMESPACE, queue=QUEUE))
        await go_on(sets)

    [worker] = copies(sets)
    assert clusters(sets) == [worker, worker]


async def test_a_group_that_is_deactivated_stops_and_the_others_go_on(sets):
    async with running(sets):
        sets.hub.add(leader_worker_set(2, 1, namespace=NAMESPACE, queue=QUEUE))
        await go_on(sets)
        [worker] = copies(sets)
        before = sets.fleet[worker].get(Pod, "l-1", NAMESPACE).uid
        first = next(
            each
            for each in sets.hub.list(kueue.Workload)
            if each.metadata.annotations["kueue.x-k8s.io/component-workload-index"] == "0"
        )
        sets.hub.change(kueue.Workload, first.name, NAMESPACE, spec={"active": False})
        await go_on(sets)
        stopped, other = sets.fleet[worker].get(Pod, "l-0", NAMESPACE), sets.fleet[worker].get(Pod, "l-1", NAMESPACE)
        sets.hub.change(kueue.Workload, first.name, NAMESPACE, spec={"active": True})
        await go_on(sets)

    assert stopped.spec.scheduling_gates
    assert (other.uid, other.status.phase) == (before, "Running")
    assert copies(sets) == [worker]
    assert phases(sets.fleet[worker]) == {"l-0": "Running", "l-1": "Running"}


async def test_another_number_of_groups_is_sent_anew(sets):
    async with running(sets):
        sets.hub.add(leader_worker_set(2, 1, namespace=NAMESPACE, queue=QUEUE))
        await go_on(sets)
        sets.hub.change(LeaderWorkerSet, "l", NAMESPACE, spec={"replicas": 3})
        await go_on(sets, 8)
        [worker] = copies(sets)
        more = phases(sets.fleet[worker])
        sets.hub.change(LeaderWorkerSet, "l", NAMESPACE, spec={"replicas": 1})
        await go_on(sets, 8)

    assert more == {"l-0": "Running", "l-1": "Running", "l-2": "Running"}
    assert copies(sets) == [worker]
    assert phases(sets.fleet[worker]) == {"l-0": "Running"}


async def test_a_leader_worker_set_that_is_deleted_goes_from_its_worker(sets):
    async with running(sets):
        sets.hub.add(leader_worker_set(2, 2, namespace=NAMESPACE, queue=QUEUE))
        await go_on(sets)
        before = copies(sets)
        sets.hub.remove(LeaderWorkerSet, "l", NAMESPACE)
        await sets.fleet.advance(60)

    assert len(before) == 1
    assert copies(sets) == []
    assert [cluster.list(Pod) for cluster in sets.fleet] == [[], [], []]
    assert [cluster.list(kueue.Workload) for cluster in sets.fleet] == [[], [], []]
