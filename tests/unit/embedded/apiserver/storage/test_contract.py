"""What every storage does, whichever log is behind it: objects, versions, lists."""

import asyncio

import pytest

from fleetqueue.api import errors

from .conftest import MAPS, config_map, create, delete, key, names, update


async def test_a_created_object_is_found_with_its_revision(storage):
    entry = await create(storage, "a", color="red")

    found = storage.get(key("a"))
    assert found is entry
    assert found.revision == storage.revision
    assert found.object == {
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "ns", "resourceVersion": str(entry.revision)},
        "data": {"color": "red"},
    }


async def test_what_was_handed_in_is_not_changed_and_its_parts_are_shared(storage):
    manifest = config_map("a", color="red")

    entry = await storage.create(key("a"), manifest)

    assert "resourceVersion" not in manifest["metadata"]
    assert entry.object["data"] is manifest["data"]


async def test_of_a_version_that_is_no_longer_the_newest_only_the_object_is_kept(storage):
    first = await create(storage, "a")
    json, encoded = first.json, first.encoded("kinds", lambda obj: b"kind")

    await storage.update(key("a"), config_map("a", color="blue"), expected=first.revision)

    assert first.json == json
    assert first.json is not json
    assert first.encoded("kinds", lambda obj: b"other") != encoded


async def test_an_object_is_encoded_once(storage):
    entry = await create(storage, "a")

    assert entry.json is entry.json
    assert entry.encoded("names", lambda obj: obj["metadata"]["name"].encode()) == b"a"
    assert entry.encoded("names", lambda obj: b"something else") == b"a"
    assert entry.encoded("kinds", lambda obj: obj["kind"].encode()) == b"ConfigMap"


async def test_each_change_has_a_higher_revision_also_a_deletion(storage):
    revisions = [storage.revision]
    revisions.append((await create(storage, "a")).revision)
    revisions.append((await update(storage, "a", color="red")).revision)
    revisions.append((await create(storage, "b")).revision)
    revisions.append((await delete(storage, "a")).revision)
    revisions.append((await create(storage, "a")).revision)

    assert revisions == sorted(set(revisions))
    assert revisions[0] > 0
    assert storage.revision == revisions[-1]


async def test_a_deleted_object_leaves_with_the_revision_of_its_deletion(storage):
    await create(storage, "a", color="red")

    last = await delete(storage, "a")

    assert last.object["metadata"]["resourceVersion"] == str(storage.revision)
    assert last.object["data"] == {"color": "red"}
    with pytest.raises(errors.NotFound):
        storage.get(key("a"))


async def test_an_old_version_stays_as_it_was(storage):
    first = await create(storage, "a", color="red")

    second = await update(storage, "a", color="blue")

    assert first.object["data"] == {"color": "red"}
    assert second.object["data"] == {"color": "blue"}


async def test_a_name_is_taken_once(storage):
    await create(storage, "a", color="red")

    with pytest.raises(errors.AlreadyExists, match=r'^configmaps "a" already exists$') as caught:
        await create(storage, "a", color="blue")

    assert caught.value.reason == "AlreadyExists"
    assert caught.value.details == {"name": "a", "kind": "configmaps"}
    assert storage.get(key("a")).object["data"] == {"color": "red"}


@pytest.mark.parametrize("verb", ["get", "update", "delete"])
async def test_what_is_not_there_is_not_found(storage, verb):
    calls = {
        "get": lambda: storage.get("/apps/deployments/ns/a"),
        "update": lambda: storage.update("/apps/deployments/ns/a", {}, expected=1),
        "delete": lambda: storage.delete("/apps/deployments/ns/a", expected=1),
    }

    with pytest.raises(errors.NotFound, match=r'^deployments.apps "a" not found$') as caught:
        await calls[verb]()

    assert caught.value.reason == "NotFound"
    assert caught.value.details == {"name": "a", "group": "apps", "kind": "deployments"}


@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_a_stale_writer_is_refused(storage, verb):
    stale = (await create(storage, "a")).revision
    await update(storage, "a", color="red")
    before = storage.revision
    calls = {
        "update": lambda: storage.update(key("a"), config_map("a"), expected=stale),
        "delete": lambda: storage.delete(key("a"), expected=stale),
    }

    with pytest.raises(errors.Conflict) as caught:
        await calls[verb]()

    assert caught.value.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert caught.value.reason == "Conflict"
    assert storage.revision == before
    assert storage.get(key("a")).object["data"] == {"color": "red"}


async def test_an_object_made_anew_is_not_the_one_that_a_writer_knew(storage):
    old = (await create(storage, "a")).revision
    await delete(storage, "a")
    await create(storage, "a")

    with pytest.raises(errors.Conflict):
        await storage.delete(key("a"), expected=old)


async def test_of_many_writers_with_the_same_version_one_wins(storage):
    revision = (await create(storage, "a")).revision
    writers = [storage.update(key("a"), config_map("a", by=str(n)), expected=revision) for n in range(16)]

    results = await asyncio.gather(*writers, return_exceptions=True)

    won = [result for result in results if not isinstance(result, errors.Conflict)]
    assert won == [storage.get(key("a"))]


async def test_many_writers_at_once_all_get_revisions_of_their_own(storage):
    entries = await asyncio.gather(*(create(storage, f"a{n}") for n in range(50)))

    assert len({entry.revision for entry in entries}) == 50
    assert storage.revision == max(entry.revision for entry in entries)
    assert len(storage.list(MAPS).entries) == 50


async def test_a_list_is_in_the_order_of_keys_and_says_its_revision(storage):
    for name, namespace in (("b", "two"), ("a", "two"), ("c", "one")):
        await create(storage, name, namespace)
    await storage.create("/core/secrets/one/s", config_map("s"))

    page = storage.list(MAPS)

    assert [entry.key for entry in page.entries] == [key("c", "one"), key("a", "two"), key("b", "two")]
    assert page.revision == storage.revision
    assert page.remaining == 0


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        pytest.param(MAPS, ["x", "a", "b"], id="all namespaces"),
        pytest.param(MAPS + "ns/", ["a", "b"], id="one namespace, not one that begins alike"),
        pytest.param(MAPS + "none/", [], id="an empty namespace"),
        pytest.param("/core/config/", [], id="a kind that begins alike"),
        pytest.param("/core/", ["x", "a", "b", "s"], id="a group"),
        pytest.param("/", ["x", "a", "b", "s", "d"], id="everything"),
    ],
)
async def test_a_prefix_selects(storage, prefix, found):
    for name, namespace in (("b", "ns"), ("a", "ns"), ("x", "ns-2")):
        await create(storage, name, namespace)
    await storage.create("/core/secrets/ns/s", config_map("s"))
    await storage.create("/zoo/dogs/d", config_map("d"))

    assert names(storage.list(prefix)) == found


@pytest.mark.parametrize("prefix", [MAPS, "/"])
async def test_pages_together_are_the_list(storage, prefix):
    for number in range(7):
        await create(storage, f"a{number}")
    await storage.create("/core/secrets/ns/s", config_map("s"))
    whole = storage.list(prefix)

    pages = [storage.list(prefix, limit=3)]
    while pages[-1].remaining:
        last = pages[-1].entries[-1].key
        pages.append(storage.list(prefix, after=last, limit=3, at=pages[0].revision))

    assert [entry for page in pages for entry in page.entries] == whole.entries
    assert [page.remaining for page in pages] == [max(0, len(whole.entries) - 3 * n) for n in (1, 2, 3)]


async def test_a_later_page_shows_the_state_of_the_first(storage):
    for name in ("a", "b", "c", "d", "e"):
        await create(storage, name, color="old")
    first = storage.list(MAPS, limit=2)
    await update(storage, "c", color="new")
    await delete(storage, "d")
    await create(storage, "d", color="new")
    await delete(storage, "e")
    await create(storage, "f")
    await update(storage, "a", color="new")

    second = storage.list(MAPS, after=first.entries[-1].key, limit=2, at=first.revision)
    third = storage.list(MAPS, after=second.entries[-1].key, limit=2, at=first.revision)

    assert names(second) == ["c", "d"]
    assert second.remaining == 1
    assert names(third) == ["e"]
    assert third.remaining == 0
    assert {entry.object["data"]["color"] for entry in [*second.entries, *third.entries]} == {"old"}
    assert second.revision == first.revision


async def test_a_list_of_a_revision_to_come_is_refused(storage):
    future = storage.revision + 5

    with pytest.raises(errors.ServerError, match="Too large resource version") as caught:
        storage.list(MAPS, at=future)

    assert caught.value.code == 504


async def test_who_waits_for_a_revision_goes_on_when_it_is_there(storage):
    wanted = storage.revision + 2
    waiting = asyncio.create_task(storage.reached(wanted))

    await create(storage, "a")
    await asyncio.sleep(0)
    assert not waiting.done()
    await create(storage, "b")

    await waiting
    assert storage.revision == wanted


async def test_who_waits_for_a_revision_that_does_not_come_is_told(storage):
    current = storage.revision

    with pytest.raises(errors.ServerError) as caught:
        await storage.reached(999, timeout=0.01)

    assert caught.value.message == f"Timeout: Too large resource version: 999, current: {current}"
    assert (caught.value.code, caught.value.reason) == (504, "Timeout")
    assert caught.value.details["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_a_closed_storage_takes_nothing_more(storage):
    await create(storage, "a")

    await storage.close()

    with pytest.raises(errors.ServerError, match="closed"):
        await create(storage, "b")
