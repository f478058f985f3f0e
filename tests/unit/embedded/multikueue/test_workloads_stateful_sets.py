"""StatefulSets are sent once: the hub's pods wait at the gate, the worker's run, and no status comes back."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.testing.builders import pod_template

from .objects import NAMESPACE, QUEUE
from .queues import arrange, the_workload

FRAMEWORKS = ("batch/job", "pod", "statefulset")


def stateful_set(replicas=2):
    template = pod_template(requests={"cpu": "1"})
    template["metadata"] = {"labels": {"app": "s"}}
    template["spec"]["restartPolicy"] = "Always"
    selector = {"matchLabels": {"app": "s"}}
    spec = {"replicas": replicas, "serviceName": "s", "selector": selector, "template": template}
    spec["podManagementPolicy"] = "Parallel"
    return StatefulSet.manifest("s", NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec)


def make_pods(cluster):
    """Let the StatefulSet of a cluster have all of its pods, where nobody else makes them."""
    raw = cluster.raw(StatefulSet, "s", NAMESPACE)
    template = raw["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": raw["metadata"]["uid"]}
    for number in range(raw["spec"]["replicas"]):
        if cluster.get(Pod, f"s-{number}", NAMESPACE) is None:
            made = Pod.manifest(f"s-{number}", NAMESPACE, **template["metadata"], spec=template["spec"])
            made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            cluster.add(made)


@pytest.fixture
def sets(env):
    arrange(env)
    env.frameworks = FRAMEWORKS
    return env


async def run(env):
    """Let a StatefulSet run; return on which worker."""
    env.hub.add(stateful_set())
    await env.fleet.advance(3)
    make_pods(env.hub)
    await env.fleet.advance(10)
    worker = the_workload(env).status.cluster_name
    make_pods(env.fleet[worker])
    await env.fleet.advance(10)
    return worker


def phases(cluster):
    return {pod.name: pod.status.phase for pod in cluster.list(Pod)}


def with_sets(env):
    return [worker.name for worker in env.workers if worker.list(StatefulSet)]


async def test_a_stateful_set_runs_on_one_worker_and_its_pods_wait_on_the_hub(sets):
    async with sets.kueue():
        worker = await run(sets)

    copy, hub = sets.fleet[worker].get(StatefulSet, "s", NAMESPACE), sets.hub.get(StatefulSet, "s", NAMESPACE)
    assert with_sets(sets) == [worker]
    assert copy.metadata.annotations["kueue.x-k8s.io/multikueue-origin-uid"] == hub.uid
    assert phases(sets.fleet[worker]) == {"s-0": "Running", "s-1": "Running"}
    assert phases(sets.hub) == {"s-0": "Pending", "s-1": "Pending"}
    assert the_workload(sets).name == the_workload(sets, worker).name
    assert the_workload(sets).is_true("Admitted")


async def test_a_stateful_set_that_is_deactivated_stops_and_can_run_again(sets):
    async with sets.kueue():
        await run(sets)
        name = the_workload(sets).name
        sets.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": False})
        await sets.fleet.advance(30)
        left = with_sets(sets)
        sets.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": True})
        await sets.fleet.advance(30)

    assert left == []
    assert len(with_sets(sets)) == 1


async def test_a_stateful_set_that_is_deleted_goes_from_its_worker(sets):
    async with sets.kueue():
        await run(sets)
        before = with_sets(sets)
        sets.hub.remove(StatefulSet, "s", NAMESPACE)
        await sets.fleet.advance(40)

    assert len(before) == 1
    assert with_sets(sets) == []
    assert [cluster.list(Pod) for cluster in sets.fleet] == [[], [], []]
    assert [cluster.list(kueue.Workload) for cluster in sets.fleet] == [[], [], []]
