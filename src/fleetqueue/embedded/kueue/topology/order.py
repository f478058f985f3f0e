"""In which order domains are taken, and which of them is taken last.

Two profiles: pods that must be near each other take the largest domains first, so that they need few of them, and end
with the one that they fill best. Pods that may be anywhere take the domains with the least room first.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (sortedDomains, findBestFitDomain, prioritizeLeaderDomain)
"""

from collections.abc import Iterable, Sequence

from fleetqueue.embedded.kueue.topology.counting import CountedDomain


def ordered(domains: Iterable[CountedDomain], *, least_first: bool) -> list[CountedDomain]:
    sign = 1 if least_first else -1
    return sorted(domains, key=lambda one: (sign * one.slices, one.pods, one.place))


def ordered_for_leader(domains: Iterable[CountedDomain], *, least_first: bool) -> list[CountedDomain]:
    sign = 1 if least_first else -1
    return sorted(
        domains, key=lambda one: (-one.leaders, sign * one.slices_with_leader, one.pods_with_leader, one.place)
    )


def best_fit(domains: Sequence[CountedDomain], needed: int, leaders: int, *, by_slices: bool) -> CountedDomain:
    """Return the domain that has enough and the least of it; the first one where none has enough."""
    fitting = [one for one in domains if one.leaders >= leaders and room(one, leaders, by_slices=by_slices) >= needed]
    return min(fitting, key=lambda one: room(one, leaders, by_slices=by_slices), default=domains[0])


def room(domain: CountedDomain, leaders: int, *, by_slices: bool) -> int:
    """Return how many slices, or pods, fit into a domain; beside the leader if there is one."""
    if by_slices:
        return domain.slices_with_leader if leaders else domain.slices
    return domain.pods_with_leader if leaders else domain.pods


def leader_first(domains: list[CountedDomain], needed: int, leaders: int, *, by_slices: bool) -> list[CountedDomain]:
    """Put a domain first that can take the leader, and where that does not cost a place which is needed."""
    if not leaders or len(domains) < 2:
        return domains
    spare = sum(room(one, 0, by_slices=by_slices) for one in domains) - needed
    for place, one in enumerate(domains):
        lost = room(one, 0, by_slices=by_slices) - room(one, leaders, by_slices=by_slices)
        if one.leaders >= leaders and lost <= spare:
            return [one, *domains[:place], *domains[place + 1 :]]
    return domains
