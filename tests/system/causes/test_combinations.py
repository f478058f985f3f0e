"""Two or three things are wrong at a time: the first to mend is named, then the next one, until the job is admitted."""

import itertools
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from fleetqueue.admin import cluster_draining, cluster_sets
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.core_v1 import secret as secret_manifest
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.fleets.systems.parts import create_all
from fleetqueue.testing.builders import by_secret
from fleetqueue.testing.virtual_time import advance
from tests.cause_sentences import says

from .world import LAST, ONLY_LAST, WORKERS, Place, tell

# The first test plays all cases, one after the other on one fleet.
pytestmark = pytest.mark.timeout(600)
PAIRS, TRIPLES, LOST = 16, 16, 3
STOP, GO = {"stopPolicy": "Hold"}, {"stopPolicy": "None"}
NOWHERE = "https://nowhere:6443"
WORDS = {
    "queue": "q",
    "resource": "cpu",
    "needs": 2,
    "has": 1,
    "refusal": "*nowhere*",
}
Act = Callable[[Place], Awaitable[Any]]


class Fault(NamedTuple):
    code: str
    touches: str
    """Which fields it changes, by a word for each: two faults that change the same cannot be together."""
    breaks: Act
    mends: Act
    of_job: bool = False
    """Whether the job has to be created again, as its step says."""
    how: str = ""
    """By which of its sentences it is told, where its code has several."""
    spares: bool = False
    """Whether a job that runs already goes on."""


def local_queue(place: Place) -> dict[str, Any]:
    return kueue.LocalQueue.manifest("q", place.name, spec={"clusterQueue": place.name})


def cluster_queue(place: Place) -> dict[str, Any]:
    return next(one for one in place.queues(is_hub=True) if one["kind"] == "ClusterQueue")


def placement(place: Place) -> dict[str, Any]:
    return next(one for one in place.checks() if one["kind"] == "Placement")


def checks(place: Place, *more: str) -> dict[str, Any]:
    names = (place.name, f"{place.name}-mk", *more)
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


async def drain_all(place: Place) -> None:
    for name in WORKERS:
        await cluster_draining.drain(place.hub, name)


async def undrain_all(place: Place) -> None:
    for name in WORKERS:
        await cluster_draining.undrain(place.hub, name)


def connect_by_hand(**broken: str) -> Act:
    """Return what lets the check lead to a config of somebody else, whose one cluster has a broken kubeconfig."""

    async def act(place: Place) -> None:
        last, name = place.fleet.workers[-1], f"{place.name}-by-hand"
        told = {"server": last.url, "ca": last.ca, "token": last.admin_token, **broken}
        kubeconfig = render(LAST, user="somebody", **told)
        by_hand = [
            secret_manifest(name, KUEUE_NAMESPACE, {KUBECONFIG_KEY: kubeconfig}),
            kueue.MultiKueueCluster.manifest(place.name, spec=by_secret(name)),
            kueue.MultiKueueConfig.manifest(name, spec={"clusters": [place.name]}),
        ]
        await create_all(place.hub, by_hand)
        await config(place, name)

    return act


async def mend_by_hand(place: Place) -> None:
    """Give the cluster a kubeconfig that works, as the step says; all the same the job goes by the Placement."""
    good = secret_manifest("", KUEUE_NAMESPACE, {KUBECONFIG_KEY: place.fleet.workers[-1].kubeconfig})
    await place.patch(Secret, f"{place.name}-by-hand", {"data": good["data"]}, KUEUE_NAMESPACE)
    await advance(30)
    await config(place, place.name)


def asks_for(place: Place) -> dict[str, Any]:
    labels = {"matchLabels": {place.name: "yes"}}
    return {"predicates": [{"requiredClusterSelector": {"labelSelector": labels}}]}


def with_absent_flavor(place: Place) -> dict[str, Any]:
    spec = place.quota("4")
    spec["resourceGroups"][0]["flavors"][0]["name"] = "absent"
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


async def pin_no_more(place: Place) -> None:
    place.annotations.clear()


async def label_all(place: Place) -> None:
    for name in WORKERS:
        await place.patch(cluster.ManagedCluster, name, {"metadata": {"labels": {place.name: "yes"}}})


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
        spares=True,
    ),
    Fault(
        "ClusterQueueMissing",
        "stop quota checks",
        lambda place: place.hub.delete(kueue.ClusterQueue.resource, place.name),
        lambda place: place.hub.create(kueue.ClusterQueue.resource, cluster_queue(place)),
        of_job=True,
    ),
    Fault(
        "ClusterQueueStopped",
        "stop",
        lambda place: place.patch_queue(STOP),
        lambda place: place.patch_queue(GO),
        spares=True,
    ),
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
        spares=True,
    ),
    Fault("SetEmpty", "sets", choose_from_empty_set, lambda place: place.patch_placement({"clusterSets": ["spoke"]})),
    Fault(
        "NoClusterMatches",
        "predicates",
        lambda place: place.patch_placement(asks_for(place)),
        label_all,
    ),
    Fault("ClusterDraining", "taints", drain_all, undrain_all, how=", and nobody else"),
    Fault(
        "CheckMissing",
        "checks",
        lambda place: place.patch_queue(checks(place, "absent")),
        lambda place: place.patch_queue(checks(place)),
    ),
    Fault("ConfigMissing", "config", lambda place: config(place, "absent"), lambda place: config(place, place.name)),
    Fault("ClusterNotConnected", "config", connect_by_hand(server=NOWHERE), mend_by_hand, how=" by hand"),
    Fault("CredentialRefused", "config", connect_by_hand(token="x.y.z"), mend_by_hand, how=" by hand"),
    Fault(
        "ExceedsQuota",
        "quota",
        lambda place: place.patch_queue(place.quota("1")),
        lambda place: place.patch_queue(place.quota("4")),
    ),
    Fault("PinnedToNobody", "job", pin_to_nobody, pin_no_more, of_job=True),
    Fault("WorkerQueueMissing", "worker-local", take_worker_queues, give_worker_queues),
    Fault(
        "WorkerQueueStopped",
        "worker-stop",
        lambda place: place.patch_queue(STOP, *place.workers),
        lambda place: place.patch_queue(GO, *place.workers),
        spares=True,
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
    chance = random.Random(15)
    groups = []
    for size, count in ((2, PAIRS), (3, TRIPLES)):
        possible = [group for group in itertools.combinations(FAULTS, size) if can_be_together(group)]
        groups += chance.sample(possible, count)
    return {f"case{number}": group for number, group in enumerate(groups)}


def drawn_to_be_spared() -> dict[str, tuple[Fault, ...]]:
    """Return each fault that a job which runs does not notice, and pairs of them by chance."""
    faults = [fault for fault in FAULTS if fault.spares]
    pairs = random.Random(14).sample([*itertools.combinations(faults, 2)], LOST)
    groups = [*((fault,) for fault in faults), *pairs]
    return {f"lost{number}": group for number, group in enumerate(groups)}


GROUPS = drawn()
SPARED = drawn_to_be_spared()


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
    await place.until_it_is("Admitted", within=600)
    await advance(30)
    await place.expect("Admitted")
    await place.hub.delete(Namespace.resource, place.name)


async def played_with_a_lost_worker(place: Place, faults: tuple[Fault, ...]) -> None:
    """Break what a job that runs does not need any more, and then lose its worker, which alone is named."""
    await place.patch(cluster.ManagedCluster, LAST, {"metadata": {"labels": {"name": LAST}}})
    await place.patch_placement(ONLY_LAST)
    await advance(30)
    await submit(place)
    await place.until_it_is("Admitted", within=600)
    await advance(30)
    for fault in faults:
        await fault.breaks(place)
    place.fleet.cut(LAST)
    await place.expect("WorkerLost", within=120)
    for fault in faults:
        await fault.mends(place)
        await place.expect("WorkerLost")
    place.fleet.heal(LAST)
    await place.expect("Admitted", within=600)
    await place.hub.delete(Namespace.resource, place.name)


def chance_order(faults: tuple[Fault, ...]) -> list[Fault]:
    """Break in another order than the one in which they are named."""
    return random.Random(len(faults[0].code)).sample(faults, len(faults))


async def submit(place: Place) -> None:
    await place.submit(cpu="2", annotations=dict(place.annotations))


@pytest.fixture(scope="module")
def told():
    cases = {name: partial(played, faults=group) for name, group in GROUPS.items()}
    return tell(cases | {name: partial(played_with_a_lost_worker, faults=group) for name, group in SPARED.items()})


@pytest.mark.parametrize(
    ("name", "group"), [pytest.param(*row, id="-".join(fault.code for fault in row[1])) for row in GROUPS.items()]
)
def test_the_first_to_mend_is_named_first(told, name, group):
    seen = told[name]

    if isinstance(seen, Exception):
        raise seen
    assert [cause.code for cause in seen] == [*(fault.code for fault in group), "Admitted"]
    for cause, fault in zip(seen, group, strict=False):
        assert says(cause, fault.how, **words(name)), cause
    assert says(seen[-1])


@pytest.mark.parametrize(
    ("name", "group"), [pytest.param(*row, id="-".join(fault.code for fault in row[1])) for row in SPARED.items()]
)
def test_of_a_job_that_runs_the_lost_worker_is_named_whatever_else_is_wrong(told, name, group):
    seen = told[name]

    if isinstance(seen, Exception):
        raise seen
    assert [cause.code for cause in seen] == [*("WorkerLost" for _ in (None, *group)), "Admitted"]
    assert all(says(cause, name=name, refusal="*") for cause in seen)


def words(name: str) -> dict[str, object]:
    """Return what stands for the words of sentences in a case."""
    return {**WORDS, "name": name, "label": name, "set": "spoke"}


def test_every_fault_is_drawn():
    assert {fault.code for group in GROUPS.values() for fault in group} == {fault.code for fault in FAULTS}
