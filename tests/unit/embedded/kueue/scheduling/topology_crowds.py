"""Nodes, queues and two waves of Workloads, as drawn, and what holds of them: also asked with planted mistakes."""

from hypothesis import strategies as st

from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.embedded.kueue.settings import FairSharingSettings

from .fair_play import OVERTAKES, Play
from .objects import group, queue, quota
from .topology_objects import cluster, node

QUEUES = ("q", "r", "s")
PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}}
PLENTY = (50, 50, 50)
"""More quota than there are nodes for."""
NODES = st.dictionaries(
    st.builds("r{}/x{}{}".format, st.integers(1, 2), st.integers(1, 2), st.integers(1, 3)).filter(
        lambda path: path[1] == path[4]
    ),
    st.integers(1, 4),
    min_size=1,
    max_size=6,
)
ASKED = st.sampled_from([{"required": "rack"}, {"required": HOSTNAME}, {"preferred": "rack"}, {"unconstrained": True}])


def jobs(pods, cpus, priorities, **limits):
    one = {"to": st.sampled_from(QUEUES), "pods": pods, "cpu": cpus, "priority": priorities, "topology": ASKED}
    return st.lists(st.fixed_dictionaries(one), **limits)


FAIR = st.sampled_from([None, FairSharingSettings()])
EARLY = jobs(st.integers(1, 2), st.just(1), st.integers(0, 1), min_size=4, max_size=16)
LATE = jobs(st.integers(1, 5), st.integers(1, 2), st.integers(0, 2), min_size=1, max_size=10)
"""Submitted when what they need is taken, and larger: several must go for one of them."""
OF_ONE_PRIORITY = jobs(st.integers(1, 5), st.integers(1, 2), st.just(0), min_size=1, max_size=10)
CROWDS = {"sizes": NODES, "early": EARLY, "late": LATE, "quotas": st.tuples(*[st.integers(0, 12)] * 3)}
EQUALS = {"sizes": NODES, "early": OF_ONE_PRIORITY, "late": OF_ONE_PRIORITY}


def topology_play(sizes, quotas, fair, **spec):
    queues = [
        queue(name, group(default=quota(cpu)), cohort="c", **spec) for name, cpu in zip(QUEUES, quotas, strict=True)
    ]
    nodes = [node(path, str(cpu)) for path, cpu in sizes.items()]
    return Play(cluster(*nodes, queues=queues, fair=fair), {path.split("/")[1]: cpu for path, cpu in sizes.items()})


def keep_room(sizes, early, late, quotas, fair):
    """`Play` looks itself, after each preemption, whether there is room, and whether anybody is admitted twice."""
    play = topology_play(sizes, quotas, fair, **PREEMPTS)

    for _ in play.waves(early, late):
        assert play.usage() <= play.room


def keep_order(sizes, early, late, fair):
    play = topology_play(sizes, PLENTY, fair, queueingStrategy="StrictFIFO")

    for _ in play.waves(early, late):
        assert [play.overtakers(name) for name in QUEUES] == [[], [], []], OVERTAKES
