"""Causes of clusters, of queues, and of jobs that Kueue leaves alone: each is named, and gone after its step."""

from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase
from functools import partial

import pytest

from fleetqueue.admin import cluster_draining, explain
from fleetqueue.admin.causes import NOTHING_TO_DO
from fleetqueue.admin.explanations import NOTHING_STANDS_AGAINST, Explanation
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.kueue_pods import GROUP_NAME, GROUP_TOTAL_COUNT
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.builders import by_secret, pod_template
from fleetqueue.testing.virtual_time import advance
from tests.invariants.reasons import says_nothing

from .world import LAST, ONLY_LAST, Case, Place, tell

# The first test plays all cases, one after the other on one fleet.
pytestmark = pytest.mark.timeout(600)

REGISTRATION_AGENT = ("klusterlet-registration-agent", "open-cluster-management-agent")
SERVING = "jobs of {name} are sent to it"
NOWHERE = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "none"}}}}
Ask = Callable[[], Awaitable[Explanation]]


async def becomes(place: Place, ask: Ask, code: str, *, within: float = 60.0) -> None:
    """Ask until this is the cause; note what was said."""
    for _ in range(int(within)):
        found = (await ask()).cause
        if found.code == code:
            break
        await advance(1)
    assert found.code == code, found
    place.seen.append(found)


def about_last(place: Place) -> Ask:
    return lambda: explain.managed_cluster(place.hub, LAST, kueue_namespace=KUEUE_NAMESPACE)


def about_job(place: Place) -> Ask:
    return lambda: explain.job(place.hub, "job", place.name, kueue_namespace=KUEUE_NAMESPACE)


async def labelled_last(case: Case, place: Place) -> None:
    """Play a case after the last worker has got the label of its name, and take away what it made."""
    await place.patch(cluster.ManagedCluster, LAST, {"metadata": {"labels": {"name": LAST}}})
    await becomes(place, about_last(place), "Serving", within=300)
    place.seen.clear()
    await case(place)
    await place.hub.delete(cluster.Placement.resource, place.name, KUEUE_NAMESPACE)
    await advance(30)


async def not_accepted(place: Place) -> None:
    await place.patch(cluster.ManagedCluster, LAST, {"spec": {"hubAcceptsClient": False}})
    await becomes(place, about_last(place), "NotAccepted")
    await place.do_as_told()
    await becomes(place, about_last(place), "Serving", within=300)


async def cluster_unavailable(place: Place) -> None:
    await place.scale(REGISTRATION_AGENT, 0)
    await becomes(place, about_last(place), "ClusterUnavailable", within=900)
    await place.do_as_told()
    await place.scale(REGISTRATION_AGENT, 1)
    await becomes(place, about_last(place), "Serving", within=300)


async def not_chosen(place: Place) -> None:
    await place.patch_placement({"predicates": [NOWHERE]})
    await becomes(place, about_last(place), "NotChosen")
    await place.patch_placement({"predicates": None})
    await becomes(place, about_last(place), "Serving", within=300)


async def drained(place: Place) -> None:
    await cluster_draining.drain(place.hub, LAST)
    await becomes(place, about_last(place), "NotChosen")
    await place.do_as_told()
    await becomes(place, about_last(place), "Serving", within=300)


async def not_connected(place: Place) -> None:
    await place.patch_placement({**ONLY_LAST, "tolerations": [{"operator": "Exists"}]})
    place.fleet.cut(LAST)
    await becomes(place, about_last(place), "ClusterNotConnected", within=300)
    await place.do_as_told()
    place.fleet.heal(LAST)
    await becomes(place, about_last(place), "Serving", within=300)


async def left_out(place: Place) -> None:
    await place.patch_placement({"predicates": [NOWHERE]})
    await advance(30)
    member = f"{place.name}-{LAST}"
    await place.hub.create(
        kueue.MultiKueueCluster.resource, kueue.MultiKueueCluster.manifest(member, spec=by_secret("of-somebody-else"))
    )
    await place.patch_placement({"predicates": None})
    await becomes(place, about_last(place), "LeftOut")
    await place.hub.delete(kueue.MultiKueueCluster.resource, member)
    await becomes(place, about_last(place), "Serving", within=300)


async def no_queue(place: Place) -> None:
    spec = {"template": pod_template()}
    await place.hub.create(Job.resource, Job.manifest("job", place.name, spec=spec))
    await becomes(place, about_job(place), "NoQueue")
    await place.submit_again()
    await becomes(place, about_job(place), "Admitted")


async def no_workload(place: Place) -> None:
    for number in range(2):
        await place.hub.create(Pod.resource, grouped_pod(place, f"pod-{number}"))
        code = "Admitted" if number else "NoWorkload"
        await becomes(place, about_job(place), code, within=120)


async def all_is_well(place: Place) -> None:
    await becomes(place, lambda: explain.queue(place.hub, "q", place.name, kueue_namespace=KUEUE_NAMESPACE), "Open")
    await becomes(place, lambda: explain.placement(place.hub, place.name, kueue_namespace=KUEUE_NAMESPACE), "Decided")


def grouped_pod(place: Place, name: str) -> Manifest:
    labels = {kueue.QUEUE_LABEL: "q", GROUP_NAME: "job"}
    annotations = {GROUP_TOTAL_COUNT: "2"}
    spec = pod_template(requests={"cpu": "1"})["spec"]
    return Pod.manifest(name, place.name, labels=labels, annotations=annotations, spec=spec)


CASES = {
    case.__name__: case
    for case in (
        not_accepted,
        cluster_unavailable,
        not_chosen,
        drained,
        not_connected,
        left_out,
        no_queue,
        no_workload,
        all_is_well,
    )
}
SENTENCES = {
    not_accepted: ["the hub has not accepted it", SERVING],
    cluster_unavailable: ["it is not available: Registration agent stopped updating its lease.", SERVING],
    not_chosen: ["no Placement of kueue-system chooses it: {name}: label gpu must be 'none' and is not set", SERVING],
    drained: [
        "no Placement of kueue-system chooses it: {name}: taint fleetqueue.dev/drain:NoSelect is not tolerated",
        SERVING,
    ],
    not_connected: ["Kueue does not reach it: ClientConnectionFailed: connection *", SERVING],
    left_out: [
        "Placement {name} chooses it, and AdmissionCheck {name} leaves it out: MultiKueueCluster {name}-cluster3"
        " was not made by fleetqueue",
        SERVING,
    ],
    no_queue: [
        "it has no label kueue.x-k8s.io/queue-name, so Kueue leaves it alone",
        "The workload is admitted",
    ],
    no_workload: [
        "1 of the 2 pods of its group are there; Kueue queues the group when all are",
        "The workload is admitted",
    ],
    all_is_well: [NOTHING_STANDS_AGAINST, "it has chosen cluster1, cluster2, cluster3"],
}
"""What is said, first and when it was mended, with the case's own name for {name}, and * for what varies."""


@pytest.fixture(scope="module")
def told():
    return tell({name: partial(labelled_last, case) for name, case in CASES.items()})


@pytest.mark.parametrize("case", CASES)
def test_it_is_named_and_gone_after_its_step(told, case):
    seen = told[case]

    if isinstance(seen, Exception):
        raise seen
    for cause, sentence in zip(seen, SENTENCES[CASES[case]], strict=True):
        assert fnmatchcase(cause.sentence, sentence.format(name=case.replace("_", "-")))
    assert not any(says_nothing(cause.step) for cause in seen if cause.code not in NOTHING_TO_DO)
