"""Accounts whose time is over go, with all that hangs on them."""

import pytest

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount

from .conftest import CLUSTER, NAME, account_manifest


async def test_account_its_secret_and_its_twin_on_the_worker_go_at_their_time(stage):
    stage.hub.add(account_manifest(ttlSecondsAfterCreation=600))

    async with stage.agent(), stage.hub_half():
        assert stage.token() is not None
        await stage.fleet.advance(599)
        assert stage.account() is not None
        await stage.fleet.advance(62)  # the garbage collector looks for new kinds now and then

        assert stage.account() is None
        assert stage.worker_account() is None
        assert stage.hub.get(Secret, NAME, CLUSTER) is None


@pytest.mark.fleet(parts=False)
async def test_account_without_an_end_stays(stage):
    stage.hub.add(account_manifest())

    async with stage.hub_half():
        await stage.fleet.advance("24h")

        assert stage.account() is not None
        assert stage.hub.writes == []


@pytest.mark.fleet(parts=False)
async def test_end_that_is_moved_counts_from_the_creation(stage):
    stage.hub.add(account_manifest(ttlSecondsAfterCreation=600))

    async with stage.hub_half():
        await stage.fleet.advance(300)
        stage.hub.change(ManagedServiceAccount, NAME, CLUSTER, spec={"ttlSecondsAfterCreation": 1200})
        await stage.fleet.advance(890)
        assert stage.account() is not None
        await stage.fleet.advance(11)

        assert stage.account() is None


@pytest.mark.fleet(parts=False)
async def test_account_whose_time_was_over_before_the_start_goes_at_once(stage):
    stage.hub.add(account_manifest(ttlSecondsAfterCreation=10))
    await stage.fleet.advance(60)

    async with stage.hub_half():
        assert stage.account() is None


@pytest.mark.fleet(parts=False)
async def test_nothing_ends_where_the_feature_is_off(stage):
    stage.hub.add(account_manifest(ttlSecondsAfterCreation=10))

    async with stage.hub_half(ephemeral_identity=False):
        await stage.fleet.advance(60)

        assert stage.account() is not None
