"""Pods are sent as jobs are: whole Kueues everywhere; the hub's pod stays at the gate and says how its copy goes."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.core_v1 import Pod
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.builders import pod_template

from .objects import NAMESPACE, QUEUE
from .queues import arrange, the_workload

FRAMEWORKS = ("batch/job", "pod")


def user_pod(name="p", *, runs="90h", **metadata):
    template = pod_template(requests={"cpu": "1"})
    annotations = {"fleetqueue.dev/run-for": runs, **metadata.pop("annotations", {})}
    labels = {kueue.QUEUE_LABEL: QUEUE, **metadata.pop("labels", {})}
    return Pod.manifest(name, NAMESPACE, labels=labels, annotations=annotations, spec=template["spec"])


@pytest.fixture
def pods(env):
    arrange(env)
    env.frameworks = FRAMEWORKS
    return env


def copies(env):
    """Return which pods each worker has."""
    found = {worker.name: [pod.name for pod in worker.list(Pod)] for worker in env.workers}
    return {name: sorted(names) for name, names in found.items() if names}


def hub_pod(env, name="p"):
    return env.hub.get(Pod, name, NAMESPACE)


def is_gated(pod):
    return "kueue.x-k8s.io/admission" in [gate["name"] for gate in pod.spec.scheduling_gates]


async def test_a_pod_runs_on_one_worker_and_its_end_comes_back(pods):
    async with pods.kueue():
        pods.hub.add(user_pod(runs="20s"))
        await pods.fleet.advance(8)
        there, running = copies(pods), hub_pod(pods)
        placed = the_workload(pods).status.cluster_name
        await pods.fleet.advance(60)

    ended = hub_pod(pods)
    assert there == {placed: ["p"]}
    assert running.status.phase == "Running"
    assert is_gated(running)
    assert ended.status.phase == "Succeeded"
    assert "kueue.x-k8s.io/managed" not in ended.metadata.finalizers
    assert the_workload(pods).is_finished
    assert copies(pods) == {}


async def test_a_pod_that_is_deleted_goes_from_its_worker(pods):
    async with pods.kueue():
        pods.hub.add(user_pod())
        await pods.fleet.advance(8)
        before = copies(pods)
        pods.hub.remove(Pod, "p", NAMESPACE)
        await pods.fleet.advance(30)

    assert len(before) == 1
    assert copies(pods) == {}
    assert pods.hub.list(Pod) == pods.hub.list(kueue.Workload) == []
    assert [len(worker.list(kueue.Workload)) for worker in pods.workers] == [0, 0]


async def test_a_pod_that_is_deactivated_stops_and_can_run_again(pods):
    async with pods.kueue():
        pods.hub.add(user_pod())
        await pods.fleet.advance(8)
        workload = the_workload(pods)
        pods.hub.change(kueue.Workload, workload.name, NAMESPACE, spec={"active": False})
        await pods.fleet.advance(30)
        left, stopped = copies(pods), hub_pod(pods)
        pods.hub.change(kueue.Workload, workload.name, NAMESPACE, spec={"active": True})
        await pods.fleet.advance(30)

    assert left == {}
    assert is_gated(stopped)
    assert stopped.status.phase == "Pending"
    assert len(copies(pods)) == 1
    assert hub_pod(pods).status.phase == "Running"


async def test_a_pod_that_a_worker_evicts_runs_elsewhere(pods):
    async with pods.kueue():
        pods.hub.add(user_pod())
        await pods.fleet.advance(8)
        worker = the_workload(pods).status.cluster_name
        pods.fleet[worker].change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await pods.fleet.advance(40)

    other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
    assert copies(pods) == {other: ["p"]}
    assert hub_pod(pods).status.phase == "Running"


async def test_all_is_quiet_while_a_pod_runs(pods):
    async with pods.kueue():
        pods.hub.add(user_pod())
        await pods.fleet.advance(30)
        before = [api.raw(Pod, "p", NAMESPACE)["metadata"]["resourceVersion"] for api in (pods.hub,)]
        await pods.fleet.advance(120)
        after = [api.raw(Pod, "p", NAMESPACE)["metadata"]["resourceVersion"] for api in (pods.hub,)]

    assert after == before


def member(name, *, of="g", count=3, **said):
    """A pod of a group."""
    marks = {"kueue.x-k8s.io/pod-group-total-count": str(count), **said.pop("annotations", {})}
    return user_pod(name, labels={"kueue.x-k8s.io/pod-group-name": of}, annotations=marks, **said)


def phases(env):
    return {pod.name: pod.status.phase for pod in env.hub.list(Pod)}


async def test_a_group_of_pods_runs_on_one_worker_and_its_end_comes_back(pods):
    async with pods.kueue():
        pods.hub.add(member("a", runs="20s"), member("b", runs="30s"), member("c", runs="20s"))
        await pods.fleet.advance(10)
        there, running = copies(pods), phases(pods)
        placed = the_workload(pods).status.cluster_name
        await pods.fleet.advance(60)

    assert there == {placed: ["a", "b", "c"]}
    assert running == dict.fromkeys("abc", "Running")
    assert phases(pods) == dict.fromkeys("abc", "Succeeded")
    assert the_workload(pods).is_finished
    assert copies(pods) == {}
    assert [pod.metadata.finalizers for pod in pods.hub.list(Pod)] == [(), (), ()]


async def test_a_pod_of_a_group_that_failed_is_replaced_on_the_same_worker(pods):
    async with pods.kueue():
        pods.hub.add(member("a"), member("b"), member("c", runs="5s", annotations={"fleetqueue.dev/fails": "true"}))
        await pods.fleet.advance(20)
        placed, failed = the_workload(pods).status.cluster_name, phases(pods)
        pods.hub.add(member("d"))
        await pods.fleet.advance(20)

    assert failed["c"] == "Failed"
    assert the_workload(pods).status.cluster_name == placed
    assert copies(pods) == {placed: ["a", "b", "c", "d"]}
    assert phases(pods)["d"] == "Running"


async def test_a_group_that_is_deactivated_stops_and_can_run_again(pods):
    async with pods.kueue():
        pods.hub.add(member("a"), member("b"), member("c"))
        await pods.fleet.advance(10)
        pods.hub.change(kueue.Workload, "g", NAMESPACE, spec={"active": False})
        await pods.fleet.advance(40)
        left, stopped, workload = copies(pods), phases(pods), the_workload(pods)
        pods.hub.change(kueue.Workload, "g", NAMESPACE, spec={"active": True})
        await pods.fleet.advance(40)

    assert left == {}
    assert stopped == dict.fromkeys("abc", "Pending")
    assert not workload.is_true("QuotaReserved")
    assert list(copies(pods).values()) == [["a", "b", "c"]]
    assert phases(pods) == dict.fromkeys("abc", "Running")


async def test_a_group_that_a_worker_evicts_runs_elsewhere(pods):
    async with pods.kueue():
        pods.hub.add(member("a"), member("b"), member("c"))
        await pods.fleet.advance(10)
        worker = the_workload(pods).status.cluster_name
        pods.fleet[worker].change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await pods.fleet.advance(60)

    other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
    assert copies(pods) == {other: ["a", "b", "c"]}
    assert phases(pods) == dict.fromkeys("abc", "Running")


async def test_a_group_whose_workload_is_deleted_goes_from_its_worker(pods):
    async with pods.kueue():
        pods.hub.add(member("a"), member("b"), member("c"))
        await pods.fleet.advance(10)
        before = copies(pods)
        pods.hub.remove(kueue.Workload, "g", NAMESPACE)
        await pods.fleet.advance(40)

    assert len(before) == 1
    assert copies(pods) == {}
    assert pods.hub.list(Pod) == pods.hub.list(kueue.Workload) == []
    assert [len(worker.list(kueue.Workload)) for worker in pods.workers] == [0, 0]


async def test_a_group_of_which_a_part_could_not_be_sent_is_sent_whole(pods):
    failures = [Failure("create pods/team-a/b", errors.ServerError("no"), times=2) for _ in pods.workers]
    for worker, failure in zip(pods.workers, failures, strict=True):
        worker.way.failures.append(failure)
    async with pods.kueue():
        pods.hub.add(member("a"), member("b"), member("c"))
        await pods.fleet.advance(60)

    assert 0 in [failure.times for failure in failures]
    assert list(copies(pods).values()) == [["a", "b", "c"]]
    assert phases(pods) == dict.fromkeys("abc", "Running")


async def test_each_pod_of_a_deployment_is_sent_for_itself(pods):
    pods.frameworks = ("batch/job", "pod", "deployment")
    template = pod_template(requests={"cpu": "1"})
    template["metadata"] = {"labels": {"app": "d"}}
    template["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    made = Deployment.manifest("d", NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec)
    async with pods.kueue():
        pods.hub.add(made)
        await pods.fleet.advance(20)

    hub = {pod.name: pod.status.phase for pod in pods.hub.list(Pod)}
    assert sorted(name for names in copies(pods).values() for name in names) == sorted(hub)
    assert list(hub.values()) == ["Running", "Running"]
    assert pods.hub.raw(Deployment, "d", NAMESPACE)["status"]["readyReplicas"] == 2
