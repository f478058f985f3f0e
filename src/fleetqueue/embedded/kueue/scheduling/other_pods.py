"""The pods that take room on nodes without topology-aware scheduling having placed them.

Of each pod only that is kept: a cluster may have very many.

Mirrors: Kueue pkg/controller/tas/non_tas_usage_controller.go
"""

from typing import Any, ClassVar, Final, Self

import msgspec

from fleetqueue.api.core_v1 import FAILED, SUCCEEDED, Pod, PodSpec
from fleetqueue.api.meta import Object, ObjectMeta, without_nulls
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.amounts import Requests, requests

_TOPOLOGY: Final = "kueue.x-k8s.io/podset-"
PLACED_BY_US: Final = frozenset(
    f"{_TOPOLOGY}{name}"
    for name in (
        "preferred-topology",
        "required-topology",
        "unconstrained-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
    )
)
"""Annotations, one of which every pod has that topology-aware scheduling places."""


class OtherPod(Object):
    resource: ClassVar = Pod.resource
    keeps_raw: ClassVar[bool] = False

    node: str = ""
    """Where it takes room; empty where it does not, or not beside what Workloads use."""
    requests: dict[str, int] = msgspec.field(default_factory=dict)

    @classmethod
    def kept(cls, raw: Manifest) -> Self:
        metadata, spec = raw["metadata"], raw.get("spec") or {}
        who = ObjectMeta(
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            uid=metadata.get("uid", ""),
            resource_version=metadata.get("resourceVersion", ""),
        )
        node = spec.get("nodeName") or ""
        phase = (raw.get("status") or {}).get("phase")
        if not node or phase in (SUCCEEDED, FAILED) or not PLACED_BY_US.isdisjoint(metadata.get("annotations") or ()):
            return cls(metadata=who)
        return cls(metadata=who, node=node, requests=_requests(spec))


def _requests(spec: dict[str, Any]) -> Requests:
    try:
        read = msgspec.convert(spec, PodSpec)
    except msgspec.ValidationError:
        read = msgspec.convert(without_nulls(spec), PodSpec)
    return requests(read.requests())
