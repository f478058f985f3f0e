"""A worker that is drained by a taint, and serves again without it."""

import asyncio

import pytest

from fleetqueue.admin import inventory
from fleetqueue.admin.cluster_draining import WouldDropMore, drain, undrain, wait_until_drained
from fleetqueue.admin.waiting import NotInTime
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, DRAIN_TAINT
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.builders import by_secret, condition

OTHER = {"key": "gpu", "value": "broken", "effect": "PreferNoSelect"}
EVERY = {"operator": "Exists"}


@pytest.fixture
def hub(api):
    spec = {"hubAcceptsClient": True, "taints": [OTHER]}
    api.add(cluster.ManagedCluster.manifest("c1", spec=spec))
    return Client(api)


def taints(api):
    return [(taint.key, taint.effect) for taint in api.get(cluster.ManagedCluster, "c1").spec.taints]


async def test_a_drain_is_a_taint_beside_those_of_others(api, hub):
    state = await drain(hub, "c1")

    assert taints(api) == [("gpu", "PreferNoSelect"), (DRAIN_TAINT, "NoSelect")]
    assert (state.draining, state.changed, state.tolerated_by, state.jobs) == (True, True, (), 0)
    assert [row["draining"] for row in await inventory.clusters(hub)] == [True]


async def test_a_second_drain_writes_nothing(api, hub):
    await drain(hub, "c1")
    api.writes.clear()

    assert not (await drain(hub, "c1")).changed
    assert api.writes == []


async def test_only_our_taint_is_taken_off(api, hub):
    await drain(hub, "c1")

    assert (await undrain(hub, "c1")).changed
    assert taints(api) == [("gpu", "PreferNoSelect")]
    assert not (await undrain(hub, "c1")).changed


@pytest.mark.parametrize("command", [drain, undrain])
async def test_a_cluster_that_is_not_there_is_told(hub, command):
    with pytest.raises(errors.NotFound):
        await command(hub, "nope")


async def test_a_write_of_somebody_else_meanwhile_is_kept(api, hub):
    api.fail_on("patch managedclusters c1", errors.Conflict("stale"), times=1)

    assert (await drain(hub, "c1")).changed
    assert (DRAIN_TAINT, "NoSelect") in taints(api)


def placement(name, namespace, *tolerations):
    return cluster.Placement.manifest(name, namespace, spec={"tolerations": list(tolerations)})


def decided(name, namespace):
    return cluster.PlacementDecision.manifest(
        f"{name}-1",
        namespace,
        labels={cluster.PLACEMENT_LABEL: name},
        status={"decisions": [{"clusterName": "c1", "reason": ""}]},
    )


def check(name):
    parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": name}
    return kueue.AdmissionCheck.manifest(name, spec={"controllerName": CHECK_CONTROLLER, "parameters": parameters})


async def test_placements_that_stand_against_it_and_those_that_follow_it_are_named(api, hub):
    api.add(check("gpu"), check("cpu"))
    api.add(placement("gpu", "kueue-system", EVERY), placement("cpu", "kueue-system"))
    api.add(placement("agents", "ns", {"key": DRAIN_TAINT, "operator": "Exists"}), placement("queues", "ns"))
    api.add(decided("agents", "ns"), decided("queues", "ns"), decided("cpu", "kueue-system"))

    with pytest.raises(WouldDropMore, match=f"ns/queues would drop c1, too.* a toleration of {DRAIN_TAINT}"):
        await drain(hub, "c1")
    assert DRAIN_TAINT not in {taint.key for taint in api.get(cluster.ManagedCluster, "c1").spec.taints}

    state = await drain(hub, "c1", force=True)

    assert state.tolerated_by == ("kueue-system/gpu",)
    assert state.dropped_by == ("ns/queues",)


def member(name, **labels):
    return kueue.MultiKueueCluster.manifest(name, labels={CLUSTER_LABEL: "c1", **labels}, spec=by_secret())


async def test_a_config_that_somebody_wrote_is_named(api, hub):
    api.add(member("mine"), kueue.MultiKueueConfig.manifest("by-hand", spec={"clusters": ["mine"]}))

    assert (await drain(hub, "c1")).listed_by_hand == ("by-hand",)


def running():
    status = {"conditions": [condition("QuotaReserved"), condition("Admitted")], "clusterName": "gpu-c1"}
    return kueue.Workload.manifest("w", "team-a", spec={}, status=status)


async def test_a_wait_tells_how_many_jobs_are_left_and_ends_with_the_last_member(api, hub):
    api.add(member("gpu-c1", **OURS), running())
    told = []

    waiting = asyncio.create_task(wait_until_drained(hub, "c1", told.append, limit=60))
    await asyncio.sleep(1)
    api.remove(kueue.Workload, "w", "team-a")
    await asyncio.sleep(1)
    api.remove(kueue.MultiKueueCluster, "gpu-c1")
    await waiting

    assert told == ["1 job of ours is on c1", "no jobs of ours are on c1"]


async def test_a_wait_that_takes_too_long_says_what_is_left(api, hub):
    api.add(member("gpu-c1", **OURS), running())

    with pytest.raises(
        NotInTime, match="c1 drains: not within 5 s; 1 job of ours is on it; MultiKueueClusters: gpu-c1"
    ):
        await wait_until_drained(hub, "c1", lambda line: None, limit=5)
