"""What the pod sets of a Workload ask for: the requests of their containers, and where their pods may run."""

from collections.abc import Collection, Iterable

import msgspec

from fleetqueue.api.core_v1 import PodSpec
from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.meta import View, without_nulls
from fleetqueue.api.scheme import Manifest


class PodTemplate(View):
    spec: PodSpec = PodSpec()


class PodSet(View):
    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: PodTemplate = PodTemplate()
    topology_request: TopologyRequest | None = None

    @property
    def asks_for_topology(self) -> bool:
        return self.topology_request is not None and self.topology_request.is_explicit


def pod_sets(raw: Iterable[Manifest]) -> list[PodSet]:
    """Read the pod sets of a Workload; what somebody wrote as null reads as empty."""
    try:
        return msgspec.convert([*raw], list[PodSet])
    except msgspec.ValidationError:
        return msgspec.convert(without_nulls([*raw]), list[PodSet])


def without_labels(template: Manifest, names: Collection[str]) -> Manifest:
    """Return a pod template without some labels."""
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name not in names}
    rest = {name: value for name, value in metadata.items() if name != "labels"}
    return {**template, "metadata": {**rest, **({"labels": labels} if labels else {})}}
