"""Objects are created, changed and deleted as every kind demands it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions, delete_options
from tests.unit.embedded.apiserver.registry.conftest import MAPS, WIDGETS, a_write

NAMED = {"metadata": {"name": "a"}}


def merged(**patch):
    """A change that sets fields, whatever else is there."""
    return lambda live: {**live, **patch}


async def gone(store, served, name):
    return store.storage.head(served.key("ns", name)) is None


# Create


async def test_a_new_object_gets_what_only_the_server_says(create):
    entry = await create("a", data={"k": "v"})

    metadata = entry.object["metadata"]
    assert list(entry.object) == ["apiVersion", "kind", "metadata", "data"]
    assert len(metadata["uid"]) == 36
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["resourceVersion"] == str(entry.revision)
    assert metadata["managedFields"][0]["manager"] == "test"
    assert "generation" not in metadata


async def test_a_kind_with_a_spec_has_a_generation_and_begins_without_a_status(create):
    entry = await create("w", WIDGETS, spec={"n": 1}, status={"phase": "Done"})

    assert entry.object["metadata"]["generation"] == 1
    assert "status" not in entry.object


async def test_a_name_can_be_made_up(store):
    prefix = "a" * 60 + "-"

    entry = await store.create(MAPS, "ns", {"metadata": {"generateName": prefix}}, a_write())

    name = entry.object["metadata"]["name"]
    assert name.startswith("a" * 58)
    assert len(name) == 63


async def test_a_made_up_name_that_is_taken_is_made_up_again(store, monkeypatch):
    suffixes = iter(["aaaaa", "aaaaa", "bbbbb"])
    monkeypatch.setattr("fleetqueue.clock.suffix", lambda length: next(suffixes))
    for _ in range(2):
        last = await store.create(MAPS, "ns", {"metadata": {"generateName": "x-"}}, a_write())

    assert last.object["metadata"]["name"] == "x-bbbbb"


async def test_at_last_no_made_up_name_is_free(store, monkeypatch):
    monkeypatch.setattr("fleetqueue.clock.suffix", lambda length: "aaaaa")
    await store.create(MAPS, "ns", {"metadata": {"generateName": "x-"}}, a_write())

    with pytest.raises(errors.AlreadyExists, match="was not able to generate a unique name") as refused:
        await store.create(MAPS, "ns", {"metadata": {"generateName": "x-"}}, a_write())

    assert refused.value.retry_after == 1


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        pytest.param(
            {"metadata": {}}, errors.Invalid, "metadata.name: Required value: name or generateName", id="no name"
        ),
        pytest.param(
            {"metadata": {"name": "A"}}, errors.Invalid, 'metadata.name: Invalid value: "A": a lowercase', id="name"
        ),
        pytest.param(
            {"metadata": {"name": "a", "namespace": "other"}},
            errors.BadRequest,
            "the namespace of",
            id="another namespace",
        ),
        pytest.param(
            {"metadata": {"name": "a", "labels": {"-": "x"}}}, errors.Invalid, "metadata.labels: Invalid", id="label"
        ),
        pytest.param(
            {"metadata": {"name": "a", "resourceVersion": "7"}}, errors.BadRequest, "should not be set", id="version"
        ),
    ],
)
async def test_what_is_refused(store, body, error, message):
    with pytest.raises(error, match=message):
        await store.create(MAPS, "ns", body, a_write())

    assert await gone(store, MAPS, "a")


async def test_a_name_is_taken_once(create):
    await create("a")

    with pytest.raises(errors.AlreadyExists, match='configmaps "a" already exists'):
        await create("a")


async def test_a_dry_run_answers_as_if_and_stores_nothing(store, create):
    entry = await store.create(MAPS, "ns", NAMED, a_write(dry_run=True))
    assert entry.object["metadata"]["uid"]
    assert await gone(store, MAPS, "a")
    await create("a")

    with pytest.raises(errors.AlreadyExists):
        await store.create(MAPS, "ns", NAMED, a_write(dry_run=True))


# Update


async def test_a_change_keeps_who_the_object_is(store, create):
    before = (await create("a", data={"k": "1"})).object

    entry, is_new = await store.update(MAPS, "ns", "a", lambda live: {**NAMED, "data": {"k": "2"}}, a_write())

    after = entry.object
    assert not is_new
    assert after["data"] == {"k": "2"}
    assert {key: after["metadata"][key] for key in ("uid", "creationTimestamp")} == {
        key: before["metadata"][key] for key in ("uid", "creationTimestamp")
    }
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])


async def test_a_change_that_changes_nothing_leaves_no_trace(store, create):
    before = await create("a", data={"k": "1"})

    after, _ = await store.update(MAPS, "ns", "a", lambda live: live, a_write())

    assert after is before
    assert store.storage.revision == before.revision


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"resourceVersion": "1"}, "the object has been modified"),
        ({"uid": "another"}, "Precondition failed: UID in precondition: another, UID in object meta"),
    ],
)
async def test_a_change_of_another_version_or_object_is_a_conflict(store, create, metadata, message):
    await create("a")

    with pytest.raises(errors.Conflict, match=message):
        await store.update(MAPS, "ns", "a", lambda live: {"metadata": {"name": "a", **metadata}}, a_write())


async def test_a_custom_kind_wants_the_version_named(store, create):
    await create("w", WIDGETS)

    with pytest.raises(
        errors.Invalid, match=r"metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    ):
        await store.update(WIDGETS, "ns", "w", lambda live: {"metadata": {"name": "w"}}, a_write())


@pytest.mark.parametrize(
    ("patch", "generation"),
    [
        pytest.param({"spec": {"n": 2}}, 2, id="the spec counts"),
        pytest.param({"status": {"n": 2}}, 1, id="the status does not"),
        pytest.param({"other": 1}, 2, id="anything else does"),
    ],
)
async def test_the_generation_counts_changes_of_what_is_wanted(store, create, patch, generation):
    await create("w", WIDGETS, spec={"n": 1})

    entry, _ = await store.update(WIDGETS, "ns", "w", merged(**patch), a_write())

    assert entry.object["metadata"]["generation"] == generation


async def test_the_main_endpoint_does_not_touch_the_status(store, create):
    await create("w", WIDGETS, spec={"n": 1})
    await store.update(WIDGETS, "ns", "w", merged(status={"phase": "Run"}), a_write(subresource="status"))

    entry, _ = await store.update(WIDGETS, "ns", "w", merged(spec={"n": 2}, status={"phase": "Lie"}), a_write())

    assert (entry.object["spec"], entry.object["status"]) == ({"n": 2}, {"phase": "Run"})


async def test_the_status_endpoint_touches_nothing_else(store, create):
    await create("w", WIDGETS, spec={"n": 1}, labels={"a": "b"})

    def change(live):
        return {**live, "metadata": {**live["metadata"], "labels": {}}, "spec": {"n": 9}, "status": {"phase": "Run"}}

    entry, _ = await store.update(WIDGETS, "ns", "w", change, a_write(subresource="status"))

    assert entry.object["spec"] == {"n": 1}
    assert entry.object["metadata"]["labels"] == {"a": "b"}
    assert entry.object["status"] == {"phase": "Run"}
    assert entry.object["metadata"]["generation"] == 1


async def test_a_change_is_tried_again_when_somebody_was_faster(store, create):
    await create("a", data={"n": "0"})
    seen = []

    class Slow:
        async def admit(self, review):
            if len(seen) == 1:
                seen.append("somebody else")
                await store.update(MAPS, "ns", "a", merged(data={"n": "5"}), a_write())
            return review.new

    store.admission = Slow()

    def count(live):
        seen.append(live["data"]["n"])
        return {**live, "metadata": {"name": "a"}, "data": {"n": str(int(live["data"]["n"]) + 1)}}

    entry, _ = await store.update(MAPS, "ns", "a", count, a_write())

    assert entry.object["data"] == {"n": "6"}


# Delete


async def test_a_deleted_object_is_gone(store, create):
    await create("a")

    entry, is_gone = await store.delete(MAPS, "ns", "a", DeleteOptions(), a_write())

    assert is_gone
    assert entry.object["metadata"]["name"] == "a"
    assert await gone(store, MAPS, "a")


async def test_what_is_not_there_cannot_be_deleted(store):
    with pytest.raises(errors.NotFound, match='configmaps "a" not found'):
        await store.delete(MAPS, "ns", "a", DeleteOptions(), a_write())


async def with_finalizer(store, create):
    await create("w", WIDGETS, spec={"n": 1})
    await store.update(
        WIDGETS,
        "ns",
        "w",
        lambda live: {**live, "metadata": {**live["metadata"], "finalizers": ["test.io/wait"]}},
        a_write(),
    )


async def test_a_finalizer_holds_a_deleted_object(store, create):
    await with_finalizer(store, create)

    entry, is_gone = await store.delete(WIDGETS, "ns", "w", DeleteOptions(), a_write())

    metadata = entry.object["metadata"]
    assert not is_gone
    assert metadata["deletionTimestamp"]
    assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (0, 2)


async def test_with_its_last_finalizer_a_deleted_object_goes(store, create):
    await with_finalizer(store, create)
    await store.delete(WIDGETS, "ns", "w", DeleteOptions(), a_write())

    def let_go(live):
        return {**live, "metadata": {**live["metadata"], "finalizers": []}}

    entry, _ = await store.update(WIDGETS, "ns", "w", let_go, a_write())

    assert entry.object["metadata"]["deletionTimestamp"]
    assert await gone(store, WIDGETS, "w")


async def test_a_deleted_object_gets_no_new_finalizer(store, create):
    await with_finalizer(store, create)
    await store.delete(WIDGETS, "ns", "w", DeleteOptions(), a_write())

    def cling(live):
        return {**live, "metadata": {**live["metadata"], "finalizers": ["test.io/wait", "test.io/more"]}}

    with pytest.raises(errors.Invalid, match="no new finalizers can be added"):
        await store.update(WIDGETS, "ns", "w", cling, a_write())


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        (DeleteOptions(propagation="Foreground"), ["foregroundDeletion"]),
        (DeleteOptions(propagation="Orphan"), ["orphan"]),
        (DeleteOptions(orphan=True), ["orphan"]),
    ],
)
async def test_who_owns_others_waits_for_them(store, create, options, finalizers):
    await create("a")

    entry, is_gone = await store.delete(MAPS, "ns", "a", options, a_write())

    assert not is_gone
    assert entry.object["metadata"]["finalizers"] == finalizers


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (DeleteOptions(uid="other"), r"the UID in the precondition \(other\) does not match the UID in record"),
        (DeleteOptions(resource_version="1"), r"the ResourceVersion in the precondition \(1\) does not match"),
    ],
)
async def test_a_deletion_may_mean_one_object_only(store, create, options, message):
    await create("a")

    with pytest.raises(errors.Conflict, match=message):
        await store.delete(MAPS, "ns", "a", options, a_write())


def test_the_options_of_a_deletion():
    body = {"gracePeriodSeconds": 5, "propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}

    assert delete_options(body, {}) == DeleteOptions(5, "Foreground", uid="u")
    assert delete_options(None, {"gracePeriodSeconds": "0", "dryRun": "All"}) == DeleteOptions(0, dry_run=True)
    assert delete_options({}, {"gracePeriodSeconds": "0", "dryRun": "All"}) == DeleteOptions()


@pytest.mark.parametrize(
    ("body", "error"),
    [({"propagationPolicy": "Never"}, errors.Invalid), ({"gracePeriodSeconds": "soon"}, errors.BadRequest)],
)
def test_bad_options_are_refused(body, error):
    with pytest.raises(error):
        delete_options(body, {})
