"""Accounts whose time is over go, with all that hangs on them."""

import pytest

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount

from .conftest import CLUSTER, NAME, account_manifest


async def test_account_its_secret_and_its_twin_on_the_worker_go_at_their_time(env):
    env.hub.add(account_manifest(ttlSecondsAfterCreation=600))

    async with env.agent(), env.hub_half():
        assert env.token() is not None
        await env.fleet.advance(599)
        assert env.account() is not None
        await env.fleet.advance(62)  # the garbage collector looks for new kinds now and then

        assert env.account() is None
        assert env.worker_account() is None
        assert env.hub.get(Secret, NAME, CLUSTER) is None


@pytest.mark.fleet(scenario="api")
async def test_account_without_an_end_stays(env):
    env.hub.add(account_manifest())

    async with env.hub_half():
        await env.fleet.advance("24h")

        assert env.account() is not None
        assert env.hub.writes == []


@pytest.mark.fleet(scenario="api")
async def test_end_that_is_moved_counts_from_the_creation(env):
    env.hub.add(account_manifest(ttlSecondsAfterCreation=600))

    async with env.hub_half():
        await env.fleet.advance(300)
        env.hub.change(ManagedServiceAccount, NAME, CLUSTER, spec={"ttlSecondsAfterCreation": 1200})
        await env.fleet.advance(890)
        assert env.account() is not None
        await env.fleet.advance(11)

        assert env.account() is None


@pytest.mark.fleet(scenario="api")
async def test_account_whose_time_was_over_before_the_start_goes_at_once(env):
    env.hub.add(account_manifest(ttlSecondsAfterCreation=10))
    await env.fleet.advance(60)

    async with env.hub_half():
        assert env.account() is None


@pytest.mark.fleet(scenario="api")
async def test_nothing_ends_where_the_feature_is_off(env):
    env.hub.add(account_manifest(ttlSecondsAfterCreation=10))

    async with env.hub_half(ephemeral_identity=False):
        await env.fleet.advance(60)

        assert env.account() is not None
