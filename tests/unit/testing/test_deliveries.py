"""No time passes while a watch of a real server still has something to tell."""

import pytest

from fleetqueue.api.requests import APPLY_PATCH, MERGE_PATCH, Request, Response
from fleetqueue.testing.deliveries import Deliveries

PATH = "/api/v1/namespaces/ns/configmaps"


class Environment:
    """One collection, the answers of its server, and a watch."""

    def __init__(self):
        self.deliveries = Deliveries()
        self.before = 0
        """The newest revision when a request is sent."""

    def answer(self, method, path=PATH, version=0, status=200, content_type=MERGE_PATCH, **metadata):
        name = metadata.setdefault("name", "a")
        body = {"kind": "ConfigMap", "metadata": {"namespace": "ns", "resourceVersion": str(version), **metadata}}
        request = Request(method, path, {}, {"metadata": {"name": name}}, content_type)
        self.deliveries.answered(request, Response(status, body), self.before or self.deliveries.newest)

    def create(self, version, **metadata):
        self.answer("POST", version=version, status=201, **metadata)

    def change(self, version, name="a", **metadata):
        self.answer("PATCH", f"{PATH}/{name}", version, name=name, **metadata)

    def delete(self, name="a"):
        status = {"kind": "Status", "status": "Success", "metadata": {}}
        request = Request("DELETE", f"{PATH}/{name}")
        self.deliveries.answered(request, Response(200, status), self.before or self.deliveries.newest)

    def watch(self, wanted=lambda obj: True, path="/api/v1/configmaps", **query):
        request = Request("GET", path, {"watch": "true", **query})
        return self.deliveries.open(request, wanted, lambda watch: None)


def tell(watch, kind, version, name="a", namespace="ns", **metadata):
    found = {"name": name, "namespace": namespace, "resourceVersion": str(version), **metadata}
    watch.tell({"type": kind, "object": {"metadata": found}})


def ends_initial_events(watch, version):
    marks = {"k8s.io/initial-events-end": "true"}
    watch.tell({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version), "annotations": marks}}})


@pytest.fixture
def env():
    return Environment()


def test_what_was_created_must_be_told(env):
    watch = env.watch()
    env.create(5)
    owed = not watch.is_quiet

    tell(watch, "ADDED", 5)

    assert owed
    assert watch.is_quiet


def test_an_older_event_is_not_enough(env):
    watch = env.watch()
    env.create(5)
    env.change(6)

    tell(watch, "ADDED", 5)
    owed = not watch.is_quiet
    tell(watch, "MODIFIED", 6)

    assert owed
    assert watch.is_quiet


def test_what_changed_nothing_is_not_told(env):
    watch = env.watch()
    env.create(5)
    tell(watch, "ADDED", 5)

    env.change(5)

    assert watch.is_quiet


def test_a_deletion_must_be_told_as_one(env):
    watch = env.watch()
    env.create(5)
    tell(watch, "ADDED", 5)
    env.delete()

    tell(watch, "MODIFIED", 6)
    owed = not watch.is_quiet
    tell(watch, "DELETED", 7)

    assert owed
    assert watch.is_quiet


def test_the_last_finalizer_ends_an_object(env):
    watch = env.watch()
    env.create(5, finalizers=["x"])
    env.change(6, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["x"])
    tell(watch, "MODIFIED", 6)

    env.change(6, deletionTimestamp="2026-01-01T00:00:00Z")

    assert not watch.is_quiet
    assert env.deliveries.objects == {}


def test_an_answer_that_comes_late_asks_for_no_more_than_there_was(env):
    """Another write was answered meanwhile, so that the deletion may be older than the newest that we know."""
    watch = env.watch()
    env.create(5)
    tell(watch, "ADDED", 5)
    env.before = env.deliveries.newest
    env.create(7, name="b")
    tell(watch, "ADDED", 7, "b")

    env.delete()
    tell(watch, "DELETED", 6)

    assert watch.is_quiet


def test_an_event_may_come_before_the_answer(env):
    watch = env.watch()
    tell(watch, "ADDED", 5)

    env.create(5)

    assert watch.is_quiet


@pytest.mark.parametrize(
    ("before", "after", "concerns"),
    [("x", "x", True), ("x", "y", True), ("y", "x", True), ("y", "z", False)],
    ids=["stays", "goes out of sight", "comes into sight", "was never in sight"],
)
def test_only_what_is_in_sight_is_told(env, before, after, concerns):
    env.create(5, labels={"tier": before})
    watch = env.watch(lambda obj: obj["metadata"]["labels"]["tier"] == "x", resourceVersion="5")

    env.change(6, labels={"tier": after})

    assert watch.is_quiet is not concerns


@pytest.mark.parametrize(
    ("path", "concerns"),
    [(PATH, True), ("/api/v1/namespaces/other/configmaps", False), ("/api/v1/secrets", False)],
)
def test_other_collections_are_not_concerned(env, path, concerns):
    watch = env.watch(path=path)

    env.create(5)

    assert watch.is_quiet is not concerns


def test_a_watch_from_the_past_owes_what_happened_since(env):
    env.create(5)
    env.create(6, name="b")

    watch = env.watch(resourceVersion="5")

    assert list(watch.owed) == ["ns/b"]


def test_a_list_that_streams_owes_its_end_and_what_came_after_it(env):
    env.create(5)
    watch = env.watch(sendInitialEvents="true")
    env.create(6, name="b")
    env.create(8, name="c")
    tell(watch, "ADDED", 5)
    tell(watch, "ADDED", 6, "b")
    listing = not watch.is_quiet

    ends_initial_events(watch, 7)

    assert listing
    assert list(watch.owed) == ["ns/c"]


def test_a_watch_that_failed_owes_nothing(env):
    watch = env.watch()
    env.create(5)

    watch.tell({"type": "ERROR", "object": {"code": 410}})

    assert watch.is_quiet


def test_what_was_made_is_known_for_the_cleaning(env):
    env.create(5)
    env.create(6, name="b")
    env.delete("b")
    env.change(7, name="of the server")
    env.answer("PATCH", f"{PATH}/applied", 8, 201, APPLY_PATCH, name="applied")

    assert [name for _, name in env.deliveries.objects] == ["a", "applied"]
