"""What holds of topologies whatever the nodes, the queues and the Workloads are: played through, cycle after cycle.

In its turn a head is asked again for room, each pod set and each flavor alone and without places of pods, so that a
node may be given away twice in one cycle, as recorded of Kueue (`kueue_topology/one_cycle.yaml`). These are about
Workloads of one pod set in queues of one flavor, and cpu.
"""

from hypothesis import given, settings

from fleetqueue.api.kueue_topology import HOSTNAME

from .topology_crowds import (
    CROWDS,
    EARLY,
    EQUALS,
    FAIR,
    LATE,
    NODES,
    PLENTY,
    PREEMPTS,
    keep_order,
    keep_room,
    topology_play,
)


@settings(max_examples=150, deadline=None)
@given(**CROWDS, fair=FAIR)
def test_no_node_holds_more_than_it_has_and_preemption_makes_room_for_whom_it_was(**crowd):
    keep_room(**crowd)


@settings(max_examples=60, deadline=None)
@given(sizes=NODES, early=EARLY, late=LATE, fair=FAIR)
def test_required_pods_are_in_one_domain(sizes, early, late, fair):
    play = topology_play(sizes, PLENTY, fair, **PREEMPTS)

    for _ in play.waves(early, late):
        assert all(is_together(play, name) for name in play.placed)


def is_together(play, name):
    """Tell whether the pods of a Workload are in one domain, where it requires that."""
    required = play.submitted[name].topology.get("required")
    nodes = [at for at in play.placed[name] if at.startswith("x")]
    return required is None or len({at if required == HOSTNAME else at[1] for at in nodes}) == 1


@settings(max_examples=60, deadline=None)
@given(**EQUALS, fair=FAIR)
def test_a_strict_queue_keeps_its_order(**equals):
    """Among equals, and where nobody is preempted, who was submitted first runs first."""
    keep_order(**equals)
