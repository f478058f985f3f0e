"""Caches of queues that share fairly, and what a cycle decides of them."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.settings import FairSharingSettings, SchedulingSettings

from .objects import NAMESPACE, NOON, flavor, group, local_queue, queue, quota

FAIR = FairSharingSettings()


def cohort_queue(name, cpus, *, to="c", weight=None, **spec):
    shares = {} if weight is None else {"fairSharing": {"weight": weight}}
    return queue(name, group(default=quota(cpus)), cohort=to, **shares, **spec)


def fair_cache(*objects, fair=FAIR):
    cache = Cache(SchedulingSettings(fair_sharing=fair))
    cache.set_namespace(NAMESPACE, {})
    cache.set_flavor(flavor())
    for each in objects:
        match each:
            case kueue.ClusterQueue():
                cache.set_cluster_queue(each)
                cache.set_local_queue(local_queue(each.name))
            case kueue.ResourceFlavor():
                cache.set_flavor(each)
            case kueue.Cohort():
                cache.set_cohort(each)
            case _:
                cache.set_workload(each)
    return cache


def decided(cache, number=1):
    """Run a cycle; return what became of each head, by its name."""
    entries = Cycle(cache, number, NOON, cache.settings.fair_sharing).run(cache.heads())
    return {entry.work.view.name: entry for entry in entries}


def fates(cache):
    return {name: entry.status.name for name, entry in decided(cache).items()}


def victims(cache, preemptor="w"):
    """Return whom a head preempts, and why."""
    entry = decided(cache)[preemptor]
    assert (entry.status.name == "PREEMPTS") == bool(entry.targets)
    return sorted((target.candidate.work.view.name, target.reason) for target in entry.targets)
