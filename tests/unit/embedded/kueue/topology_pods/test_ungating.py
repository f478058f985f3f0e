"""Which pods leave the topology gate, and for where."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.topology_pods.ranks import BadOffset
from fleetqueue.embedded.kueue.topology_pods.started_pods import by_pod_set
from fleetqueue.embedded.kueue.topology_pods.ungating import is_placed_by_topology, pods_to_ungate, ungated

from .objects import GATE, HOST, INDEX, JOB_INDEX, OFFSET, admitted_manifest, placed, pod

BY_INDEX = {"podIndexLabel": INDEX}
BY_JOB = {**BY_INDEX, "subGroupIndexLabel": JOB_INDEX, "subGroupCount": 2}


def where(*parts, pods, **said):
    """Return the nodes of the pods that go on."""
    raw = admitted_manifest(*parts, **said)
    requests = {each.name: each.topology_request for each in pod_sets(raw["spec"]["podSets"])}
    found = pods_to_ungate(kueue.QueuedWorkload.view(raw), requests, by_pod_set(pods))
    return {each.pod["metadata"]["name"]: each.selector[HOST] for each in found}


@pytest.mark.parametrize(
    ("pods", "places"),
    [
        pytest.param(
            [pod("a", index=2), pod("b", index=0), pod("c", index=1)], {"b": "n1", "c": "n1", "a": "n2"}, id="by rank"
        ),
        pytest.param([pod("a", index=2)], {"a": "n2"}, id="one whose others are not there yet"),
        pytest.param(
            [pod("a", index=0, on="n1"), pod("b", index=2)], {"b": "n2"}, id="beside one that is where it belongs"
        ),
        pytest.param(
            [pod("a", index=0, on="n1", phase="Failed"), pod("b", index=0)],
            {"b": "n1"},
            id="in the place of one that failed",
        ),
        pytest.param(
            [pod("a", index=0, on="n2"), pod("b", index=1), pod("c", index=2)],
            {"b": "n1", "c": "n1"},
            id="one is elsewhere than its rank says: one after another",
        ),
        pytest.param(
            [pod("a", index=0), pod("b", index=0)], {"a": "n1", "b": "n1"}, id="two of one rank: one after another"
        ),
        pytest.param([pod("a", index=0), pod("b")], {"a": "n1", "b": "n1"}, id="one without a number"),
        pytest.param([pod("a", index=3), pod("b", index=0)], {"a": "n1", "b": "n1"}, id="a number too large"),
        pytest.param(
            [pod("a"), pod("b"), pod("c"), pod("d")], {"a": "n1", "b": "n1", "c": "n2"}, id="no more than fit"
        ),
    ],
)
def test_pods_go_where_their_rank_says_or_else_where_there_is_room(pods, places):
    assert where(placed(("n1", 2), ("n2", 1)), pods=pods, request=BY_INDEX) == places


def test_pods_whose_numbers_are_no_ranks_go_where_there_is_room():
    pods = [pod("a", index=2), pod("b", on="n1"), pod("c", index=0, on="n2", phase="Succeeded")]

    assert where(placed(("n1", 1), ("n2", 1)), pods=pods) == {"a": "n2"}


def test_ranks_go_through_the_jobs_of_a_set():
    pods = [pod(f"j{job}-{index}", index=index, labels={JOB_INDEX: str(job)}) for job in (1, 0) for index in (1, 0)]

    found = where(placed(("n1", 1), ("n2", 2), ("n3", 1)), pods=pods, request=BY_JOB)

    assert found == {"j0-0": "n1", "j0-1": "n2", "j1-0": "n2", "j1-1": "n3"}


@pytest.mark.parametrize("request_", [{**BY_JOB, "subGroupCount": 0}, {**BY_JOB, "subGroupCount": 4}])
def test_groups_that_cannot_be_mean_no_ranks(request_):
    pods = [pod("a", index=1, labels={JOB_INDEX: "0"}), pod("b", index=0, labels={JOB_INDEX: "0"})]

    assert where(placed(("n1", 1), ("n2", 1)), pods=pods, request=request_) == {"a": "n1", "b": "n2"}


def test_the_workers_of_a_group_are_counted_after_their_leader():
    leader, workers = placed(("n1", 1), name="leader"), placed(("n1", 1), ("n2", 1), name="worker")
    request = {**BY_INDEX, "podSetGroupName": "g", "required": "rack"}
    pods = [pod("l", of="leader", index=0), pod("w2", of="worker", index=2), pod("w1", of="worker", index=1)]

    assert where(workers, leader, pods=pods, request=request) == {"l": "n1", "w1": "n1", "w2": "n2"}


def test_workers_that_count_from_one_say_so():
    part = placed(("n1", 1), ("n2", 1))
    pods = [pod("w2", index=2, annotations={OFFSET: "1"}), pod("w1", index=1, annotations={OFFSET: "1"})]

    assert where(part, pods=pods, request=BY_INDEX) == {"w1": "n1", "w2": "n2"}


def test_an_offset_that_is_no_number_is_told():
    with pytest.raises(BadOffset):
        where(placed(("n1", 1)), pods=[pod("a", annotations={OFFSET: "one"})])


def test_an_assignment_of_fewer_pods_than_the_set_has_goes_one_after_another():
    part = placed(("n1", 1), count=2)

    assert where(part, pods=[pod("a", index=1), pod("b", index=0)], request=BY_INDEX) == {"a": "n1"}


def test_nobody_goes_to_a_node_that_failed():
    pods = [pod("a", index=0), pod("b", index=1)]

    assert where(placed(("n1", 1), ("n2", 1)), pods=pods, unhealthy=["n1"], request=BY_INDEX) == {"b": "n2"}


def test_a_set_without_an_assignment_is_left_alone():
    plain = {"name": "plain", "count": 1}

    assert where(placed(("n1", 1)), plain, pods=[pod("a"), pod("b", of="plain")]) == {"a": "n1"}


def test_only_admitted_workloads_are_placed():
    reserved = admitted_manifest(placed(("n1", 1)))
    first = reserved["status"]["conditions"][:1]
    waiting = {**reserved, "status": {**reserved["status"], "conditions": first}}
    plain = admitted_manifest({"name": "main", "count": 1})

    found = [is_placed_by_topology(kueue.QueuedWorkload.view(raw)) for raw in (reserved, waiting, plain)]

    assert found == [True, False, False]


def test_a_pod_that_goes_on_keeps_other_gates_and_its_selector():
    raw = pod("a")
    raw["spec"] |= {"schedulingGates": [GATE, {"name": "other"}], "nodeSelector": {"os": "linux"}}

    spec = ungated(raw, {HOST: "n1"})["spec"]

    assert spec["schedulingGates"] == [{"name": "other"}]
    assert spec["nodeSelector"] == {"os": "linux", HOST: "n1"}
    assert "schedulingGates" not in ungated(pod("a"), {HOST: "n1"})["spec"]
