"""Which cluster sets a Placement may choose from: those that are bound to its namespace, and that it asks for.

Mirrors: OCM pkg/placement/controllers/scheduling/scheduling_controller.go
"""

from collections.abc import Callable, Iterable, Sequence

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement
from fleetqueue.embedded.ocm.placement.plugins.selectors import check


def bound_sets(
    bindings: Iterable[ManagedClusterSetBinding], cluster_set: Callable[[str], ManagedClusterSet | None]
) -> list[ManagedClusterSet]:
    """Return the sets that a namespace's bindings name, by the bindings' own names, as far as they exist."""
    named_sets = (cluster_set(binding.name) for binding in bindings)
    return sorted(
        (named_set for named_set in named_sets if named_set is not None), key=lambda named_set: named_set.name
    )


def eligible_sets(placement: Placement, bound: Sequence[ManagedClusterSet]) -> list[ManagedClusterSet]:
    """Return those of the bound sets that a Placement asks for; it asks for all where it names none."""
    wanted = placement.spec.cluster_sets
    return [cluster_set for cluster_set in bound if not wanted or cluster_set.name in wanted]


def check_sets(sets: Iterable[ManagedClusterSet]) -> None:
    """Demand sets that can be read; raises TerminalError, since nothing can be said of who is in such a set."""
    for cluster_set in sets:
        selector = cluster_set.spec.cluster_selector.label_selector
        try:
            if selector is not None:
                check(selector)
        except ValueError as error:
            raise errors.TerminalError(f"the selector of {cluster_set} cannot be used: {error}") from error


def is_member(cluster: ManagedCluster, cluster_set: ManagedClusterSet) -> bool:
    """Tell whether a cluster is in a set; nobody is in one that cannot be read."""
    try:
        return cluster_set.has(cluster)
    except ValueError:
        return False
