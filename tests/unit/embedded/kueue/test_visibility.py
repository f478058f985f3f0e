"""Who waits in a queue: their order, their numbers, and which part of them is shown."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.aggregated_apis import AggregatedRequest
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import SchedulingSettings
from fleetqueue.embedded.kueue.visibility import GROUP, MOST, page_of, visibility_api

from .scheduling.objects import NAMESPACE, NOON, admitted, flavor, local_queue, queue, workload

ITEM = {
    "metadata": {"name": "a", "namespace": NAMESPACE, "creationTimestamp": timestamp(NOON)},
    "priority": 3,
    "localQueueName": "one",
    "positionInClusterQueue": 0,
    "positionInLocalQueue": 0,
}


@pytest.fixture
def cache():
    """A ClusterQueue to which two LocalQueues lead."""
    cache = Cache(SchedulingSettings())
    cache.set_flavor(flavor())
    cache.set_namespace(NAMESPACE, {})
    cache.set_cluster_queue(queue("q"))
    for name in ("one", "two"):
        cache.set_local_queue(local_queue(name, to="q"))
    return cache


def ask(cache, name="q", *, local=False, version="v1beta2", **query):
    place = ("localqueues", "pendingworkloads", NAMESPACE) if local else ("clusterqueues", "pendingworkloads", "")
    request = AggregatedRequest("get", version, *place, name, query)
    return visibility_api(cache.queue_manager).answer(request)


def shown(cache, name="q", **asked):
    return [
        (item["metadata"]["name"], item["positionInClusterQueue"], item["positionInLocalQueue"])
        for item in ask(cache, name, **asked)["items"]
    ]


def add(cache, *works):
    for work in works:
        cache.set_workload(work)


def test_an_answer_is_a_summary_of_the_version_that_was_asked_for(cache):
    add(cache, workload("a", to="one", priority=3))

    assert ask(cache, version="v1beta1") == {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": f"{GROUP}/v1beta1",
        "metadata": {},
        "items": [ITEM],
    }


def test_owners_are_named_and_no_more(cache):
    work = workload("a", to="one")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    raw = {"name": "a", "namespace": NAMESPACE, "uid": "uid-a", "resourceVersion": "1"}
    raw["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    add(cache, type(work).view({"metadata": raw, "spec": {"queueName": "one", "podSets": list(work.spec.pod_sets)}}))

    (item,) = ask(cache)["items"]

    assert item["metadata"]["ownerReferences"] == [owner]


@pytest.mark.parametrize("strategy", ["BestEffortFIFO", "StrictFIFO"])
def test_all_who_wait_are_in_the_order_in_which_they_are_tried(cache, strategy):
    cache.set_cluster_queue(queue("q", queueingStrategy=strategy))
    add(
        cache,
        admitted("runs", to="q", cpu="4"),
        workload("a", to="one", age=9),
        workload("b", to="two", age=8),
        workload("high", to="two", priority=5),
        workload("c", to="one", age=7),
    )
    (head,) = cache.heads()
    flying = shown(cache)
    cache.back(head, Requeue.NO_FIT)

    assert head.view.name == "high"
    assert flying == shown(cache) == [("high", 0, 0), ("a", 1, 0), ("b", 2, 1), ("c", 3, 1)]


def test_who_waits_for_those_that_it_preempts_comes_first(cache):
    add(cache, workload("a", to="one", age=9))
    (head,) = cache.heads()
    add(cache, workload("high", to="one", priority=5))
    cache.back(head, Requeue.PENDING_PREEMPTION)

    assert shown(cache) == [("a", 0, 0), ("high", 1, 1)]


def test_a_local_queue_shows_its_own_with_their_places_among_all(cache):
    add(cache, workload("a", to="one", age=9), workload("b", to="two", age=8), workload("c", to="one", age=7))

    assert shown(cache, "one", local=True) == [("a", 0, 0), ("c", 2, 1)]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["a", "b", "c"]),
        ({"limit": "1"}, ["a"]),
        ({"limit": "1", "offset": "1"}, ["b"]),
        ({"offset": "2"}, ["c"]),
        ({"offset": "9"}, []),
        ({"offset": "-1"}, ["a", "b", "c"]),
        ({"limit": "0"}, ["a", "b", "c"]),
        ({"limit": "-1"}, []),
        ({"unknown": "1"}, ["a", "b", "c"]),
    ],
)
def test_a_part_of_the_list_keeps_its_numbers(cache, query, names):
    add(cache, *(workload(name, to="one", age=9 - age) for age, name in enumerate("abc")))
    everybody = shown(cache)

    for found in (shown(cache, **query), shown(cache, "one", local=True, **query)):
        assert [name for name, *_ in found] == names
        assert set(found) <= set(everybody)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        pytest.param({}, slice(0, 1000), id="a thousand"),
        pytest.param({"limit": "5", "offset": "7"}, slice(7, 12), id="as asked"),
        pytest.param({"limit": str(2 * MOST)}, slice(0, MOST), id="not more than the most"),
    ],
)
def test_page_of(query, page):
    assert page_of(query) == page


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "abc"}, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ({"offset": "1.5"}, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ({"limit": str(2**63)}, f'strconv.ParseInt: parsing "{2**63}": value out of range'),
    ],
)
def test_what_is_no_number_is_refused_even_for_a_queue_that_is_missing(cache, query, message):
    with pytest.raises(errors.BadRequest) as refused:
        ask(cache, "missing", **query)

    assert refused.value.message == message


@pytest.mark.parametrize(
    ("name", "local", "kind"),
    [
        pytest.param("missing", False, "clusterqueue", id="no ClusterQueue"),
        pytest.param("missing", True, "localqueue", id="no LocalQueue"),
        pytest.param("held", True, "localqueue", id="a LocalQueue that is stopped"),
    ],
)
def test_a_queue_that_is_not_known_is_not_found(cache, name, local, kind):
    cache.set_local_queue(local_queue("held", to="q", stop="Hold"))

    with pytest.raises(errors.NotFound) as refused:
        ask(cache, name, local=local)

    assert refused.value.message == f'{kind}.{GROUP} "{name}" not found'
    assert refused.value.details == {"name": name, "group": GROUP, "kind": kind}


def test_a_local_queue_that_leads_nowhere_is_empty(cache):
    cache.set_local_queue(local_queue("lost", to="missing"))
    add(cache, workload("a", to="lost"))

    assert shown(cache, "lost", local=True) == []


def test_who_waits_for_a_queue_that_cannot_admit_is_shown(cache):
    cache.drop_flavor("default")
    add(cache, workload("a", to="one"))

    assert shown(cache) == [("a", 0, 0)]
