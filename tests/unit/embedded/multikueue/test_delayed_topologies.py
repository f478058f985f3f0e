"""Topologies that the worker assigns, while the hub waits for that."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.delayed_topologies import placed_sets, waiting_sets, with_placed_sets

from .objects import CHECK, NAMESPACE, admitted, reserved

pytestmark = pytest.mark.fleet(scenario="api")
ON_NODE = {
    "levels": ["kubernetes.io/hostname"],
    "slices": [{"domainCount": 1, "valuesPerLevel": [{"universal": "n1"}], "podCounts": {"universal": 1}}],
}
ASKED = {"required": "kubernetes.io/hostname"}


def with_part(status, **fields):
    """Say more of the only pod set."""
    (part,) = status["admission"]["podSetAssignments"]
    return {**status, "admission": {**status["admission"], "podSetAssignments": [{**part, **fields}]}}


def told(env):
    """Return what the hub says of the topology of its pod set."""
    (part,) = env.hub.raw(kueue.Workload, "j", NAMESPACE)["status"]["admission"]["podSetAssignments"]
    return part["delayedTopologyRequest"], part.get("topologyAssignment")


def submit(env):
    """Queue a job whose topology the hub does not assign."""
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}
    env.submit(podSets=[{"name": "main", "count": 1, "template": pods, "topologyRequest": ASKED}])
    checks = [{"name": CHECK, "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    status = {**with_part(reserved(), delayedTopologyRequest="Pending"), "admissionChecks": checks}
    env.hub.apply_as("kueue-admission", kueue.Workload, "j", NAMESPACE, status=status)


def admit(env, worker, **fields):
    env.fleet[worker].apply_as(
        "kueue-admission", kueue.Workload, "j", NAMESPACE, status=with_part(admitted(), **fields)
    )


async def test_the_hub_learns_that_the_worker_has_placed_the_pods(env):
    env.arrange()
    async with env.multikueue():
        submit(env)
        await env.fleet.settle()
        asked = env.fleet["cluster1"].raw(kueue.Workload, "j", NAMESPACE)["spec"]["podSets"][0]
        admit(env, "cluster1", topologyAssignment=ON_NODE)
        await env.fleet.settle()

    assert asked["topologyRequest"] == ASKED
    assert env.check().state == "Ready"
    assert told(env) == ("Ready", None)


async def test_the_hub_waits_as_long_as_the_worker_has_not_placed_them(env):
    env.arrange()
    async with env.multikueue():
        submit(env)
        await env.fleet.settle()
        admit(env, "cluster1")
        await env.fleet.settle()
        before = env.check().state, told(env)
        admit(env, "cluster1", topologyAssignment=ON_NODE)
        await env.fleet.settle()

    assert before == ("Ready", ("Pending", None))
    assert told(env) == ("Ready", None)


def view(*parts):
    made = kueue.Workload.manifest(
        "w", "ns", spec={}, status={"admission": {"clusterQueue": "q", "podSetAssignments": [*parts]}}
    )
    return made, kueue.Workload.view(made)


async def test_only_the_sets_that_were_placed_are_ready():
    waiting, other = ({"name": name, "delayedTopologyRequest": "Pending"} for name in "ab")
    local, seen = view(waiting, other, {"name": "c"})
    _, remote = view({"name": "a", "topologyAssignment": ON_NODE}, {"name": "b"}, {"name": "c"})

    parts = with_placed_sets(local, placed_sets(remote))["podSetAssignments"]

    assert waiting_sets(seen) == {"a", "b"}
    assert parts == [{**waiting, "delayedTopologyRequest": "Ready"}, other, {"name": "c"}]


async def test_a_workload_without_quota_stays_without():
    assert with_placed_sets({"status": {}}, frozenset("a")) is None
    assert placed_sets(None) == frozenset()
