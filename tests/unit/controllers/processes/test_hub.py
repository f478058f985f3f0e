"""The process on the hub: it waits for what it needs, works, and stands by."""

import asyncio
import gc

import pytest

from fleetqueue.admin.hub_state import silence_of
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.processes.hub import LOOK_AGAIN, HubProcess
from fleetqueue.controllers.processes.process import end
from fleetqueue.controllers.processes.settings import HubSettings, LeaderElectionSettings
from fleetqueue.runtime.leader_election import LeadershipLost
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import advance, running, settle
from tests.unit.unserved_kinds import lack

ALONE = HubSettings(leader_election=LeaderElectionSettings(enabled=False))


def process(api: ArrangedApi, settings: HubSettings = ALONE) -> HubProcess:
    return HubProcess(Connection("https://hub"), settings, dial=lambda connection: Client(api))


def lease(api: ArrangedApi) -> Lease:
    return api.get(Lease, "fleetqueue-controller", "fleetqueue-system")


async def test_it_works_once_the_caches_are_filled(installed):
    hub = process(installed)

    async with running(hub.serve()):
        await settle()

        assert hub.why_not_ready() == ""
        assert hub.metrics.registry.get_sample_value("fleetqueue_leading") == 1


async def test_it_serves_checks_with_all_its_parts(installed):
    check = {"controllerName": "open-cluster-management.io/placement"}
    installed.add(kueue.AdmissionCheck.manifest("placement-demo2", spec=check))

    async with running(process(installed).serve()):
        await advance(1)

    condition = installed.get(kueue.AdmissionCheck, "placement-demo2").status.conditions[0]
    assert (condition.type, condition.reason) == ("Active", "InvalidParameters")


async def test_a_hub_without_kueue_is_looked_at_again(api):
    lack(api, kueue.Workload)
    hub = process(api)

    async with running(hub.serve()):
        await advance(1)
        why_not = hub.why_not_ready()
        api.answers.clear()
        await advance(2 * LOOK_AGAIN)

        assert "install Kueue" in why_not
        assert hub.why_not_ready() == ""


async def test_an_unreachable_hub_is_looked_at_again(installed):
    installed.cut()
    hub = process(installed)

    async with running(hub.serve()):
        await advance(1)
        was_ready = not hub.why_not_ready()
        installed.heal()
        await advance(2 * LOOK_AGAIN)

        assert not was_ready
        assert hub.why_not_ready() == ""


async def test_caches_that_cannot_be_filled_are_named(installed):
    installed.fail_on("watch workloads", errors.Forbidden("workloads is forbidden"))
    hub = process(installed)

    async with running(hub.serve()):
        await advance(1)

        assert "Workload: workloads is forbidden" in hub.why_not_ready()


async def test_a_replica_that_stands_by_is_ready_and_does_nothing(installed):
    leader, follower = process(installed, HubSettings()), process(installed, HubSettings())

    async with running(leader.serve()):
        await settle()
        async with running(follower.serve()):
            await settle()

            assert follower.why_not_ready() == ""
            assert follower.metrics.registry.get_sample_value("fleetqueue_leading") == 0
            assert leader.metrics.registry.get_sample_value("fleetqueue_leading") == 1


async def test_the_next_replica_takes_over_when_the_leader_stops(installed):
    leader, follower = process(installed, HubSettings()), process(installed, HubSettings())

    async with running(leader.serve()):
        await settle()
        following = asyncio.create_task(follower.serve())
        await advance(5)
    await advance(5)

    assert follower.metrics.registry.get_sample_value("fleetqueue_leading") == 1
    await end(following)


async def test_a_lost_lease_ends_the_process(installed):
    hub = process(installed, HubSettings())

    async with running(_steal(installed, after=5)):
        with pytest.raises(LeadershipLost):
            await hub.serve()


async def test_without_election_the_lease_still_shows_that_the_controller_runs(installed):
    async with running(process(installed).serve()):
        await advance(600)
        silence = silence_of(lease(installed))

    assert silence == ""
    assert lease(installed).spec.holder_identity == ""


async def test_without_election_another_holder_of_the_lease_is_left_alone(installed):
    leader, alone = process(installed, HubSettings()), process(installed)

    async with running(leader.serve()):
        await settle()
        holder = lease(installed).spec.holder_identity
        async with running(alone.serve()):
            await advance(600)

            assert lease(installed).spec.holder_identity == holder
            assert [p.metrics.registry.get_sample_value("fleetqueue_leading") for p in (leader, alone)] == [1, 1]


async def test_without_election_a_lease_that_may_not_be_written_stops_nobody(installed):
    installed.fail_on("* leases/*", errors.Forbidden("no"))
    hub = process(installed)

    async with running(hub.serve()):
        await advance(600)

        assert hub.why_not_ready() == ""


async def test_a_new_api_on_the_hub_puts_the_parts_together_anew(installed):
    hub = process(installed)

    async with running(hub.serve()):
        await settle()
        before = hub.metrics
        installed.answers.clear()
        await advance(2 * ALONE.recheck)

        assert hub.metrics is not before
        assert hub.why_not_ready() == ""
        assert "watch managedserviceaccounts" in installed.requests


async def test_an_hour_without_news_asks_little(installed):
    async with running(process(installed).serve()):
        await settle()
        installed.requests.clear()
        await advance(3600)

    asked = [request for request in installed.requests if not request.startswith("watch")]
    assert [write for write in installed.writes if " leases" not in write] == []
    assert len([r for r in asked if r.startswith("get customresourcedefinitions")]) <= 3600 / ALONE.recheck * 1.3


async def _steal(api: ArrangedApi, *, after: float) -> None:
    await advance(after)
    api.change(Lease, "fleetqueue-controller", "fleetqueue-system", spec={"holderIdentity": "thief"})


@pytest.mark.parametrize("is_own", [True, False], ids=["of its own", "of a lab"])
async def test_garbage_collection_leaves_filled_caches_alone_in_a_process(installed, is_own):
    hub = process(installed)
    hub._has_process = is_own
    before = gc.get_freeze_count()

    async with running(hub.serve()):
        await settle()
        left_alone = gc.get_freeze_count() > before
    after = gc.get_freeze_count()

    assert left_alone is is_own
    assert after == (0 if is_own else before)
