"""What the pod sets of a Workload ask for: the requests of their containers, and where their pods may run."""

from collections.abc import Iterable
from typing import Any

import msgspec

from fleetqueue.api.meta import View, without_nulls
from fleetqueue.api.pod_requests import Starter, pod_requests
from fleetqueue.api.quantity import Amounts, Quantity, parse_all
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.tolerations import Toleration


class Resources(View):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class Container(View):
    resources: Resources = Resources()
    restart_policy: str = ""
    ports: tuple[dict[str, Any], ...] = ()


class NodeTerm(View):
    """One requirement of a node affinity."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(View):
    match_expressions: tuple[NodeTerm, ...] = ()


class RequiredNodes(View):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(View):
    required_during_scheduling_ignored_during_execution: RequiredNodes | None = None


class Affinity(View):
    node_affinity: NodeAffinity = NodeAffinity()


class PodSpec(View):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    """What the pod asks for as a whole."""
    overhead: dict[str, Quantity] = {}
    runtime_class_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()

    def needs(self) -> Amounts:
        """Return what one pod asks for."""
        whole = self.resources.requests if self.resources is not None else {}
        return pod_requests(
            (Starter(_asks(one), one.restart_policy == "Always") for one in self.init_containers),
            map(_asks, self.containers),
            whole=parse_all(whole),
            overhead=parse_all(self.overhead),
        )


class PodTemplate(View):
    spec: PodSpec = PodSpec()


class PodSet(View):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: PodTemplate = PodTemplate()
    topology_request: dict[str, Any] | None = None

    @property
    def asks_for_topology(self) -> bool:
        names = ("required", "preferred", "unconstrained", "podSetSliceRequiredTopology", "podSetSliceSize")
        return any(name in (self.topology_request or {}) for name in names)


def pod_sets(raw: Iterable[Manifest]) -> list[PodSet]:
    """Read the pod sets of a Workload; what somebody wrote as null reads as empty."""
    try:
        return msgspec.convert([*raw], list[PodSet])
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls([*raw]), list[PodSet])


def _asks(container: Container) -> Amounts:
    return parse_all(container.resources.requests)
