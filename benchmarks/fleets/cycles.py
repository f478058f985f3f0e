"""What one cycle of the scheduler's core costs, without an API: all queues have a head, and each is decided on.

What was decided is not done, so that every cycle has the same to decide.
"""

import statistics
from itertools import cycle
from time import process_time

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import SchedulingSettings
from fleets.workloads import NAME, Load

CYCLES = 15


def filled(load: Load, settings: SchedulingSettings) -> Cache:
    """Return a cache with all objects of a load, and a Workload in each queue, of its classes by turns."""
    cache = Cache(settings)
    cache.set_namespace(NAME, {})
    take = {
        Node: cache.set_node,
        Topology: cache.set_topology,
        kueue.ResourceFlavor: cache.set_flavor,
        kueue.ClusterQueue: cache.set_cluster_queue,
        kueue.LocalQueue: cache.set_local_queue,
    }
    for kind, manifest in (*load.surroundings(), *load.queue_objects()):
        take[kind](kind.view(manifest))
    for number, (queue, one) in enumerate(zip(load.queues, cycle(load.classes))):
        manifest = load.workload(f"{queue}-{one.name}-0", one)
        manifest["metadata"] |= {"uid": f"uid-{number}", "resourceVersion": "1", "generation": 1}
        manifest["metadata"]["creationTimestamp"] = timestamp(clock.now())
        cache.set_workload(kueue.QueuedWorkload.view(manifest))
    return cache


def cost_of_a_cycle(load: Load, settings: SchedulingSettings) -> float:
    """Return the CPU milliseconds of a cycle in which all queues have a head: the median of some, after the first."""
    cache, costs = filled(load, settings), []
    for number in range(CYCLES + 1):
        heads = cache.heads()
        assert len(heads) == len(load.queues), "a queue has no head"
        began = process_time()
        entries = Cycle(cache, number, clock.now(), settings.fair_sharing).run(heads)
        costs.append(1000 * (process_time() - began))
        for entry in entries:
            cache.back(entry.work, Requeue.FAILED_AFTER_NOMINATION)
    return statistics.median(costs[1:])
