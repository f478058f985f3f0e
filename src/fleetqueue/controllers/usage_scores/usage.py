"""What pods ask of the nodes that they run on, and what that leaves free.

A pod takes what the scheduler sets aside for it, the way Kubernetes counts it, not what it happens to use. Simplified:
a pod that is being resized in place counts with the requests of its spec, not with the larger of old and new.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from fleetqueue.api import conditions, quantity
from fleetqueue.api.core_v1 import Container, Node, Pod
from fleetqueue.api.pod_requests import Starter, pod_requests
from fleetqueue.api.quantity import Amounts
from fleetqueue.api.usage_scores import CPU, MEMORY, RESOURCES

POD_LEVEL_RESOURCES: Final = (CPU, MEMORY)
"""What a pod may ask for as a whole; of those that we score, Kubernetes accepts no others."""
NOTHING: Final[Amounts] = {}


class Ledger:
    """The free resources of a cluster, brought up to date by each change instead of counted anew.

    A worker may have a hundred thousand pods: adding them all up again for each that comes or goes is too slow.
    """

    def __init__(self) -> None:
        self._capacity: dict[str, Amounts] = {}
        self._used: dict[str, Amounts] = {}

    def change_pod(self, old: Pod | None, new: Pod | None) -> bool:
        """Take a changed pod into account; return whether it changed what is used."""
        before, after = usage(old), usage(new)
        if before == after:
            return False
        self._add(*before, sign=-1)
        self._add(*after, sign=1)
        return True

    def change_node(self, old: Node | None, new: Node | None) -> bool:
        """Take a changed node into account; return whether it changed what there is."""
        before, after = capacity(old), capacity(new)
        for node in (old, new):
            if node is not None:
                self._capacity.pop(node.name, None)
        if new is not None and after:
            self._capacity[new.name] = after
        return before != after

    def free(self) -> Iterator[Amounts]:
        """Yield what is free on each node that takes pods.

        A node that holds more than it has (its devices failed, say) has nothing free; it takes nothing from the others.
        """
        for name, amounts in self._capacity.items():
            used = self._used.get(name, NOTHING)
            yield {resource: max(have - used.get(resource, 0), Decimal(0)) for resource, have in amounts.items()}

    def _add(self, node: str, amounts: Amounts, *, sign: int) -> None:
        if not amounts:
            return
        used = quantity.add((self._used.pop(node, NOTHING), {name: sign * value for name, value in amounts.items()}))
        left = {name: value for name, value in used.items() if value}
        if left:
            self._used[node] = left


def usage(pod: Pod | None) -> tuple[str, Amounts]:
    """Return which node a pod takes from, and how much of what is scored; nothing where it does not run, or no more."""
    if pod is None or not pod.spec.node_name or pod.is_deleting or pod.status.phase in ("Succeeded", "Failed"):
        return "", NOTHING
    requested = requests_of(pod)
    taken = {name: requested[name] for name in RESOURCES if requested.get(name)}
    return (pod.spec.node_name, taken) if taken else ("", NOTHING)


def capacity(node: Node | None) -> Amounts:
    """Return how much of what is scored a node offers to pods; nothing where it takes none.

    Simplified: taints are not looked at. Nodes with accelerators are commonly tainted so that only the jobs that want
    them come, and those tolerate it; a node that is not well or cordoned shows it in its conditions and its spec.
    """
    if node is None or node.spec.unschedulable or not is_ready(node):
        return NOTHING
    return {name: quantity.parse(value) for name, value in node.status.allocatable.items() if name in RESOURCES}


def is_ready(node: Node) -> bool:
    """Tell whether a node is well; one of which nobody says anything (it has no kubelet, say) counts as well."""
    ready = conditions.find(node.status.conditions, "Ready")
    return ready is None or ready.is_true


def requests_of(pod: Pod) -> Amounts:
    """Return what the scheduler sets aside for a pod."""
    spec, whole = pod.spec, pod.spec.resources.requests
    return pod_requests(
        (Starter(_requests(one), one.restart_policy == "Always") for one in spec.init_containers),
        map(_requests, spec.containers),
        whole={name: quantity.parse(whole[name]) for name in POD_LEVEL_RESOURCES if name in whole},
        overhead=quantity.parse_all(spec.overhead),
    )


def _requests(container: Container) -> Amounts:
    return quantity.parse_all(container.resources.requests)
