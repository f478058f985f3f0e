"""Namespaces end with all that is in them, and say what keeps them."""

import pytest

from fleetqueue.api.core_v1 import ConfigMap, Namespace, Pod, Secret
from fleetqueue.embedded.kubernetes.namespaces import NamespaceController, RemainingContent, wanted_conditions
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

HOLD = "test/hold"
"""Keeps the namespace itself, so that one can look at it after it was finalized."""


@pytest.fixture
def team(env):
    """A namespace with the finalizer that the API server gives to every one."""

    async def team(*, hold=False):
        await env.add(Namespace, "team", spec={"finalizers": ["kubernetes"]}, finalizers=[HOLD] if hold else [])

    return team


async def delete(env):
    await env.delete(Namespace, "team")
    await settle()


async def said(env):
    conditions = (await env.get(Namespace, "team"))["status"]["conditions"]
    return {c["type"]: (c["status"], c["message"]) for c in conditions}


async def test_a_deleted_namespace_loses_its_content_and_is_finalized(env, team):
    await team(hold=True)
    await env.add(ConfigMap, "config", "team", data={"a": "1"})
    await env.add(Secret, "secret", "team")
    await env.add(ConfigMap, "other", "default")

    async with env.running(NamespaceController):
        await delete(env)

        namespace = await env.get(Namespace, "team")
        assert namespace["status"]["phase"] == "Terminating"
        assert not namespace.get("spec", {}).get("finalizers")
        assert await env.names(ConfigMap, "team") == []
        assert await env.names(Secret, "team") == []
        assert await env.names(ConfigMap, "default") == ["other"]
        assert {status for status, _ in (await said(env)).values()} == {"False"}


async def test_nothing_is_left_of_it(env):
    await env.add(Namespace, "team")
    await env.add(ConfigMap, "config", "team")

    async with env.running(NamespaceController):
        await delete(env)

        assert await env.get(Namespace, "team") is None


async def test_a_namespace_that_stays_is_left_alone(env, team):
    await team()

    async with env.running(NamespaceController):
        assert env.writes == []


async def test_content_with_a_finalizer_is_named_and_waited_for(env, team):
    await team(hold=True)
    await env.add(ConfigMap, "kept", "team", finalizers=["test/keep"])

    async with env.running(NamespaceController):
        await delete(env)
        conditions = await said(env)
        assert conditions["NamespaceContentRemaining"] == (
            "True",
            "Some resources are remaining: configmaps. has 1 resource instances",
        )
        assert conditions["NamespaceFinalizersRemaining"] == (
            "True",
            "Some content in the namespace has finalizers remaining: test/keep in 1 resource instances",
        )
        await env.change(ConfigMap, "kept", "team", metadata={"finalizers": None})
        await advance(2)

        assert (await said(env))["NamespaceContentRemaining"] == ("False", "All content successfully removed")
        assert not (await env.get(Namespace, "team")).get("spec", {}).get("finalizers")


async def test_pods_go_before_everything_else(env, team):
    await team(hold=True)
    pod = {"containers": [{"name": "main", "image": "busybox"}], "nodeName": "node"}
    await env.add(Pod, "web", "team", spec=pod)
    await env.add(ConfigMap, "config", "team")

    async with env.running(NamespaceController):
        await delete(env)
        assert await env.names(ConfigMap, "team") == ["config"]
        await env.client.door.server.answer(
            "DELETE",
            "/api/v1/namespaces/team/pods/web",
            {"gracePeriodSeconds": "0"},
            credentials=env.client.door.credentials,
        )
        await advance(2)

        assert await env.names(ConfigMap, "team") == []


async def test_a_waiting_namespace_says_what_it_said(env, team):
    await team(hold=True)
    await env.add(ConfigMap, "kept", "team", finalizers=["test/keep"])

    async with env.running(NamespaceController):
        await delete(env)
        env.writes.clear()
        await advance(1.5)

        assert not [line for line in env.writes if "/status" in line or "/finalize" in line]


async def test_a_deletion_that_fails_is_said_and_tried_again(env, team):
    await team(hold=True)
    await env.add(ConfigMap, "config", "team")

    async with env.running(NamespaceController):
        env.refuse("DELETE /api/v1/namespaces/team/configmaps")
        await delete(env)
        assert (await said(env))["NamespaceDeletionContentFailure"] == (
            "True",
            "Failed to delete all resource types, 1 remaining: configmaps: exceeded quota",
        )
        assert (await env.get(Namespace, "team"))["spec"]["finalizers"] == ["kubernetes"]
        env.refuse("")
        await advance(5)

        assert not (await env.get(Namespace, "team")).get("spec", {}).get("finalizers")


async def test_a_finalize_that_fails_is_tried_again(env, team):
    await team(hold=True)

    async with env.running(NamespaceController):
        env.fail_once("/finalize")
        await delete(env)
        await advance(1)

        assert not (await env.get(Namespace, "team")).get("spec", {}).get("finalizers")


def test_all_is_said_to_be_well_where_nothing_is_left():
    found = wanted_conditions(RemainingContent())

    assert [(c.status, c.reason) for c in found] == [
        ("False", "ResourcesDiscovered"),
        ("False", "ParsedGroupVersions"),
        ("False", "ContentDeleted"),
        ("False", "ContentRemoved"),
        ("False", "ContentHasNoFinalizers"),
    ]
