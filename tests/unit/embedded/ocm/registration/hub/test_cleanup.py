"""The namespace of a cluster that goes is emptied in order, and nobody else's."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import DELETING, ManagedCluster
from fleetqueue.embedded.ocm.registration.hub.cleanup import CleanupController, first_to_go, priority
from fleetqueue.embedded.ocm.registration.names import CLEANUP_FINALIZER, CLEANUP_PRIORITY
from fleetqueue.embedded.ocm.registration.objects import RemainingAddOn, RemainingWork
from fleetqueue.testing.virtual_time import advance, settle
from tests.unit.embedded.ocm.registration.objects import cluster_manifest


def work(name, *, held=False, wanted=None, kind=RemainingWork, namespace="c"):
    notes = {CLEANUP_PRIORITY: wanted} if wanted is not None else {}
    made = kind.manifest(name, namespace, annotations=notes, spec={})
    if held:
        made["metadata"]["finalizers"] = ["example.com/held"]
    return made


@pytest.mark.parametrize(
    ("written", "counts"),
    [(None, 0), ("0", 0), ("7", 7), ("100", 100), ("101", 0), ("-1", 0), ("high", 0), ("", 0)],
)
def test_a_priority_that_is_none_counts_as_the_first(written, counts):
    assert priority(RemainingWork.view(work("w", wanted=written))) == counts


def test_those_with_the_lowest_priority_go_first():
    left = [RemainingWork.view(work(name, wanted=wanted)) for name, wanted in (("a", "9"), ("b", "3"), ("c", "3"))]

    assert [each.name for each in first_to_go(left)] == ["b", "c"]


async def test_every_cluster_is_held_until_it_is_clean(env):
    env.api.add(cluster_manifest("c"))

    first = await env.run(CleanupController)
    second = await env.run(CleanupController)

    assert env.cluster().metadata.finalizers == (CLEANUP_FINALIZER,)
    assert (len(first), second) == (1, [])


async def test_the_end_of_one_wakes_and_the_next_goes(env):
    env.api.add(cluster_manifest("c"), work("a", held=True, kind=RemainingAddOn), work("w"))

    async with env.working(CleanupController):
        env.api.remove(ManagedCluster, "c")
        await settle()
        said, left = env.said(DELETING), env.api.get(RemainingWork, "w", "c")
        env.api.change(RemainingAddOn, "a", "c", metadata={"finalizers": None})
        await settle()

    assert said.message == (
        "The resource managedclusteraddons is remaning, the remaining count is 1, the finalizer pending count is 1"
    )
    assert left is not None
    assert env.cluster() is None
    assert env.api.list(RemainingWork) == []


async def test_the_cluster_stays_while_something_cannot_be_deleted_and_says_why(env):
    env.api.add(cluster_manifest("c"), work("w"))
    env.api.fail_on("delete manifestworks/*", errors.ServerError("no leader"))

    async with env.working(CleanupController):
        env.api.remove(ManagedCluster, "c")
        await advance(1)
        said = env.said(DELETING)
        env.api.heal()
        await advance(60)

    assert (said.status, said.reason, said.message) == ("False", "DeletingError", "no leader")
    assert env.cluster() is None


async def test_a_namespace_that_is_no_clusters_is_left_alone(env):
    env.api.add(work("w", namespace="team-a"))

    async with env.working(CleanupController):
        env.api.change(RemainingWork, "w", "team-a", metadata={"labels": {"a": "b"}})
        await advance(60)

    assert env.api.get(RemainingWork, "w", "team-a") is not None


async def test_what_a_cluster_left_that_is_gone_is_deleted(env):
    env.api.add(cluster_manifest("c"), work("late", wanted="5"), work("early"))

    async with env.working(CleanupController):
        env.api.change(ManagedCluster, "c", metadata={"finalizers": None})
        env.api.remove(ManagedCluster, "c")
        await advance(12)

    assert env.api.list(RemainingWork) == []
