"""Of several replicas one acts: never two at once, never none for long."""

import asyncio
import itertools
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import is_ours
from fleetqueue.runtime.leader_election import LeaderElection, LeadershipLost, LeaseSettings
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.virtual_time import advance, run, running, settle

SETTINGS = LeaseSettings()


class Cable:
    """A replica's own way to the API: it can be cut or slow, and answers can be late."""

    def __init__(self, api):
        self.api = api
        self.is_cut = False
        self.seconds_there = self.seconds_back = 0.0

    async def request(self, request, *, timeout):
        await self._pass(self.seconds_there)
        answer = await self.api.request(request, timeout=timeout)
        await self._pass(self.seconds_back)
        return answer

    async def _pass(self, seconds):
        if self.is_cut:
            raise errors.Unreachable("cut")
        await asyncio.sleep(seconds)


class Replica:
    """Acts by noting from when until when it did."""

    def __init__(self, api, name):
        self.cable = Cable(api)
        self.election = LeaderElection(Client(self.cable), name, SETTINGS)
        self.acted = []
        self.is_acting = False

    async def act(self):
        self.is_acting = True
        began = clock.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_acting = False
            self.acted.append((began, clock.monotonic()))

    async def lead(self):
        await self.election.lead(self.act)

    async def lead_again_and_again(self):
        while True:
            try:
                await self.lead()
            except LeadershipLost:
                await asyncio.sleep(1)


@asynccontextmanager
async def leading(replica):
    """A replica in the background; losing the lead is part of its life."""
    async with running(replica.lead_again_and_again()):
        await settle()
        yield replica


def lease(api):
    return api.get(Lease, SETTINGS.name, SETTINGS.namespace)


def hold(api, holder, **spec):
    body = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3, **spec}
    api.add(Lease.manifest(SETTINGS.name, SETTINGS.namespace, spec=body))


async def test_the_first_replica_leads_at_once(api):
    async with leading(Replica(api, "one")) as one:
        assert one.is_acting
        assert lease(api).spec.holder_identity == "one"
        assert lease(api).spec.lease_duration_seconds == 15


async def test_a_leader_keeps_its_lease_for_as_long_as_it_wants(api):
    async with leading(Replica(api, "one")) as one:
        await advance(3600)
        renewed = lease(api).spec.renew_time

        assert one.is_acting
        assert (clock.now() - renewed).total_seconds() <= SETTINGS.retry
        assert lease(api).spec.lease_transitions == 0


async def test_a_leader_renews_without_reading(api):
    async with leading(Replica(api, "one")):
        await advance(60)

        reads = [request for request in api.requests if request.startswith("get leases/")]
        assert len(reads) == 1


async def test_a_lease_that_somebody_has_changed_is_read_and_kept(api):
    async with leading(Replica(api, "one")) as one:
        await advance(60)
        api.change(Lease, SETTINGS.name, SETTINGS.namespace, metadata={"annotations": {"seen": "yes"}})
        await advance(60)

        assert one.is_acting
        assert (clock.now() - lease(api).spec.renew_time).total_seconds() <= SETTINGS.retry
        assert lease(api).spec.lease_transitions == 0


async def test_a_second_replica_waits(api):
    async with leading(Replica(api, "one")), leading(Replica(api, "two")) as two:
        await advance(600)

        assert not two.is_acting


async def test_a_second_replica_takes_over_when_the_first_has_fallen_silent(api):
    async with leading(Replica(api, "one")) as one, leading(Replica(api, "two")) as two:
        await advance(60)
        one.cable.is_cut = True
        await advance(SETTINGS.duration - 3)
        early = two.is_acting
        await advance(SETTINGS.retry * 3)

        assert not early
        assert two.is_acting
        assert lease(api).spec.lease_transitions == 1


async def test_silence_is_measured_by_our_own_clock_not_by_the_date_in_the_lease(api):
    hold(api, "other", renewTime="1999-01-01T00:00:00.000000Z")

    async with leading(Replica(api, "one")) as one:
        await advance(SETTINGS.duration - 1)
        early = one.is_acting
        await advance(SETTINGS.retry * 2)

        assert (early, one.is_acting) == (False, True)


async def test_a_date_in_the_future_does_not_keep_a_dead_leader(api):
    hold(api, "other", renewTime="2099-01-01T00:00:00.000000Z")

    async with leading(Replica(api, "one")) as one:
        await advance(SETTINGS.duration + SETTINGS.retry * 2)

        assert one.is_acting


async def test_the_holder_itself_says_how_long_to_wait_for_it(api):
    hold(api, "other", leaseDurationSeconds=60)

    async with leading(Replica(api, "one")) as one:
        await advance(58)
        early = one.is_acting
        await advance(8)

        assert (early, one.is_acting) == (False, True)


@pytest.mark.parametrize("failure", ["cut", "silent", "refused"])
async def test_a_leader_that_cannot_renew_stops_in_time(api, failure):
    replica = Replica(api, "one")
    task = asyncio.create_task(replica.lead())
    await advance(60)
    if failure == "cut":
        replica.cable.is_cut = True
    elif failure == "silent":
        replica.cable.seconds_there = 1e6
    else:
        api.fail_on("* leases/*", errors.Forbidden("no"))

    with pytest.raises(LeadershipLost, match="fleetqueue-system/fleetqueue-controller was not renewed in time"):
        await task

    ((_, until),) = replica.acted
    assert until - 60 <= SETTINGS.renew_deadline


async def test_a_short_failure_is_survived(api):
    async with leading(Replica(api, "one")) as one:
        one.cable.is_cut = True
        await advance(SETTINGS.renew_deadline - SETTINGS.retry * 2 - 1)
        one.cable.is_cut = False
        await advance(60)

        assert one.is_acting
        assert one.acted == []


async def test_a_short_failure_right_after_taking_over_is_survived(api):
    hold(api, "other")

    async with leading(Replica(api, "one")) as one:
        await advance(SETTINGS.duration + SETTINGS.retry * 2)
        one.cable.is_cut = True
        await advance(SETTINGS.renew_deadline - SETTINGS.retry * 2 - 1)
        one.cable.is_cut = False
        await advance(60)

        assert one.is_acting
        assert one.acted == []


async def test_the_deadline_counts_from_when_the_lease_was_asked_for(api):
    replica = Replica(api, "one")
    replica.cable.seconds_back = 4.5

    async with leading(replica):
        await advance(9)
        began = replica.is_acting
        replica.cable.is_cut = True
        await advance(SETTINGS.renew_deadline - 9)

        assert (began, replica.is_acting) == (True, False)


async def test_a_leader_that_finds_another_in_its_place_stops_at_once(api):
    async with leading(Replica(api, "one")) as one:
        await advance(60)
        api.change(Lease, SETTINGS.name, SETTINGS.namespace, spec={"holderIdentity": "two"})
        await advance(SETTINGS.retry)

        assert not one.is_acting


async def test_a_leader_says_who_took_its_place(api):
    task = asyncio.create_task(Replica(api, "one").lead())
    await advance(60)
    api.change(Lease, SETTINGS.name, SETTINGS.namespace, spec={"holderIdentity": "two"})

    with pytest.raises(LeadershipLost, match="is held by two"):
        await task


async def test_a_failure_while_stopping_is_not_lost(api):
    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            raise ZeroDivisionError

    task = asyncio.create_task(LeaderElection(Client(api), "one", SETTINGS).lead(work))
    await advance(60)
    api.cut()

    with pytest.raises(LeadershipLost) as lost:
        await task

    assert isinstance(lost.value.__cause__, ZeroDivisionError)


async def test_a_conflict_means_not_leader(api):
    hold(api, "")
    api.fail_on("patch leases/*", errors.Conflict("modified"), times=3)

    async with leading(Replica(api, "one")) as one:
        await advance(SETTINGS.retry)
        early = one.is_acting
        await advance(SETTINGS.retry * 4)

        assert (early, one.is_acting) == (False, True)


async def test_who_is_second_to_create_the_lease_is_not_leader(api):
    api.fail_on("create leases/*", errors.AlreadyExists("taken"), times=1)

    async with leading(Replica(api, "one")) as one:
        assert not one.is_acting


async def test_a_leader_that_stops_lets_the_next_one_start_soon(api):
    async with leading(Replica(api, "two")) as two:
        two.cable.is_cut = True
        async with leading(Replica(api, "one")):
            await advance(SETTINGS.duration * 2)
        released = lease(api).spec.holder_identity
        two.cable.is_cut = False
        await advance(SETTINGS.retry * 1.2)

        assert released == ""
        assert two.is_acting


async def test_a_lease_that_is_another_s_now_is_not_released(api):
    async with leading(Replica(api, "one")):
        api.change(Lease, SETTINGS.name, SETTINGS.namespace, spec={"holderIdentity": "two"})

    assert lease(api).spec.holder_identity == "two"


async def test_a_leader_whose_work_is_done_returns_and_releases(api):
    async def work():
        await asyncio.sleep(30)

    await LeaderElection(Client(api), "one", SETTINGS).lead(work)

    assert clock.monotonic() == 30
    assert lease(api).spec.holder_identity == ""


async def test_a_failure_of_the_work_is_raised_after_the_release(api):
    async def work():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await LeaderElection(Client(api), "one", SETTINGS).lead(work)

    assert lease(api).spec.holder_identity == ""


async def test_the_lease_is_given_back_only_when_the_work_has_really_ended(api):
    holders = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(3)
            holders.append(lease(api).spec.holder_identity)

    async with running(LeaderElection(Client(api), "one", SETTINGS).lead(work)):
        await advance(10)

    assert holders == ["one"]
    assert lease(api).spec.holder_identity == ""


async def test_the_lease_is_known_by_its_label_also_where_an_earlier_version_made_it(api):
    api.add(Lease.manifest(SETTINGS.name, SETTINGS.namespace, spec={}))

    async with running(LeaderElection(Client(api), "one", SETTINGS).lead(asyncio.Event().wait)):
        await settle()

        assert is_ours(lease(api))


async def test_nothing_is_left_behind(api):
    before = asyncio.all_tasks()

    async with leading(Replica(api, "one")), leading(Replica(api, "two")):
        await advance(60)

    assert asyncio.all_tasks() == before


async def test_a_part_of_a_second_is_rounded_up_so_that_nobody_takes_over_early(api):
    short = LeaseSettings(duration=1.5, renew_deadline=1.0, retry=0.2)

    async with running(LeaderElection(Client(api), "one", short).lead(asyncio.Event().wait)):
        await settle()

        assert lease(api).spec.lease_duration_seconds == 2


TROUBLES = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["cut", "heal", "slow there", "slow back"]),
        st.floats(0.1, 12),
        st.floats(0.1, 25),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(troubles=TROUBLES, seed=st.integers(0, 1000))
def test_two_replicas_never_act_at_once_whatever_happens_to_their_cables(troubles, seed):
    async def world():
        api = ArrangedApi(EmbeddedServer())
        api.namespace(SETTINGS.namespace)
        pair = [Replica(api, "one"), Replica(api, "two")]
        async with leading(pair[0]), leading(pair[1]):
            for number, trouble, seconds, pause in troubles:
                cable = pair[number].cable
                cable.is_cut = trouble == "cut"
                cable.seconds_there = seconds if trouble == "slow there" else 0.0
                cable.seconds_back = seconds if trouble == "slow back" else 0.0
                await advance(pause)
            for replica in pair:
                replica.cable.is_cut, replica.cable.seconds_there, replica.cable.seconds_back = False, 0.0, 0.0
            await advance(60)
            somebody_acts = pair[0].is_acting or pair[1].is_acting
        return pair, somebody_acts

    pair, somebody_acts = run(world(), seed=seed)

    acted = sorted(pair[0].acted + pair[1].acted)
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(acted))
    assert somebody_acts
