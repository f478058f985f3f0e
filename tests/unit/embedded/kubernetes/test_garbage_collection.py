"""What belongs to an owner goes with it, before it, or stays, over all kinds."""

import pytest

from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Node, Secret
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.kinds.schema import ANY
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController, GarbageDecision, judge
from fleetqueue.embedded.kubernetes.owner_graph import owned_object_class, owner_facts
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

GONE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "uid-of-gone"}


class Widget(Object):
    resource = Resource("example.com", "v1", "Widget", "widgets")


WIDGETS = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
    "versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
    ],
}


@pytest.fixture
def collecting(env):
    return lambda: env.running(GarbageCollectionController)


async def owner(env, **options):
    return await env.add(ConfigMap, "owner", **options)


# Background


async def test_what_a_deleted_owner_leaves_behind_is_deleted(env, collecting, owner_of):
    reference = owner_of(await owner(env))
    await env.add(Secret, "mine", owners=[reference])
    await env.add(Secret, "other")

    async with collecting():
        assert await env.names(Secret) == ["mine", "other"]
        await env.delete(ConfigMap, "owner")
        await settle()

        assert await env.names(Secret) == ["other"]


async def test_it_goes_down_all_generations(env, collecting, owner_of):
    child = await env.add(Secret, "child", owners=[owner_of(await owner(env))])
    await env.add(ConfigMap, "grandchild", owners=[owner_of(child)])

    async with collecting():
        await env.delete(ConfigMap, "owner")
        await settle()

        assert await env.names(Secret) == []
        assert await env.names(ConfigMap, "default") == []


async def test_an_owner_that_was_gone_before_we_began_counts_too(env, collecting):
    await env.add(Secret, "mine", owners=[GONE])

    async with collecting():
        assert await env.names(Secret) == []


async def test_an_owner_made_anew_is_another_one(env, collecting, owner_of):
    reference = owner_of(await owner(env))
    await env.add(Secret, "mine", owners=[reference])
    await env.delete(ConfigMap, "owner")
    await owner(env)

    async with collecting():
        assert await env.names(Secret) == []


async def test_one_of_two_owners_is_enough_and_the_other_is_forgotten(env, collecting, owner_of):
    await env.add(Secret, "mine", owners=[owner_of(await owner(env)), GONE])

    async with collecting():
        secret = await env.get(Secret, "mine")
        assert [one["name"] for one in secret["metadata"]["ownerReferences"]] == ["owner"]


async def test_an_owner_in_another_namespace_is_none(env, collecting, owner_of):
    await env.add(Namespace, "team")
    await env.add(Secret, "mine", "team", owners=[owner_of(await owner(env))])

    async with collecting():
        assert await env.names(Secret) == []


async def test_an_owner_without_namespace_may_own_what_is_in_one(env, collecting, owner_of):
    reference = owner_of(await env.add(Node, "node"))
    await env.add(Secret, "mine", owners=[reference])

    async with collecting():
        assert await env.names(Secret) == ["mine"]
        await env.delete(Node, "node")
        await settle()

        assert await env.names(Secret) == []


async def test_what_has_no_namespace_cannot_have_an_owner_in_one_and_stays(env, collecting, owner_of):
    await env.add(Node, "node", owners=[owner_of(await owner(env), uid="other")])

    async with collecting():
        assert await env.names(Node) == ["node"]


async def test_an_owner_of_a_kind_that_nobody_serves_is_not_taken_for_gone(env, collecting):
    await env.add(Secret, "mine", owners=[{**GONE, "apiVersion": "example.com/v1", "kind": "Widget"}])

    async with collecting():
        await advance(60)

        assert await env.names(Secret) == ["mine"]


# Foreground


async def test_in_the_foreground_the_owner_goes_last(env, collecting, owner_of):
    reference = owner_of(await owner(env), blocking=True)
    await env.add(Secret, "mine", owners=[reference], finalizers=["test/hold"])

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Foreground")
        await settle()
        assert (await env.get(Secret, "mine"))["metadata"]["deletionTimestamp"]
        assert (await env.get(ConfigMap, "owner"))["metadata"]["finalizers"] == ["foregroundDeletion"]

        await env.change(Secret, "mine", metadata={"finalizers": None})
        await settle()

        assert await env.get(ConfigMap, "owner") is None


async def test_who_does_not_block_is_not_waited_for(env, collecting, owner_of):
    await env.add(Secret, "mine", owners=[owner_of(await owner(env))], finalizers=["test/hold"])

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Foreground")
        await settle()

        assert await env.get(ConfigMap, "owner") is None
        assert (await env.get(Secret, "mine"))["metadata"]["deletionTimestamp"]


async def test_in_the_foreground_it_goes_down_all_generations(env, collecting, owner_of):
    child = await env.add(Secret, "child", owners=[owner_of(await owner(env), blocking=True)])
    await env.add(ConfigMap, "grandchild", owners=[owner_of(child, blocking=True)])

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Foreground")
        await settle()

        assert await env.names(Secret) == []
        assert await env.names(ConfigMap, "default") == []


async def test_two_that_own_each_other_both_go(env, collecting, owner_of):
    first = await owner(env)
    second = await env.add(Secret, "second", owners=[owner_of(first, blocking=True)])
    await env.change(ConfigMap, "owner", metadata={"ownerReferences": [owner_of(second, blocking=True)]})

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Foreground")
        await settle()

        assert await env.get(ConfigMap, "owner") is None
        assert await env.get(Secret, "second") is None


async def test_who_has_another_owner_does_not_go_in_the_foreground(env, collecting, owner_of):
    references = [owner_of(await owner(env), blocking=True), owner_of(await env.add(ConfigMap, "second"))]
    await env.add(Secret, "mine", owners=references)

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Foreground")
        await settle()

        assert await env.get(ConfigMap, "owner") is None
        assert [one["name"] for one in (await env.get(Secret, "mine"))["metadata"]["ownerReferences"]] == ["second"]


# Orphans


async def test_orphans_stay_and_forget_their_owner(env, collecting, owner_of):
    await env.add(Secret, "mine", owners=[owner_of(await owner(env))])

    async with collecting():
        await env.delete(ConfigMap, "owner", propagation="Orphan")
        await settle()

        assert await env.get(ConfigMap, "owner") is None
        assert "ownerReferences" not in (await env.get(Secret, "mine"))["metadata"]


async def test_an_owner_stays_while_an_orphan_cannot_be_told(env, collecting, owner_of):
    await env.add(Secret, "mine", owners=[owner_of(await owner(env))])

    async with collecting():
        env.refuse("PATCH /api/v1/namespaces/default/secrets/mine")
        await env.delete(ConfigMap, "owner", propagation="Orphan")
        await settle()
        assert (await env.get(ConfigMap, "owner"))["metadata"]["finalizers"] == ["orphan"]
        env.refuse("")
        await advance(5)

        assert await env.get(ConfigMap, "owner") is None
        assert await env.names(Secret) == ["mine"]


# Kinds


async def define_widgets(env):
    """Serve a new kind; that its definition alone does it is the server's own business."""
    env.server.resources.add(Served(Widget.resource, ANY, list_kind="WidgetList", is_custom=True))
    await env.add(CustomResourceDefinition, "widgets.example.com", spec=WIDGETS)
    await advance(1)


async def test_custom_kinds_own_and_are_owned(env, collecting, owner_of):
    async with collecting():
        await define_widgets(env)
        widget = await env.add(Widget, "widget")
        await env.add(Secret, "mine", owners=[owner_of(widget)])
        await settle()
        assert await env.names(Secret) == ["mine"]
        await env.delete(Widget, "widget")
        await settle()

        assert await env.names(Secret) == []


async def test_an_owner_is_known_by_any_version_in_which_it_is_served(env, collecting, owner_of):
    older = Resource("example.com", "v1alpha1", "Widget", "widgets")
    env.server.resources.add(Served(older, ANY, list_kind="WidgetList", is_custom=True))

    async with collecting():
        await define_widgets(env)
        widget = await env.add(Widget, "widget")
        await env.add(Secret, "mine", owners=[owner_of(widget, apiVersion=older.api_version)])
        await settle()
        assert await env.names(Secret) == ["mine"]
        await env.delete(Widget, "widget")
        await settle()

        assert await env.names(Secret) == []


async def test_the_kind_of_an_owner_may_come_later(env, collecting):
    await env.add(Secret, "mine", owners=[{**GONE, "apiVersion": "example.com/v1", "kind": "Widget"}])

    async with collecting():
        await advance(1)
        assert await env.names(Secret) == ["mine"]
        await define_widgets(env)

        assert await env.names(Secret) == []


# Calm


async def test_when_nothing_is_owned_nobody_is_woken(env, collecting, owner_of):
    async with collecting() as (controller,):
        await settle()
        env.writes.clear()
        worked = env.metrics.reconciles.labels(controller.name, "done")._value.get()
        reference = owner_of(await owner(env))
        await env.add(Secret, "mine", owners=[reference])
        await env.change(Secret, "mine", metadata={"labels": {"a": "b"}})
        await advance(600)

        assert env.writes == []
        assert env.metrics.reconciles.labels(controller.name, "done")._value.get() == worked


async def test_a_deletion_that_fails_is_tried_again(env, collecting, owner_of):
    await env.add(Secret, "mine", owners=[owner_of(await owner(env))])

    async with collecting():
        env.fail_once("DELETE /api/v1/namespaces/default/secrets/mine")
        await env.delete(ConfigMap, "owner")
        await advance(1)

        assert await env.names(Secret) == []


Thing = owned_object_class(Secret.resource)


def thing(name, *, owners=(), finalizers=(), deleting=False):
    references = [{"uid": uid, "name": uid} for uid in owners]
    metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": references}
    metadata["finalizers"] = list(finalizers)
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return Thing.view({"metadata": metadata})


SOLID = thing("solid")
WAITING = thing("waiting", finalizers=["foregroundDeletion"], deleting=True)


@pytest.mark.parametrize(
    ("obj", "owners", "has_dependents", "verdict"),
    [
        pytest.param(thing("a"), {}, False, GarbageDecision(), id="nobody's"),
        pytest.param(thing("a"), {"s": SOLID}, False, GarbageDecision(), id="its owner stands"),
        pytest.param(thing("a"), {"g": None}, False, GarbageDecision("Background"), id="its owner is gone"),
        pytest.param(thing("a"), {"s": SOLID, "g": None}, False, GarbageDecision(drop=frozenset("g")), id="one of two"),
        pytest.param(thing("a"), {"w": WAITING}, False, GarbageDecision("Background"), id="its owner waits for it"),
        pytest.param(
            thing("a"), {"w": WAITING}, True, GarbageDecision("Foreground"), id="and it has dependents itself"
        ),
        pytest.param(
            thing("a"), {"s": SOLID, "w": WAITING}, True, GarbageDecision(drop=frozenset("w")), id="waits in vain"
        ),
        pytest.param(
            thing("a", finalizers=["orphan"]),
            {"g": None},
            False,
            GarbageDecision("Orphan"),
            id="it wants to leave orphans",
        ),
    ],
)
def test_judge(obj, owners, has_dependents, verdict):
    assert judge(obj, owners, has_dependents=has_dependents) == verdict


@pytest.mark.parametrize(
    ("changed", "is_news"),
    [
        pytest.param({"resourceVersion": "2", "labels": {"a": "b"}}, False, id="what garbage is not known by"),
        pytest.param({"ownerReferences": [{"uid": "o", "name": "o"}]}, True, id="another owner"),
        pytest.param({"finalizers": ["orphan"]}, True, id="what it waits for"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="its deletion"),
    ],
)
def test_owner_facts(changed, is_news):
    metadata = {"name": "a", "namespace": "default", "uid": "a", "resourceVersion": "1"}

    before, after = (Thing.kept({"metadata": each}) for each in (metadata, {**metadata, **changed}))

    assert (owner_facts(before) != owner_facts(after)) == is_news
