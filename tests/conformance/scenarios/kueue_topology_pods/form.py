"""The words of these scenarios beside those of `kueue_jobs.form`: nodes, and what their kubelets do.

    levels: [rack, host]                # of the Topology; `nodes` and `flavors` as in `kueue_topology.form`
    nodes: {x1: {at: r1, cpu: 2}}       # by default two racks with two nodes of 2 CPUs each
    steps:
      - job_set: {a: {parts: {driver: {}, worker: {replicas: 2, pods: 2, notes: {...}}}}}
      - nodes: {x1: {ready: false}, x2: null}
      - run: true                       # what is bound and has not started
      - succeed: [x1]                   # what runs there
      - stop: [x1]                      # what is there is deleted, and has its time to end, which nobody ends
      - remove: [x1]                    # what is there is gone at once

Nobody but the scenario plays the kubelets. The queue has more quota than the nodes have room.
"""

from ..kueue_topology.form import POOL, Maker  # noqa: TID252 - what the rooms share stands above them
from ..running import Objects, keyed  # noqa: TID252
from ..world import Described  # noqa: TID252

RACKS = {f"x{number}": {"at": f"r{(number + 1) // 2}", "cpu": 2} for number in range(1, 5)}
QUOTA = {"cpu": 20}


def whole(said: Described, prefix: str) -> Described:
    """Return a scenario with all that it does not say itself."""
    flavor = {"nodeLabels": {POOL: f"{prefix}default"}, "topologyName": f"{prefix}default"}
    more = {"flavor": flavor, "queue": QUOTA, "nodes": RACKS, "levels": ["rack", "host"]}
    return {**more, **said}


def topology_and_nodes(said: Described, prefix: str) -> Objects:
    """Return the Topology of a whole scenario, and its nodes."""
    state = {**Maker.at_first, "levels": said["levels"], "nodes": said["nodes"]}
    return keyed(Maker(prefix, state).further())
