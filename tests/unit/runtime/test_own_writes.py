"""A controller waits until its cache shows what it has written itself."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.runtime.own_writes import PATIENCE, OwnWrites
from fleetqueue.runtime.store import Store
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time


def manifest(name="a", version=1):
    return {"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version)}}


@pytest.fixture
def store():
    return Store(Pod)


@pytest.fixture
def writes(store):
    return OwnWrites(store)


def show(store, writes, raw):
    writes.seen(*store.put(raw))


async def test_what_is_created_is_waited_for(store, writes):
    writes.creating("job", "a", "default")
    assert writes.are_unseen("job")
    assert not writes.are_unseen("other")
    show(store, writes, manifest())

    assert not writes.are_unseen("job")


async def test_what_was_created_and_has_gone_again_is_not_waited_for(store, writes):
    writes.creating("job", "a", "default")
    old, _ = store.put(manifest())
    writes.seen(Pod.view(manifest()), None)

    assert old is None
    assert not writes.are_unseen("job")


async def test_a_change_is_waited_for_up_to_its_version(store, writes):
    show(store, writes, manifest(version=5))
    writes.wrote("job", manifest(version=8))
    show(store, writes, manifest(version=7))
    assert writes.are_unseen("job")
    show(store, writes, manifest(version=9))

    assert not writes.are_unseen("job")


async def test_a_change_that_the_cache_shows_already_is_not_waited_for(store, writes):
    show(store, writes, manifest(version=8))
    writes.wrote("job", manifest(version=8))

    assert not writes.are_unseen("job")


async def test_a_deletion_is_seen_as_a_later_version_or_as_the_end(store, writes):
    for is_end in (True, False):
        show(store, writes, manifest(version=5))
        writes.deleting("job", store.get("default/a"))
        assert writes.are_unseen("job")
        if is_end:
            writes.seen(store.get("default/a"), None)
        else:
            show(store, writes, manifest(version=6))

        assert not writes.are_unseen("job")


async def test_what_did_not_happen_is_not_waited_for(store, writes):
    writes.creating("job", "a", "default")
    writes.forget("a", "default")

    assert not writes.are_unseen("job")


async def test_a_watch_that_broke_is_not_waited_for_for_ever(store, writes):
    writes.creating("job", "a", "default")
    await advance(PATIENCE)

    assert not writes.are_unseen("job")
