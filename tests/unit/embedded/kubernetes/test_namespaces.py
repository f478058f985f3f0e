"""Namespaces end with all that is in them, and say what keeps them."""

import pytest

from fleetqueue.api.core_v1 import ConfigMap, Namespace, Pod, Secret
from fleetqueue.embedded.kubernetes.namespaces import NamespaceController, RemainingContent, wanted_conditions
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

HOLD = "test/hold"
"""Keeps the namespace itself, so that one can look at it after it was finalized."""


@pytest.fixture
def team(scene):
    """A namespace with the finalizer that the API server gives to every one."""

    async def team(*, hold=False):
        await scene.add(Namespace, "team", spec={"finalizers": ["kubernetes"]}, finalizers=[HOLD] if hold else [])

    return team


async def delete(scene):
    await scene.delete(Namespace, "team")
    await settle()


async def said(scene):
    conditions = (await scene.get(Namespace, "team"))["status"]["conditions"]
    return {c["type"]: (c["status"], c["message"]) for c in conditions}


async def test_a_deleted_namespace_loses_its_content_and_is_finalized(scene, team):
    await team(hold=True)
    await scene.add(ConfigMap, "config", "team", data={"a": "1"})
    await scene.add(Secret, "secret", "team")
    await scene.add(ConfigMap, "other", "default")

    async with scene.running(NamespaceController):
        await delete(scene)

        namespace = await scene.get(Namespace, "team")
        assert namespace["status"]["phase"] == "Terminating"
        assert not namespace.get("spec", {}).get("finalizers")
        assert await scene.names(ConfigMap, "team") == []
        assert await scene.names(Secret, "team") == []
        assert await scene.names(ConfigMap, "default") == ["other"]
        assert {status for status, _ in (await said(scene)).values()} == {"False"}


async def test_nothing_is_left_of_it(scene):
    await scene.add(Namespace, "team")
    await scene.add(ConfigMap, "config", "team")

    async with scene.running(NamespaceController):
        await delete(scene)

        assert await scene.get(Namespace, "team") is None


async def test_a_namespace_that_stays_is_left_alone(scene, team):
    await team()

    async with scene.running(NamespaceController):
        assert scene.writes == []


async def test_content_with_a_finalizer_is_named_and_waited_for(scene, team):
    await team(hold=True)
    await scene.add(ConfigMap, "kept", "team", finalizers=["test/keep"])

    async with scene.running(NamespaceController):
        await delete(scene)
        conditions = await said(scene)
        assert conditions["NamespaceContentRemaining"] == (
            "True",
            "Some resources are remaining: configmaps. has 1 resource instances",
        )
        assert conditions["NamespaceFinalizersRemaining"] == (
            "True",
            "Some content in the namespace has finalizers remaining: test/keep in 1 resource instances",
        )
        await scene.change(ConfigMap, "kept", "team", metadata={"finalizers": None})
        await advance(2)

        assert (await said(scene))["NamespaceContentRemaining"] == ("False", "All content successfully removed")
        assert not (await scene.get(Namespace, "team")).get("spec", {}).get("finalizers")


async def test_pods_go_before_everything_else(scene, team):
    await team(hold=True)
    pod = {"containers": [{"name": "main", "image": "busybox"}], "nodeName": "node"}
    await scene.add(Pod, "web", "team", spec=pod)
    await scene.add(ConfigMap, "config", "team")

    async with scene.running(NamespaceController):
        await delete(scene)
        assert await scene.names(ConfigMap, "team") == ["config"]
        await scene.client.door.server.answer(
            "DELETE",
            "/api/v1/namespaces/team/pods/web",
            {"gracePeriodSeconds": "0"},
            credentials=scene.client.door.credentials,
        )
        await advance(2)

        assert await scene.names(ConfigMap, "team") == []


async def test_a_waiting_namespace_says_what_it_said(scene, team):
    await team(hold=True)
    await scene.add(ConfigMap, "kept", "team", finalizers=["test/keep"])

    async with scene.running(NamespaceController):
        await delete(scene)
        scene.writes.clear()
        await advance(1.5)

        assert not [line for line in scene.writes if "/status" in line or "/finalize" in line]


async def test_a_deletion_that_fails_is_said_and_tried_again(scene, team):
    await team(hold=True)
    await scene.add(ConfigMap, "config", "team")

    async with scene.running(NamespaceController):
        scene.refuse("DELETE /api/v1/namespaces/team/configmaps")
        await delete(scene)
        assert (await said(scene))["NamespaceDeletionContentFailure"] == (
            "True",
            "Failed to delete all resource types, 1 remaining: configmaps: exceeded quota",
        )
        assert (await scene.get(Namespace, "team"))["spec"]["finalizers"] == ["kubernetes"]
        scene.refuse("")
        await advance(5)

        assert not (await scene.get(Namespace, "team")).get("spec", {}).get("finalizers")


async def test_a_finalize_that_fails_is_tried_again(scene, team):
    await team(hold=True)

    async with scene.running(NamespaceController):
        scene.fail_once("/finalize")
        await delete(scene)
        await advance(1)

        assert not (await scene.get(Namespace, "team")).get("spec", {}).get("finalizers")


def test_all_is_said_to_be_well_where_nothing_is_left():
    found = wanted_conditions(RemainingContent())

    assert [(c.status, c.reason) for c in found] == [
        ("False", "ResourcesDiscovered"),
        ("False", "ParsedGroupVersions"),
        ("False", "ContentDeleted"),
        ("False", "ContentRemoved"),
        ("False", "ContentHasNoFinalizers"),
    ]
