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
pytestmark = pytest.mark.fleet(parts=False)


async def user_of(stage, token):
    """Return as whom the worker knows the holder of a token."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await stage.as_holder(token).post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    return answer["status"]["userInfo"]["username"]


async def test_token_that_the_worker_knows_comes_to_the_hub(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        account = stage.account()
        assert stage.said() == REPORTED
        assert account.status.expiration_timestamp == clock.now() + timedelta(hours=1)
        assert account.status.token_secret_ref.name == NAME
        assert account.status.token_secret_ref.last_refresh_timestamp == clock.now()
        assert await user_of(stage, stage.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"
        assert stage.hub.get(Secret, NAME, CLUSTER).text("ca.crt") == stage.ca
        assert stage.worker_account().metadata.labels == {MANAGED_LABEL: "true"}


async def test_quiet_agent_writes_nothing_and_asks_for_one_token(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        asked = [each for each in stage.worker.requests if each.endswith("/token")]
        stage.clear()
        await stage.fleet.advance("40m")

        assert len(asked) == 1
        assert stage.writes() == []


async def test_token_is_replaced_after_four_fifths_of_its_life(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        first = stage.token()
        await stage.fleet.advance(48 * 60 + 4)
        assert stage.token() == first
        await stage.fleet.advance(2)

        account = stage.account()
        assert stage.token() != first
        assert account.status.expiration_timestamp.replace(microsecond=0) == clock.now().replace(
            microsecond=0
        ) + timedelta(seconds=3600 - 1)
        assert stage.said() == REPORTED
        assert await user_of(stage, stage.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"


async def test_restarted_agent_keeps_the_token_and_still_replaces_it_in_time(stage):
    stage.hub.add(account_manifest())
    async with stage.agent():
        first = stage.token()
    await stage.fleet.advance("30m")
    stage.clear()

    async with stage.agent():
        assert stage.writes() == []
        await stage.fleet.advance("19m")

        assert stage.token() != first


@pytest.mark.parametrize("how", ["deleted", "emptied", "edited"])
async def test_secret_that_somebody_spoiled_is_made_anew(stage, how):
    stage.hub.add(account_manifest())

    async with stage.agent():
        first = stage.token()
        if how == "deleted":
            stage.hub.remove(Secret, NAME, CLUSTER)
        else:
            data = {"token": None} if how == "emptied" else secret("x", "", {"token": "nonsense"})["data"]
            stage.hub.change(Secret, NAME, CLUSTER, data=data)
        await stage.fleet.settle()

        assert stage.token() not in (first, "nonsense", None)
        assert stage.said() == REPORTED


async def test_account_that_is_deleted_on_the_worker_comes_back_with_another_token(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        first, uid = stage.token(), stage.worker_account().uid
        stage.worker.remove(ServiceAccount, NAME, AGENT_NAMESPACE)
        await stage.fleet.advance(11)  # a server goes on taking the tokens of a deleted account for a moment
        stage.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"annotations": {"look": "again"}})
        await stage.fleet.settle()

        assert stage.worker_account().uid != uid
        assert stage.token() != first
        assert await user_of(stage, stage.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"


async def test_account_on_the_worker_goes_with_the_managed_one(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        stage.hub.remove(ManagedServiceAccount, NAME, CLUSTER)
        await stage.fleet.settle()

        assert stage.worker_account() is None


async def test_account_that_was_deleted_while_the_agent_was_away_is_found(stage):
    stage.hub.add(account_manifest())
    async with stage.agent():
        pass
    stage.hub.remove(ManagedServiceAccount, NAME, CLUSTER)

    async with stage.agent():
        assert stage.worker_account() is None


async def test_account_of_somebody_else_on_the_worker_stays(stage):
    stage.worker.add(ServiceAccount.manifest(NAME, AGENT_NAMESPACE))
    stage.hub.add(account_manifest())

    async with stage.agent():
        assert stage.said() == REPORTED
        stage.hub.remove(ManagedServiceAccount, NAME, CLUSTER)
        await stage.fleet.settle()

        assert stage.worker_account() is not None


async def test_accounts_of_another_cluster_are_left_alone(stage):
    other = account_manifest()
    stage.hub.add({**other, "metadata": {**other["metadata"], "namespace": "cluster2"}})

    async with stage.agent():
        assert stage.writes() == []


async def test_worker_that_cannot_be_asked_is_told_of_and_the_token_stays(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        first = stage.token()
        stage.worker.cut()
        stage.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"annotations": {"look": "again"}})
        await stage.fleet.advance(1)

        created, (kind, status, reason, message) = stage.said()
        assert created == REPORTED[0]
        assert (kind, status, reason) == ("TokenReported", "False", "TokenReportFailed")
        assert message.startswith("failed to make a decision on token creation: ")
        assert stage.token() == first

        stage.worker.heal()
        await stage.fleet.advance(120)
        assert stage.said() == REPORTED
        assert stage.token() == first


async def test_worker_that_was_cut_over_the_renewal_gets_its_token_when_it_is_back(stage):
    stage.hub.add(account_manifest())

    async with stage.agent():
        first = stage.token()
        stage.worker.cut()
        await stage.fleet.advance("2h")
        assert stage.token() == first
        stage.worker.heal()
        await stage.fleet.advance("2m")

        assert stage.token() != first
        assert stage.said() == REPORTED


@pytest.mark.parametrize(
    ("validity", "message"),
    [
        pytest.param("1m", "may not specify a duration less than 10 minutes", id="too short for the worker"),
        pytest.param("a day", 'time: invalid duration "a day"', id="no duration"),
    ],
)
async def test_validity_that_cannot_be_is_told_of(stage, validity, message):
    stage.hub.add(account_manifest(validity=validity))

    async with stage.agent():
        [(kind, status, reason, said)] = stage.said()
        assert (kind, status, reason) == ("TokenReported", "False", "TokenReportFailed")
        assert said.startswith("failed to request token for service-account: ")
        assert message in said

        stage.hub.change(ManagedServiceAccount, NAME, CLUSTER, spec={"rotation": {"validity": "1h"}})
        await stage.fleet.settle()
        assert sorted(stage.said()) == REPORTED


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
async def test_write_that_is_lost_is_made_good(stage, write, arrives):
    for cluster in (stage.hub, stage.worker):
        cluster.fail_on(write, errors.Unreachable("lost"), times=1, applied=arrives)
    stage.hub.add(account_manifest())

    async with stage.agent():
        await stage.fleet.advance(5)

        assert sorted(stage.said()) == REPORTED
        assert await user_of(stage, stage.token()) == f"system:serviceaccount:{AGENT_NAMESPACE}:{NAME}"
        stage.clear()
        await stage.fleet.advance("40m")
        assert stage.writes() == []


async def test_lease_says_that_the_agent_is_alive_while_it_is(stage):
    async with stage.agent():
        first = stage.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec
        await stage.fleet.advance(300)
        renewed = stage.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec.renew_time
    stopped = clock.now()
    await stage.fleet.advance(300)

    assert first.lease_duration_seconds == 60
    assert timedelta() <= stopped - renewed <= timedelta(seconds=75)
    assert stage.worker.get(Lease, "managed-serviceaccount", AGENT_NAMESPACE).spec.renew_time == renewed
    assert [each for each in stage.worker.writes if each.startswith("patch leases/")]
