"""The agent's half on a hub and a worker that live in virtual time."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret, ServiceAccount, secret
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, MANAGED_LABEL, ManagedServiceAccount

from .conftest import CLUSTER, NAME, account_manifest

REPORTED = [("SecretCreated", "True", "SecretCreated", ""), ("TokenReported", "True", "TokenReported", "")]
pytestmark = pytest.mark.fleet(scenario="api")


async def user_of(env, token):
    """Return as whom the worker knows the holder of a token."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await env.as_holder(token).post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    return answer["status"]["userInfo"]["username"]


async def test_token_that_the_worker_knows_comes_to_the_hub(env):
    env.hub.add(account_manifest())

    async with env.agent():
        account = env.account()
        assert env.said() == REPORTED
        assert account.status.expiration_timestamp == clock.now() + timedelta(hours=1)
        assert account.status.token_secret_ref.name == NAME
        assert account.status.token_secret_ref.last_refresh_timestamp == clock.now()
        assert await user_of(env, env.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"
        assert env.hub.get(Secret, NAME, CLUSTER).text("ca.crt") == env.ca
        assert env.worker_account().metadata.labels == {MANAGED_LABEL: "true"}


async def test_quiet_agent_writes_nothing_and_asks_for_one_token(env):
    env.hub.add(account_manifest())

    async with env.agent():
        asked = [each for each in env.worker.requests if each.endswith("/token")]
        env.clear()
        await env.fleet.advance("40m")

        assert len(asked) == 1
        assert env.writes() == []


async def test_token_is_replaced_after_four_fifths_of_its_life(env):
    env.hub.add(account_manifest())

    async with env.agent():
        first = env.token()
        await env.fleet.advance(48 * 60 + 4)
        assert env.token() == first
        await env.fleet.advance(2)

        account = env.account()
        assert env.token() != first
        assert account.status.expiration_timestamp.replace(microsecond=0) == clock.now().replace(
            microsecond=0
        ) + timedelta(seconds=3600 - 1)
        assert env.said() == REPORTED
        assert await user_of(env, env.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"


async def test_restarted_agent_keeps_the_token_and_still_replaces_it_in_time(env):
    env.hub.add(account_manifest())
    async with env.agent():
        first = env.token()
    await env.fleet.advance("30m")
    env.clear()

    async with env.agent():
        assert env.writes() == []
        await env.fleet.advance("19m")

        assert env.token() != first


@pytest.mark.parametrize("how", ["deleted", "emptied", "edited"])
async def test_secret_that_somebody_spoiled_is_made_anew(env, how):
    env.hub.add(account_manifest())

    async with env.agent():
        first = env.token()
        if how == "deleted":
            env.hub.remove(Secret, NAME, CLUSTER)
        else:
            data = {"token": None} if how == "emptied" else secret("x", "", {"token": "nonsense"})["data"]
            env.hub.change(Secret, NAME, CLUSTER, data=data)
        await env.fleet.settle()

        assert env.token() not in (first, "nonsense", None)
        assert env.said() == REPORTED


async def test_account_that_is_deleted_on_the_worker_comes_back_with_another_token(env):
    env.hub.add(account_manifest())

    async with env.agent():
        first, uid = env.token(), env.worker_account().uid
        env.worker.remove(ServiceAccount, NAME, AGENT_NAMESPACE)
        await env.fleet.advance(11)  # a server goes on taking the tokens of a deleted account for a moment
        env.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"annotations": {"look": "again"}})
        await env.fleet.settle()

        assert env.worker_account().uid != uid
        assert env.token() != first
        assert await user_of(env, env.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"


async def test_account_on_the_worker_goes_with_the_managed_one(env):
    env.hub.add(account_manifest())

    async with env.agent():
        env.hub.remove(ManagedServiceAccount, NAME, CLUSTER)
        await env.fleet.settle()

        assert env.worker_account() is None


async def test_account_that_was_deleted_while_the_agent_was_away_is_found(env):
    env.hub.add(account_manifest())
    async with env.agent():
        pass
    env.hub.remove(ManagedServiceAccount, NAME, CLUSTER)

    async with env.agent():
        assert env.worker_account() is None


async def test_account_of_somebody_else_on_the_worker_stays(env):
    env.worker.add(ServiceAccount.manifest(NAME, AGENT_NAMESPACE))
    env.hub.add(account_manifest())

    async with env.agent():
        assert env.said() == REPORTED
        env.hub.remove(ManagedServiceAccount, NAME, CLUSTER)
        await env.fleet.settle()

        assert env.worker_account() is not None


async def test_accounts_of_another_cluster_are_left_alone(env):
    other = account_manifest()
    env.hub.add({**other, "metadata": {**other["metadata"], "namespace": "cluster2"}})

    async with env.agent():
        assert env.writes() == []


async def test_worker_that_cannot_be_asked_is_told_of_and_the_token_stays(env):
    env.hub.add(account_manifest())

    async with env.agent():
        first = env.token()
        env.worker.cut()
        env.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"annotations": {"look": "again"}})
        await env.fleet.advance(1)

        created, (kind, status, reason, message) = env.said()
        assert created == REPORTED[0]
        assert (kind, status, reason) == ("TokenReported", "False", "TokenReportFailed")
        assert message.startswith("failed to make a decision on token creation: ")
        assert env.token() == first

        env.worker.heal()
        await env.fleet.advance(120)
        assert env.said() == REPORTED
        assert env.token() == first


async def test_worker_that_was_cut_over_the_renewal_gets_its_token_when_it_is_back(env):
    env.hub.add(account_manifest())

    async with env.agent():
        first = env.token()
        env.worker.cut()
        await env.fleet.advance("2h")
        assert env.token() == first
        env.worker.heal()
        await env.fleet.advance("2m")

        assert env.token() != first
        assert env.said() == REPORTED


@pytest.mark.parametrize(
    ("validity", "message"),
    [
        pytest.param("1m", "may not specify a duration less than 10 minutes", id="too short for the worker"),
        pytest.param("a day", 'time: invalid duration "a day"', id="no duration"),
    ],
)
async def test_validity_that_cannot_be_is_told_of(env, validity, message):
    env.hub.add(account_manifest(validity=validity))

    async with env.agent():
        [(kind, status, reason, said)] = env.said()
        assert (kind, status, reason) == ("TokenReported", "False", "TokenReportFailed")
        assert said.startswith("failed to request token for service-account: ")
        assert message in said

        env.hub.change(ManagedServiceAccount, NAME, CLUSTER, spec={"rotation": {"validity": "1h"}})
        await env.fleet.settle()
        assert sorted(env.said()) == REPORTED


@pytest.mark.parametrize("arrives", [True, False], ids=["and only its answer", "and nothing of it arrives"])
@pytest.mark.parametrize(
    "write",
    [
        f"create serviceaccounts/{AGENT_NAMESPACE}/{NAME}",
        f"create serviceaccounts/{AGENT_NAMESPACE}/{NAME}/token",
        f"create secrets/{CLUSTER}/{NAME}",
        f"patch managedserviceaccounts/{CLUSTER}/{NAME}/status",
    ],
)
async def test_write_that_is_lost_is_made_good(env, write, arrives):
    for cluster in (env.hub, env.worker):
        cluster.fail_on(write, errors.Unreachable("lost"), times=1, applied=arrives)
    env.hub.add(account_manifest())

    async with env.agent():
        await env.fleet.advance(5)

        assert sorted(env.said()) == REPORTED
        assert await user_of(env, env.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"
        env.clear()
        await env.fleet.advance("40m")
        assert env.writes() == []


async def test_lease_says_that_the_agent_is_alive_while_it_is(env):
    async with env.agent():
        first = env.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec
        await env.fleet.advance(300)
        renewed = env.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec.renew_time
    stopped = clock.now()
    await env.fleet.advance(300)

    assert first.lease_duration_seconds == 60
    assert timedelta() <= stopped - renewed <= timedelta(seconds=75)
    assert env.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec.renew_time == renewed
    assert [each for each in env.worker.writes if each.startswith("patch leases/")]
