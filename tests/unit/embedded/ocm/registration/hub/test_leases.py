"""Clusters whose agents are silent become unknown, and clocks are compared."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLOCK_SYNCED, CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.events_v1 import Event
from fleetqueue.embedded.ocm.registration.hub.leases import ClockController, LeaseController, grace, verdict
from fleetqueue.embedded.ocm.registration.names import LEASE
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import START, advance, settle
from tests.unit.embedded.ocm.registration.objects import cluster_manifest, cluster_view


def renewed(ago=0.0):
    spec = {"holderIdentity": LEASE, "renewTime": moment(ago)}
    return Lease.manifest(LEASE, "c", labels={CLUSTER_NAME_LABEL: "c"}, spec=spec)


def moment(ago):
    return (clock.now() - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(("seconds", "wanted"), [(0, 300), (60, 300), (10, 50)])
def test_five_renewals_may_be_missed(seconds, wanted):
    assert grace(cluster_view(leaseDurationSeconds=seconds)).total_seconds() == wanted


async def test_an_accepted_cluster_gets_a_lease_once(env):
    env.api.namespace("c")
    env.api.add(cluster_manifest("c", conditions=[ACCEPTED]))

    first = await env.run(LeaseController)
    second = await env.run(LeaseController)

    assert first == [f"create leases/c/{LEASE}"]
    assert second == []


async def test_a_cluster_that_was_never_accepted_gets_none(env):
    env.api.namespace("c")
    env.api.add(cluster_manifest("c"))

    assert await env.run(LeaseController) == []


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_an_agent_that_falls_silent_is_noticed_when_its_time_is_over_and_told_once(env):
    env.api.namespace("c")
    env.api.add(cluster_manifest("c", conditions=[ACCEPTED, AVAILABLE]), renewed())

    async with env.working(LeaseController):
        await advance(299)
        before = env.said(AVAILABLE).status
        await advance(2)
        after = env.said(AVAILABLE)
        await advance(3600)

    assert before == "True"
    assert (after.status, after.reason) == ("Unknown", "ManagedClusterLeaseUpdateStopped")
    told = [env.api.raw(Event, each.name, each.namespace) for each in env.api.list(Event)]
    assert [(each["metadata"]["namespace"], each["reason"]) for each in told] == [("c", "AvailableUnknown")]


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_a_renewal_gives_more_time(env):
    env.api.namespace("c")
    env.api.add(cluster_manifest("c", conditions=[ACCEPTED, AVAILABLE]), renewed())

    async with env.working(LeaseController):
        await advance(200)
        env.api.change(Lease, LEASE, "c", spec={"renewTime": moment(0)})
        await advance(200)

    assert env.said(AVAILABLE).status == "True"


async def test_the_lost_lease_of_a_cluster_that_goes_counts_at_once(env):
    deleted = cluster_manifest("c", conditions=[ACCEPTED, AVAILABLE], finalizers=["example.com/held"])
    deleted["metadata"]["deletionTimestamp"] = "now"
    env.api.namespace("c")
    env.api.add(deleted)

    await env.run(LeaseController)

    assert env.said(AVAILABLE).status == "Unknown"


@pytest.mark.parametrize(
    ("ago", "status"),
    [(0, "True"), (299, "True"), (300, "False"), (-299, "True"), (-300, "False")],
)
def test_clocks_agree_within_the_time_of_five_renewals(ago, status):
    said = verdict(cluster_view(), START - timedelta(seconds=ago), START)

    assert said.status == status


async def test_only_a_renewal_tells_the_time(env):
    env.api.namespace("c")
    env.api.add(cluster_manifest("c"), renewed(3600))

    async with env.working(ClockController, LeaseController):
        env.api.change(ManagedCluster, "c", status={"conditions": [condition(AVAILABLE)]})
        await settle()
        before = env.said(CLOCK_SYNCED)
        env.api.change(Lease, LEASE, "c", spec={"renewTime": moment(-3600)})
        await settle()

    assert before is None
    assert env.said(CLOCK_SYNCED).status == "False"
