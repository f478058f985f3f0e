"""What a node is said to have, and how often it says that it is alive."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.api.core_v1 import Node

SILENT: Final = "fleetqueue.dev/silent"
"""Annotation of a node: "true" lets its kubelet fall silent, as if its machine were off."""
CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}


@dataclass(frozen=True, slots=True)
class NodeSettings:
    name: str
    capacity: Mapping[str, str] = field(default_factory=lambda: dict(CAPACITY))
    """Written once, when the node registers; later changes of others stay."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    number: int = 1
    """Makes its addresses: 172.18.0.1 for the node itself, 10.244.1.0/24 for its pods; up to 254 in a cluster. Of nodes
    that somebody else made, two may get the same ones."""
    version: str = "v1.36.3"
    """The kubelet's version, as `kubectl get nodes` shows it."""

    @property
    def address(self) -> str:
        return f"172.18.{self.number // 256}.{self.number % 256}"

    @property
    def pod_network(self) -> str:
        """The first parts of the addresses of its pods."""
        return f"10.{244 + self.number // 256}.{self.number % 256}"


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    nodes: Sequence[NodeSettings]
    """Those that register by themselves."""
    all_nodes: bool = False
    """Whether nodes that others made are simulated, too."""
    stages: str = "fast"
    """How pods live: `fast`, or `general` with the times that a machine takes."""
    lease_seconds: float = 10.0
    """How often a node renews its lease; others take it for lost after 40 seconds. Real kubelets do it as often."""
    report_seconds: float = 300.0
    """How often a node says that it is well although nothing has changed."""

    def of(self, name: str) -> NodeSettings | None:
        """Return the settings of a node; None where it is not ours."""
        for node in self.nodes:
            if node.name == name:
                return node
        return _of_somebody_else(name) if self.all_nodes and name else None


def is_silent(node: Node) -> bool:
    return node.metadata.annotations.get(SILENT) == "true"


def _of_somebody_else(name: str) -> NodeSettings:
    """Return the settings of a node that others made: its capacity is theirs."""
    return NodeSettings(name, capacity={}, number=2 + zlib.crc32(name.encode()) % 250)
