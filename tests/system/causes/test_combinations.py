"""Two or three things are wrong at a time: the first to mend is named, then the next one, until the job is admitted."""

import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from fleetqueue.admin import cluster_sets
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.testing.virtual_time import advance

from .world import Place, tell

pytestmark = pytest.mark.timeout(300)
PAIRS, TRIPLES = 12, 12
STOP, GO = {"stopPolicy": "Hold"}, {"stopPolicy": "None"}
Act = Callable[[Place], Awaitable[Any]]


class Fault(NamedTuple):
    code: str
    touches: str
    """Which fields it changes, by a word for each: two faults that change the same cannot be together."""
    breaks: Act
    mends: Act
    of_job: bool = False
    """Whether the job has to be created again, as its step says."""


def local_queue(place: Place) -> dict[str, Any]:
    return kueue.LocalQueue.manifest("q", place.name, spec={"clusterQueue": place.name})


def cluster_queue(place: Place) -> dict[str, Any]:
    return next(one for one in place.queues(is_hub=True) if one["kind"] == "ClusterQueue")


def placement(place: Place) -> dict[str, Any]:
    return next(one for one in place.checks() if one["kind"] == "Placement")


def checks(place: Place, *more: str) -> dict[str, Any]:
    names = (place.name, f"{place.name}-mk", *more)
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


def asks_for(place: Place) -> dict[str, Any]:
    labels = {"matchLabels": {place.name: "yes"}}
    return {"predicates": [{"requiredClusterSelector": {"labelSelector": labels}}]}


def with_absent_flavor(place: Place) -> dict[str, Any]:
    spec = place.quota("4")
    spec["resourceGroups"][0]["flavors"][0]["name"] = f"{place.name}-absent"
    return spec


def config(place: Place, name: str) -> Awaitable[None]:
    return place.patch(kueue.AdmissionCheck, f"{place.name}-mk", {"spec": {"parameters": {"name": name}}})


async def take_worker_queues(place: Place) -> None:
    for worker in place.workers:
        await worker.delete(kueue.LocalQueue.resource, "q", place.name)


async def give_worker_queues(place: Place) -> None:
    for worker in place.workers:
        await worker.create(kueue.LocalQueue.resource, local_queue(place))


async def choose_from_empty_set(place: Place) -> None:
    empty = cluster.ManagedClusterSet.manifest(place.name, spec={})
    await place.hub.create(cluster.ManagedClusterSet.resource, empty)
    await cluster_sets.bind(place.hub, place.name, KUEUE_NAMESPACE)
    await place.patch_placement({"clusterSets": [place.name]})


async def pin_to_nobody(place: Place) -> None:
    place.annotations[ALLOWED_CLUSTERS] = "cluster9"


async def pin_to_somebody(place: Place) -> None:
    place.annotations[ALLOWED_CLUSTERS] = "cluster1"


FAULTS = (
    Fault(
        "LocalQueueMissing",
        "local",
        lambda place: place.hub.delete(kueue.LocalQueue.resource, "q", place.name),
        lambda place: place.hub.create(kueue.LocalQueue.resource, local_queue(place)),
        of_job=True,
    ),
    Fault(
        "LocalQueueStopped",
        "local",
        lambda place: place.patch(kueue.LocalQueue, "q", {"spec": STOP}, place.name),
        lambda place: place.patch(kueue.LocalQueue, "q", {"spec": GO}, place.name),
        of_job=True,
    ),
    Fault(
        "ClusterQueueMissing",
        "stop quota checks",
        lambda place: place.hub.delete(kueue.ClusterQueue.resource, place.name),
        lambda place: place.hub.create(kueue.ClusterQueue.resource, cluster_queue(place)),
        of_job=True,
    ),
    Fault("ClusterQueueStopped", "stop", lambda place: place.patch_queue(STOP), lambda place: place.patch_queue(GO)),
    Fault(
        "FlavorMissing",
        "quota",
        lambda place: place.patch_queue(with_absent_flavor(place)),
        lambda place: place.patch_queue(place.quota("4")),
    ),
    Fault(
        "PlacementMissing",
        "sets predicates",
        lambda place: place.hub.delete(cluster.Placement.resource, place.name, KUEUE_NAMESPACE),
        lambda place: place.hub.create(cluster.Placement.resource, placement(place)),
    ),
    Fault(
        "SetNotBound",
        "sets",
        lambda place: cluster_sets.unbind(place.hub, "spoke", KUEUE_NAMESPACE),
        lambda place: cluster_sets.bind(place.hub, "spoke", KUEUE_NAMESPACE),
    ),
    Fault("SetEmpty", "sets", choose_from_empty_set, lambda place: place.patch_placement({"clusterSets": ["spoke"]})),
    Fault(
        "NoClusterMatches",
        "predicates",
        lambda place: place.patch_placement(asks_for(place)),
        lambda place: place.patch(cluster.ManagedCluster, "cluster1", {"metadata": {"labels": {place.name: "yes"}}}),
    ),
    Fault(
        "CheckMissing",
        "checks",
        lambda place: place.patch_queue(checks(place, "absent")),
        lambda place: place.patch_queue(checks(place)),
    ),
    Fault("ConfigMissing", "config", lambda place: config(place, "absent"), lambda place: config(place, place.name)),
    Fault(
        "ExceedsQuota",
        "quota",
        lambda place: place.patch_queue(place.quota("1")),
        lambda place: place.patch_queue(place.quota("4")),
    ),
    Fault("PinnedToNobody", "job", pin_to_nobody, pin_to_somebody, of_job=True),
    Fault("WorkerQueueMissing", "worker-local", take_worker_queues, give_worker_queues),
    Fault(
        "WorkerQueueStopped",
        "worker-stop",
        lambda place: place.patch_queue(STOP, *place.workers),
        lambda place: place.patch_queue(GO, *place.workers),
    ),
    Fault(
        "WorkerQuotaTooSmall",
        "worker-quota",
        lambda place: place.patch_queue(place.quota("1"), *place.workers),
        lambda place: place.patch_queue(place.quota("4"), *place.workers),
    ),
)
"""In the order in which a job meets them, which is the order in which they are to be named."""


def can_be_together(faults: tuple[Fault, ...]) -> bool:
    words = [word for fault in faults for word in fault.touches.split()]
    return len(words) == len(set(words))


def drawn() -> dict[str, tuple[Fault, ...]]:
    """Return pairs and triples by chance, always the same ones."""
    chance = random.Random(14)
    groups = []
    for size, count in ((2, PAIRS), (3, TRIPLES)):
        possible = [group for group in itertools.combinations(FAULTS, size) if can_be_together(group)]
        groups += chance.sample(possible, count)
    return {f"case{number}": group for number, group in enumerate(groups)}


GROUPS = drawn()


async def played(place: Place, faults: tuple[Fault, ...]) -> None:
    for fault in chance_order(faults):
        await fault.breaks(place)
    await advance(60)
    await submit(place)
    for fault in faults:
        await place.expect(fault.code, within=180)
        await fault.mends(place)
        if fault.of_job:
            await place.delete_job()
            await submit(place)
    await place.expect("Admitted", within=600)
    await place.hub.delete(Namespace.resource, place.name)


def chance_order(faults: tuple[Fault, ...]) -> list[Fault]:
    """Break in another order than the one in which they are named."""
    return random.Random(len(faults[0].code)).sample(faults, len(faults))


async def submit(place: Place) -> None:
    await place.submit(cpu="2", annotations=dict(place.annotations))


@pytest.fixture(scope="module")
def told():
    return tell({name: lambda place, group=group: played(place, group) for name, group in GROUPS.items()})


@pytest.mark.parametrize(
    ("name", "group"), [pytest.param(*row, id="-".join(fault.code for fault in row[1])) for row in GROUPS.items()]
)
def test_the_first_to_mend_is_named_first(told, name, group):
    seen = told[name]

    if isinstance(seen, Exception):
        raise seen
    assert [cause.code for cause in seen] == [*(fault.code for fault in group), "Admitted"]
    assert all(cause.step for cause in seen[:-1])


def test_every_fault_is_drawn():
    assert {fault.code for group in GROUPS.values() for fault in group} == {fault.code for fault in FAULTS}
