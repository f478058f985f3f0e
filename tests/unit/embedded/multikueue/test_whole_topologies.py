"""Topology-aware queues as Kueue's page on MultiKueue sets them up: the same topology on the hub and on two workers.

The files are those of `examples/`; our own Kueue runs everywhere.
"""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Pod, Secret
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.manifests import objects
from fleetqueue.rules.run_times import RUN_FOR

from .objects import SYSTEM, encoded

HOST = "kubernetes.io/hostname"
ADDRESSES = {"worker1": "cluster1", "worker2": "cluster2"}


def set_up(env):
    """Apply the page's files, and make the secrets that it makes."""
    for cluster in env.fleet:
        cluster.namespace("default", SYSTEM)
    for name, worker in ADDRESSES.items():
        env.fleet[worker].add(*objects("topology-nodes.yaml"), *objects("topology-worker-setup.yaml"))
        kubeconfig = {"kubeconfig": encoded(env.fleet[worker].kubeconfig)}
        env.hub.add({**Secret.manifest(f"{name}-secret", SYSTEM), "data": kubeconfig})
    env.hub.add(*objects("topology-manager-setup.yaml"))


def endless(job):
    """Let a job run on: there is nothing in its image here that would."""
    where = ("spec", "template", "metadata", "annotations")
    return with_value(job, where, {**(value_at(job, where) or {}), RUN_FOR: "1000s"})


def workload_of(cluster, job):
    (found,) = (one for one in cluster.list(kueue.Workload) if one.name.startswith(f"job-{job}"))
    return found


def parts(env, job):
    """Return the only pod set's assignment on the hub and on the worker that has the job, and that worker."""
    local = workload_of(env.hub, job)
    worker = env.fleet[ADDRESSES[local.status.cluster_name]]
    remote = workload_of(worker, job)
    return local.status.admission.pod_set_assignments[0], remote.status.admission.pod_set_assignments[0], worker


def pods_of(cluster, job):
    return [pod for pod in cluster.list(Pod) if pod.name.startswith(job)]


async def test_pods_that_ask_for_one_node_run_on_one_node_of_one_worker(env):
    async with env.kueue():
        set_up(env)
        await env.fleet.advance(15)
        env.hub.add(endless(objects("topology-jobs.yaml")[0]))
        await env.fleet.advance(15)

    local, remote, worker = parts(env, "tas-sample-job")
    (node,) = {pod.spec.node_name for pod in pods_of(worker, "tas-sample-job")}
    assert node in {one.name for one in worker.list(Node)}
    assert [*remote.topology_assignment.domains] == [((node,), 2)]
    assert (local.delayed_topology_request, local.topology_assignment) == ("Ready", None)
    assert workload_of(env.hub, "tas-sample-job").is_true(kueue.ADMITTED)
    assert pods_of(env.hub, "tas-sample-job") == []


async def test_pods_that_ask_for_nothing_are_placed_all_the_same(env):
    async with env.kueue():
        set_up(env)
        await env.fleet.advance(15)
        env.hub.add(endless(objects("topology-jobs.yaml")[1]))
        await env.fleet.advance(15)

    local, remote, worker = parts(env, "implicit-tas-job")
    pods = pods_of(worker, "implicit-tas-job")
    placed = {domain.values[0]: domain.pods for domain in remote.topology_assignment.domains}
    assert local.delayed_topology_request == "Ready"
    assert sum(placed.values()) == 3
    assert {node: sum(pod.spec.node_name == node for pod in pods) for node in placed} == placed
    assert all(pod.spec.node_selector[HOST] == pod.spec.node_name for pod in pods)
