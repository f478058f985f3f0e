"""Cached reads and careful writes: nothing is written twice, and nothing that belongs to others is touched."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Node
from fleetqueue.api.fleetqueue import RELEASED
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import MANAGED_BY, OURS, Cluster, is_ours, is_released
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running, settle

FINALIZER = "fleetqueue.dev/cleanup"


def config(*clusters, name="gpu", **more):
    return kueue.MultiKueueConfig.manifest(name, spec={"clusters": list(clusters)}, **more)


def ours(*clusters, **more):
    return config(*clusters, labels=dict(OURS), **more)


async def ensured(hub, manifest, kind=kueue.MultiKueueConfig):
    await settle()
    written = await hub.ensure(kind, manifest)
    await settle()
    return written


# Reading


async def test_what_is_cached_is_found(api, followed):
    api.add(ConfigMap.manifest("b", "ns"), ConfigMap.manifest("a", "ns"), ConfigMap.manifest("a", "other"))
    await settle()

    assert followed.get(ConfigMap, "a", "ns").key == "ns/a"
    assert followed.get(ConfigMap, "c", "ns") is None
    assert [obj.key for obj in followed.list(ConfigMap)] == ["ns/a", "ns/b", "other/a"]
    assert [obj.key for obj in followed.list(ConfigMap, "ns")] == ["ns/a", "ns/b"]


async def test_what_is_cached_is_found_by_index(api, followed):
    followed.informer(ConfigMap).store.add_index("namespace", lambda obj: [obj.namespace])
    api.add(ConfigMap.manifest("a", "x"), ConfigMap.manifest("b", "y"))
    await settle()

    assert [obj.name for obj in followed.by_index(ConfigMap, "namespace", "y")] == ["b"]


def test_a_kind_is_followed_once(hub):
    first = hub.informer(ConfigMap, namespace="ns", labels="a=1")

    assert hub.informer(ConfigMap, namespace="ns", labels="a=1") is first


async def test_a_kind_may_be_followed_in_several_scopes(api, hub):
    api.add(
        ConfigMap.manifest("a", "ns", labels={"a": "1"}), ConfigMap.manifest("b", "ns"), ConfigMap.manifest("c", "x")
    )
    labelled, named = hub.informer(ConfigMap, labels="a=1"), hub.informer(ConfigMap, fields="metadata.name=c")

    async with running(hub.run()):
        await settle()

    assert labelled.store.keys() == {"ns/a"}
    assert named.store.keys() == {"x/c"}


async def test_of_several_scopes_the_whole_namespace_is_read_and_then_the_whole_cluster(api, hub):
    api.add(ConfigMap.manifest("a", "ns"), ConfigMap.manifest("b", "x"))
    for scope in ({"labels": "a=1"}, {"namespace": "ns"}, {}):
        hub.informer(ConfigMap, **scope)

    async with running(hub.run()):
        await settle()

    assert hub.cache(ConfigMap, "ns") is hub.informer(ConfigMap, namespace="ns").store
    assert hub.cache(ConfigMap, "x") is hub.informer(ConfigMap).store
    assert hub.get(ConfigMap, "a", "ns").name == "a"
    assert [obj.key for obj in hub.list(ConfigMap)] == ["ns/a", "x/b"]


def test_caches_with_selectors_are_not_mistaken_for_one_another(hub):
    hub.informer(ConfigMap, labels="a=1")
    hub.informer(ConfigMap, labels="a=2")

    with pytest.raises(LookupError):
        hub.get(ConfigMap, "a", "ns")


async def test_a_new_scope_is_refused_while_informers_run(followed):
    await settle()

    with pytest.raises(ValueError, match="ConfigMap is not followed within"):
        followed.informer(ConfigMap, labels="a=1")


async def test_a_new_scope_may_be_declared_between_two_runs(api, hub):
    api.add(ConfigMap.manifest("a", "ns"))
    hub.informer(Node)
    async with running(hub.run()):
        await settle()

    hub.informer(ConfigMap)
    async with running(hub.run()):
        await settle()

    assert hub.get(ConfigMap, "a", "ns").key == "ns/a"


async def test_an_object_is_found_as_it_came(api, followed):
    api.add(ConfigMap.manifest("a", "ns", data={"k": "v"}))
    await settle()
    seen = followed.get(ConfigMap, "a", "ns")
    api.remove(ConfigMap, "a", "ns")

    assert followed.raw(seen)["data"] == {"k": "v"}
    await settle()
    assert followed.raw(seen) == {}


async def test_problems_are_told_by_kind(api, hub):
    hub.informer(ConfigMap)
    hub.informer(Node)
    api.fail_on("* nodes", errors.Forbidden("nodes is forbidden"))

    async with running(hub.run()):
        await advance(10)
        problems = hub.problems()
        synced = asyncio.create_task(hub.synced())
        await advance(10)
        waited = not synced.done()
        api.heal()
        await synced

    assert problems == {"Node": "nodes is forbidden"}
    assert waited
    assert hub.problems() == {}


async def test_requests_are_counted_by_cluster(api):
    metrics = Metrics()
    cluster = Cluster("worker", Client(api), metrics=metrics)

    with pytest.raises(errors.NotFound):
        await cluster.client.get(Node.resource, "n")

    counted = metrics.registry.get_sample_value(
        "fleetqueue_api_requests_total", {"cluster": "worker", "verb": "GET", "code": "404"}
    )
    assert counted == 1


# Ensuring


async def test_what_is_missing_is_created_as_ours(api, followed):
    assert await ensured(followed, config("a", "b", annotations={"note": "x"}))

    made = api.get(kueue.MultiKueueConfig, "gpu")
    assert made.spec.clusters == ("a", "b")
    assert made.metadata.labels == OURS
    assert api.writes == ["create multikueueconfigs/gpu"]


async def test_own_labels_are_kept_beside_the_mark(api, followed):
    await ensured(followed, config("a", labels={"tier": "x"}))

    assert api.get(kueue.MultiKueueConfig, "gpu").metadata.labels == {"tier": "x", **OURS}


async def test_what_must_be_absent_is_not_sent_when_creating(api, followed):
    manifest = ConfigMap.manifest("c", "ns", annotations={"old": None, "new": "1"}, data={"a": "1", "b": None})

    await ensured(followed, manifest, ConfigMap)

    raw = api.raw(ConfigMap, "c", "ns")
    assert raw["data"] == {"a": "1"}
    assert raw["metadata"]["annotations"] == {"new": "1"}


@pytest.mark.parametrize("lists", ["one request", "two requests"])
@pytest.mark.parametrize(
    ("kind", "manifest"),
    [
        pytest.param(kueue.MultiKueueConfig, config("a", "b"), id="custom"),
        pytest.param(ConfigMap, ConfigMap.manifest("c", "ns", data={"a": "1", "gone": None}), id="built in"),
    ],
)
async def test_what_is_right_already_is_not_written_again(api, hub, lists, kind, manifest):
    api.serves_watch_lists = lists == "one request"
    hub.informer(kind)
    async with running(hub.run()):
        await hub.synced()
        await ensured(hub, manifest, kind)
        api.end_watches(errors.Gone("too old", reason="Expired"))
        api.change(
            kind,
            manifest["metadata"]["name"],
            manifest["metadata"].get("namespace", ""),
            metadata={"labels": {"x": "1"}},
        )
        await advance(5)
        api.writes.clear()

        written = await ensured(hub, manifest, kind)

    assert not written
    assert api.writes == []


async def test_only_what_differs_is_written(api, followed):
    api.add(ours("a", annotations={"theirs": "1", "ours": "old"}))

    assert await ensured(followed, config("b", annotations={"ours": "new"}))

    made = api.get(kueue.MultiKueueConfig, "gpu")
    assert made.spec.clusters == ("b",)
    assert made.metadata.annotations == {"theirs": "1", "ours": "new"}
    assert api.writes == ["patch multikueueconfigs/gpu"]


async def test_a_field_that_must_be_absent_is_removed(api, followed):
    api.add(ours("a", annotations={"old": "1", "theirs": "2"}))

    await ensured(followed, config("a", annotations={"old": None}))

    assert api.get(kueue.MultiKueueConfig, "gpu").metadata.annotations == {"theirs": "2"}


@pytest.mark.parametrize("labels", [None, {MANAGED_BY: "helm"}])
async def test_an_object_of_somebody_else_is_never_touched(api, followed, labels):
    api.add(config("a", labels=labels))

    with pytest.raises(errors.TerminalError, match='MultiKueueConfig "gpu" exists and was not made by fleetqueue'):
        await ensured(followed, config("b"))

    assert api.writes == []


async def test_a_stale_cache_makes_no_wrong_write(api, followed):
    api.add(ours("a"))
    await settle()
    api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["c"]})

    with pytest.raises(errors.Conflict):
        await followed.ensure(kueue.MultiKueueConfig, config("b"))

    assert api.get(kueue.MultiKueueConfig, "gpu").spec.clusters == ("c",)


async def test_an_object_that_was_made_anew_is_not_taken_for_the_old_one(api, followed):
    api.add(ours("a"))
    await settle()
    api.remove(kueue.MultiKueueConfig, "gpu")
    api.add(config("a"))

    with pytest.raises(errors.Conflict):
        await followed.ensure(kueue.MultiKueueConfig, config("b"))

    assert api.writes == []


async def test_a_name_that_was_taken_meanwhile_is_not_overwritten(api, followed):
    api.add(config("a"))

    with pytest.raises(errors.AlreadyExists):
        await followed.ensure(kueue.MultiKueueConfig, config("b"))

    assert api.get(kueue.MultiKueueConfig, "gpu").spec.clusters == ("a",)


# Deleting


async def absent(api, hub, name="gpu"):
    await settle()
    return await hub.ensure_absent(hub.get(kueue.MultiKueueConfig, name))


async def test_our_object_is_deleted(api, followed):
    api.add(ours("a"))

    assert await absent(api, followed)
    assert api.get(kueue.MultiKueueConfig, "gpu") is None


async def test_an_object_of_somebody_else_is_never_deleted(api, followed):
    api.add(config("a"))

    assert not await absent(api, followed)
    assert api.writes == []


async def test_what_is_being_deleted_is_not_deleted_again(api, followed):
    api.add(ours("a"))
    api.change(kueue.MultiKueueConfig, "gpu", metadata={"finalizers": [FINALIZER]})
    api.remove(kueue.MultiKueueConfig, "gpu")

    assert not await absent(api, followed)
    assert api.writes == []


async def test_what_has_gone_meanwhile_is_absent(api, followed):
    api.add(ours("a"))
    await settle()
    seen = followed.get(kueue.MultiKueueConfig, "gpu")
    api.remove(kueue.MultiKueueConfig, "gpu")

    assert not await followed.ensure_absent(seen)


async def test_only_the_very_object_that_was_seen_is_deleted(api, followed):
    api.add(ours("a"))
    await settle()
    seen = followed.get(kueue.MultiKueueConfig, "gpu")
    api.remove(kueue.MultiKueueConfig, "gpu")
    api.add(ours("b"))

    with pytest.raises(errors.Conflict):
        await followed.ensure_absent(seen)

    assert api.get(kueue.MultiKueueConfig, "gpu").spec.clusters == ("b",)


def test_ours_is_what_carries_our_mark():
    assert is_ours(kueue.MultiKueueConfig.view(ours("a")))
    assert not is_ours(kueue.MultiKueueConfig.view(config("a")))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        pytest.param(
            '{"fleetqueue.dev/cluster":"c1"}', {**OURS, "fleetqueue.dev/cluster": "c1"}, id="as it was written"
        ),
        pytest.param("not JSON", OURS, id="edited by hand"),
        pytest.param('["c1"]', OURS, id="no map"),
        pytest.param('{"fleetqueue.dev/cluster":1}', OURS, id="no label"),
    ],
)
async def test_what_was_let_go_is_ours_again_with_its_labels(api, followed, text, labels):
    api.add(config("a", annotations={RELEASED: text}))
    await settle()
    before = followed.get(kueue.MultiKueueConfig, "gpu")

    await followed.take_back(before)

    after = api.get(kueue.MultiKueueConfig, "gpu")
    assert (is_released(before), is_ours(after)) == (True, True)
    assert after.metadata.labels == labels
    assert RELEASED not in after.metadata.annotations
