"""One cycle with topologies: where pods go, who gets a domain, and who is preempted for it."""

import pytest

from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus
from fleetqueue.embedded.kueue.scheduling.other_pods import OtherPod
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import SchedulingSettings

from .objects import NAMESPACE, NOON, check, flavor, group, pod_set, queue, quota, workload
from .topology_objects import RACKS, asking, cluster, node, running, tas_flavor, topology

MULTIKUEUE = {"admissionChecks": [{"name": "mk"}]}


def outcome(cache, number=1):
    entries = Cycle(cache, number, NOON).run(cache.heads())
    return {entry.work.view.name: entry for entry in entries}


def where(entry, part=0):
    """Return how many pods of a pod set are on which node."""
    placement = entry.assignment.parts[part].placement
    return {domain.values[-1]: domain.pods for domain in placement.domains} if placement is not None else None


def test_a_workload_is_admitted_with_the_nodes_of_its_pods():
    found = outcome(cluster(*RACKS, workloads=[asking("w", 3)]))["w"]

    assert found.status is EntryStatus.ADMITTED
    assert where(found) == {"a": 2, "b": 1}
    assert found.assignment.parts[0].manifest["topologyAssignment"]["levels"] == [HOSTNAME]


def test_in_a_queue_with_no_other_flavors_pods_are_placed_though_nobody_asks():
    found = outcome(cluster(*RACKS, workloads=[asking("w", 5, topology=None)]))["w"]

    assert where(found) == {"a": 2, "b": 2, "c": 1}


def test_two_heads_of_one_cycle_do_not_take_one_domain():
    queues = [queue(name, group(default=quota(10))) for name in "qrs"]
    heads = [asking(name, 2, to=to) for name, to in zip("wxy", "qrs", strict=True)]

    found = outcome(cluster(*RACKS, queues=queues, workloads=heads))

    assert [where(found[name]) for name in "wxy"] == [{"c": 2}, {"a": 2}, {"b": 2}]
    assert {entry.status for entry in found.values()} == {EntryStatus.ADMITTED}


def test_a_head_for_which_no_domain_is_left_waits():
    queues = [queue(name, group(default=quota(10))) for name in "qr"]
    heads = [asking("w", 3, to="q"), asking("x", 4, to="r", age=9)]

    found = outcome(cluster(*RACKS, queues=queues, workloads=heads))

    assert where(found["x"]) == {"a": 2, "b": 2}
    assert found["w"].status is EntryStatus.PENDING
    assert found["w"].message == (
        'couldn\'t assign flavors to pod set main: topology "t" allows to fit only 2 out of 3 pod(s). '
        'Total nodes: 3; excluded: resource "cpu": 2'
    )


def test_a_cycle_leaves_no_trace_in_the_domains():
    cache = cluster(*RACKS, workloads=[asking("w", 3)])

    outcome(cache)

    assert {leaf.remaining["cpu"] for leaf in cache.topologies["default"].tree.leaves.values()} == {2000}


def test_what_does_not_fit_into_any_rack_does_not_fit():
    found = outcome(cluster(*RACKS, workloads=[asking("w", 5)]))["w"]

    assert (found.status, found.why) == (EntryStatus.PENDING, Requeue.NO_FIT)
    assert found.message == (
        'couldn\'t assign flavors to pod set main: topology "t" allows to fit only 4 out of 5 pod(s)'
    )


def test_the_next_flavor_is_tried_in_the_next_cycle():
    flavors = [tas_flavor("one"), flavor("two", nodeLabels={"pool": "other"}, topologyName="t")]
    other = Node.view({**raw(node("r9/z", "8")), "metadata": {"name": "z", "labels": OTHER_POOL}})
    asked = queue("q", group(one=quota(9), two=quota(9)))
    cache = cluster(*RACKS, other, flavors=flavors, queues=[asked], workloads=[asking("w", 5)])
    first = outcome(cache)["w"]
    is_in_line = cache.back(first.work, first.why)

    second = outcome(cache, 2)["w"]

    assert (first.status, is_in_line) == (EntryStatus.PENDING, True)
    assert where(second) == {"z": 5}


OTHER_POOL = {"rack": "r9", HOSTNAME: "z", "pool": "other"}


def raw(one):
    labels = dict(one.metadata.labels)
    status = {"allocatable": dict(one.status.allocatable), "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": one.name, "labels": labels}, "status": status}


@pytest.mark.parametrize(
    ("workloads", "pods", "found"),
    [
        pytest.param([running("x", "c")], [], {"a": 2}, id="Workloads"),
        pytest.param([], [("c", {}, "Running")], {"a": 2}, id="other pods"),
        pytest.param([], [("c", {}, "Succeeded")], {"c": 2}, id="pods that have ended take no room"),
        pytest.param(
            [],
            [("c", {"kueue.x-k8s.io/podset-required-topology": "rack"}, "Running")],
            {"c": 2},
            id="pods that we place count with their Workload",
        ),
    ],
)
def test_who_takes_room(workloads, pods, found):
    cache = cluster(*RACKS, workloads=[*workloads, asking("w", 2)])
    for name, annotations, phase in pods:
        container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
        spec = {"nodeName": name, "containers": [container]}
        metadata = {"name": "p", "namespace": "n", "annotations": annotations}
        cache.set_pod(OtherPod.kept({"metadata": metadata, "spec": spec, "status": {"phase": phase}}))

    assert where(outcome(cache)["w"]) == found


def test_room_comes_back_when_workloads_and_pods_go():
    cache = cluster(node("r1/a"), workloads=[running("x", "a")])
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "a", "containers": [container]}}
    cache.set_pod(OtherPod.kept(pod))
    leaf = cache.topologies["default"].tree.leaves[("a",)]
    full = dict(leaf.remaining)

    cache.drop_pod("n/p")
    cache.drop_workload(f"{NAMESPACE}/x")

    assert full == {"cpu": 0, "pods": 8}
    assert leaf.remaining == leaf.free == {"cpu": 2000, "pods": 10}


@pytest.mark.parametrize(
    ("change", "woken"),
    [
        pytest.param(lambda cache: cache.set_node(node("r3/d")), True, id="a node comes"),
        pytest.param(lambda cache: cache.drop_node("a"), True, id="a node goes"),
        pytest.param(lambda cache: cache.set_node(node("r1/a", ready=False)), True, id="a node is not ready"),
        pytest.param(lambda cache: cache.set_node(node("r1/a", unschedulable=True)), True, id="a node is cordoned"),
        pytest.param(lambda cache: cache.set_node(node("r1/a")), False, id="a node as it was"),
        pytest.param(lambda cache: cache.set_topology(topology("other")), False, id="another topology"),
    ],
)
def test_who_is_tried_again_when_nodes_change(change, woken):
    plain = queue("plain", group(plain=quota(1)))
    cache, trees = cluster(*RACKS, queues=[queue("q", group(default=quota(1))), plain]), []
    cache.retry = trees.append

    change(cache)

    assert trees == (["q", "plain"] if woken else [])


def test_only_queues_of_its_node_are_tried_again_when_a_pod_goes():
    plain = queue("plain", group(plain=quota(1)))
    cache, trees = cluster(*RACKS, queues=[queue("q", group(default=quota(1))), plain]), []
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "a", "containers": []}}
    cache.set_pod(OtherPod.kept(pod))
    cache.retry = trees.append

    cache.drop_pod("n/p")

    assert trees == ["q"]


def test_without_its_topology_a_queue_is_closed_until_that_comes():
    cache = cluster(*RACKS, topologies=(), workloads=[asking("w")])
    before = [tuple(one) for one in cache.problems("q")]

    cache.set_topology(topology())

    assert before == [("TopologyNotFound", 'there is no Topology "t" for TAS flavor "default"')]
    assert cache.problems("q") == []
    assert outcome(cache)["w"].status is EntryStatus.ADMITTED


def test_usage_is_known_also_of_workloads_that_were_seen_before_their_topology():
    cache = cluster(*RACKS, topologies=(), workloads=[running("x", "c", "c"), asking("w", 2)])
    cache.set_topology(topology())

    assert where(outcome(cache)["w"]) == {"a": 2}


LOWER = {"preemption": {"withinClusterQueue": "LowerPriority"}}


def test_somebody_is_preempted_whose_domain_is_needed():
    asked = queue("q", group(default=quota(100)), **LOWER)
    holders = [running("x", "a", "b"), running("y", "c", "c", priority=1)]
    cache = cluster(*RACKS, queues=[asked], workloads=[*holders, asking("w", 4, priority=5)])

    found = outcome(cache)["w"]

    assert found.status is EntryStatus.PREEMPTS
    assert [target.candidate.work.view.name for target in found.targets] == ["x"]
    assert where(found) == {"a": 2, "b": 2}


def test_a_head_that_waits_for_a_domain_keeps_others_from_it():
    queues = [queue("q", group(default=quota(100))), queue("r", group(default=quota(100)))]
    holders = [running("x", "a", "b")]
    heads = [asking("w", 4, priority=5), asking("v", 1, to="r", topology={"required": HOSTNAME})]
    cache = cluster(node("r1/a"), node("r1/b"), queues=queues, workloads=[*holders, *heads])

    found = outcome(cache)

    assert (found["w"].status, found["w"].why) == (EntryStatus.PENDING, Requeue.NO_CANDIDATES)
    assert found["v"].status is not EntryStatus.ADMITTED


def test_a_queue_without_flavors_admits_nobody():
    found = outcome(cluster(queues=[queue("q", resourceGroups=[])], workloads=[workload("w", pod_set())]))["w"]

    assert (found.status, found.message) == (
        EntryStatus.PENDING,
        "failed to assign flavors to pod set main: workload requires Topology, but there is no TAS cache information",
    )


def test_with_multikueue_the_topology_is_assigned_later():
    asked = queue("q", group(default=quota(10)), admissionChecksStrategy=MULTIKUEUE)
    checks = [check("mk", controller="kueue.x-k8s.io/multikueue")]

    found = outcome(cluster(queues=[asked], checks=checks, workloads=[asking("w", 2)]))["w"]

    assert found.status is EntryStatus.ADMITTED
    assert where(found) is None
    assert found.assignment.parts[0].manifest["delayedTopologyRequest"] == "Pending"


def test_where_nodes_are_made_first_pods_are_placed_in_a_second_pass():
    asked = queue("q", group(default=quota(10)), admissionChecksStrategy={"admissionChecks": [{"name": "pr"}]})
    checks = [check("pr", controller="kueue.x-k8s.io/provisioning-request")]
    first = outcome(cluster(queues=[asked], checks=checks, workloads=[asking("w")]))["w"]
    later = running("w", checks=["pr"], delayed="Pending")
    cache = cluster(*RACKS, queues=[asked], checks=checks, workloads=[later])
    cache.second_pass(later.key)

    second = outcome(cache)["w"]

    assert first.assignment.parts[0].manifest["delayedTopologyRequest"] == "Pending"
    assert where(second) == {"c": 1}
    assert second.assignment.parts[0].manifest["delayedTopologyRequest"] == "Ready"


def test_what_a_check_adds_to_pods_counts_where_they_are_placed():
    asked = queue("q", group(default=quota(10)), admissionChecksStrategy={"admissionChecks": [{"name": "pr"}]})
    checks = [check("pr", controller="kueue.x-k8s.io/provisioning-request")]
    later = running("w", checks=["pr"], updates={"rack": "r2"}, delayed="Pending")
    cache = cluster(*RACKS, node("r1/z", "1"), queues=[asked], checks=checks, workloads=[later])
    cache.second_pass(later.key)

    assert where(outcome(cache)["w"]) == {"c": 1}


def test_pods_of_a_failed_node_go_to_another_one_of_the_domain_that_is_asked_for():
    nodes = [node("r1/b"), node("r1/d"), node("r2/c")]
    cache = cluster(*nodes, workloads=[running("w", "a", "b", failed=["a"])])
    cache.second_pass(f"{NAMESPACE}/w")

    found = outcome(cache)["w"]

    assert found.status is EntryStatus.ADMITTED
    assert where(found) == {"b": 2}


def test_a_workload_whose_failed_node_cannot_be_replaced_is_evicted():
    cache = cluster(node("r1/b", "1"), node("r2/c"), workloads=[running("w", "a", "b", failed=["a"])])
    cache.second_pass(f"{NAMESPACE}/w")

    assert outcome(cache)["w"].status is EntryStatus.EVICTED


def test_by_choice_a_failed_node_is_waited_for():
    cache = cluster(node("r1/b", "1"), node("r2/c"), workloads=[running("w", "a", "b", failed=["a"])])
    cache.settings = SchedulingSettings(evicts_without_replacement=False)
    cache.second_pass(f"{NAMESPACE}/w")

    found = outcome(cache)["w"]

    assert (found.status, cache.looked_again(found.work)) == (EntryStatus.PENDING, True)


def test_nobody_is_preempted_for_a_failed_node():
    asked = queue("q", group(default=quota(100)), **LOWER)
    workloads = [running("w", "a", "b", failed=["a"], priority=9), running("x", "b")]
    cache = cluster(node("r1/b"), queues=[asked], workloads=workloads)
    cache.second_pass(f"{NAMESPACE}/w")
    cycle = Cycle(cache, 1, NOON)

    (found,) = cycle.run(cache.heads())

    assert (found.status, cycle.preempted) == (EntryStatus.EVICTED, {})


def test_a_second_pass_is_asked_for_once_and_later_each_time():
    cache, asked = cluster(*RACKS), []
    cache.look_again = lambda key, delay: asked.append(delay)
    late = running("w", checks=["pr"], delayed="Pending")

    for _ in range(3):
        cache.set_workload(late)
        cache.second_pass(late.key)
        for work in cache.heads():
            assert cache.looked_again(work)
            cache.second_pass(late.key)
            assert cache.looked_again(cache.heads()[0])

    assert asked[:3] == [1.0, 2.0, 4.0]
