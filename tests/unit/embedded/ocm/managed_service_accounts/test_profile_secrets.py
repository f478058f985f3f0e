"""Tokens stand beside the ClusterProfiles of their cluster, for those who may read no other secrets."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret, secret
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import (
    MANAGED_LABEL,
    SYNC_LABEL,
    SYNCED_FROM_LABEL,
    ManagedServiceAccount,
)

from .conftest import CLUSTER, NAME, account_manifest, profile_manifest

COPY = f"{CLUSTER}-{NAME}"
pytestmark = pytest.mark.fleet(workers=1, scenario="api")


def report(env, token="token-1", name=NAME):
    """Do what the agent does."""
    manifest = secret(name, CLUSTER, {"token": token, "ca.crt": "CA"}, labels={MANAGED_LABEL: "true"})
    if env.hub.get(Secret, name, CLUSTER) is None:
        env.hub.add(manifest)
    else:
        env.hub.change(Secret, name, CLUSTER, data=manifest["data"])
    reference = {"name": name, "lastRefreshTimestamp": "2026-01-01T00:00:00Z"}
    env.hub.change(ManagedServiceAccount, name, CLUSTER, status={"tokenSecretRef": reference})


def copied(env, namespace="kueue-system", name=COPY):
    found = env.hub.get(Secret, name, namespace)
    return found.text("token") if found else None


@pytest.fixture
def asking(env):
    """An account that asks for a copy, and a profile of its cluster."""
    env.hub.add(account_manifest(labels={SYNC_LABEL: "true"}), profile_manifest())
    return env


async def test_copy_has_all_entries_says_where_it_is_from_and_belongs_to_the_profile(asking):
    report(asking)

    async with asking.hub_half():
        copy = asking.hub.raw(Secret, COPY, "kueue-system")
        profile = asking.hub.get(ClusterProfile, CLUSTER, "kueue-system")
        assert copy["data"] == asking.hub.raw(Secret, NAME, CLUSTER)["data"]
        assert copy["metadata"]["labels"] == {SYNCED_FROM_LABEL: COPY}
        assert copy["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "multicluster.x-k8s.io/v1alpha1",
                "kind": "ClusterProfile",
                "name": CLUSTER,
                "uid": profile.uid,
                "controller": True,
            }
        ]


async def test_second_look_writes_nothing(asking):
    report(asking)

    async with asking.hub_half():
        asking.clear()
        asking.hub.change(ClusterProfile, CLUSTER, "kueue-system", metadata={"annotations": {"look": "again"}})
        await asking.fleet.advance(60)

        assert asking.hub.writes == []


async def test_copies_follow_the_token_in_every_namespace(asking):
    asking.hub.add(profile_manifest("team-a"))

    async with asking.hub_half():
        assert copied(asking) is None
        report(asking)
        await asking.fleet.settle()
        assert [copied(asking), copied(asking, "team-a")] == ["token-1", "token-1"]
        report(asking, "token-2")
        await asking.fleet.settle()

        assert [copied(asking), copied(asking, "team-a")] == ["token-2", "token-2"]


async def test_account_that_does_not_ask_is_not_copied(asking):
    asking.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"labels": {SYNC_LABEL: "false"}})
    report(asking)

    async with asking.hub_half():
        assert copied(asking) is None


@pytest.mark.parametrize("labels", [{}, {OCM_CLUSTER_LABEL: CLUSTER}, {MANAGER_LABEL: OCM_MANAGER}])
async def test_profiles_that_ocm_does_not_keep_get_no_copies(asking, labels):
    asking.hub.add(profile_manifest("team-a", labels=labels))
    report(asking)

    async with asking.hub_half():
        assert copied(asking, "team-a") is None


@pytest.mark.parametrize("how", ["the account is deleted", "the account no longer asks"])
async def test_copy_goes_when(asking, how):
    report(asking)

    async with asking.hub_half():
        if how == "the account is deleted":
            asking.hub.remove(ManagedServiceAccount, NAME, CLUSTER)
        else:
            asking.hub.change(ManagedServiceAccount, NAME, CLUSTER, metadata={"labels": {SYNC_LABEL: None}})
        await asking.fleet.settle()

        assert copied(asking) is None


async def test_secret_of_somebody_else_with_our_label_stays(asking):
    asking.hub.add(secret("theirs", "kueue-system", {"token": "x"}, labels={SYNCED_FROM_LABEL: "other"}))

    async with asking.hub_half():
        assert copied(asking, name="theirs") == "x"


@pytest.mark.parametrize("how", ["edited", "deleted", "relabelled"])
async def test_spoiled_copy_is_made_anew(asking, how):
    report(asking)

    async with asking.hub_half():
        if how == "deleted":
            asking.hub.remove(Secret, COPY, "kueue-system")
        elif how == "relabelled":
            asking.hub.change(Secret, COPY, "kueue-system", metadata={"labels": {SYNCED_FROM_LABEL: None}})
        else:
            asking.hub.change(Secret, COPY, "kueue-system", data={"token": "bm8=", "more": "bm8="})
        await asking.fleet.settle()

        assert copied(asking) == "token-1"
        assert asking.hub.get(Secret, COPY, "kueue-system").metadata.labels == {SYNCED_FROM_LABEL: COPY}
        assert sorted(asking.hub.get(Secret, COPY, "kueue-system").data) == ["ca.crt", "token"]


@pytest.mark.parametrize("arrives", [True, False])
async def test_copy_that_is_lost_on_the_way_is_made_good(asking, arrives):
    asking.hub.fail_on(f"create secrets/kueue-system/{COPY}", errors.Unreachable("lost"), times=1, applied=arrives)
    report(asking)

    async with asking.hub_half():
        await asking.fleet.advance(1)

        assert copied(asking) == "token-1"
