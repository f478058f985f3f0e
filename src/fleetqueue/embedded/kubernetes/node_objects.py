"""Nodes as those see them who watch over their health, and the taints that say how they are."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Final

from fleetqueue.api import coordination_v1, core_v1
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View

LEASE_NAMESPACE: Final = "kube-node-lease"
READY: Final = "Ready"
UNKNOWN: Final = "Unknown"
NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
CORDONED: Final = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class NodeLease(coordination_v1.Lease):
    """Of all leases only those of nodes; others may follow others."""


class NodeCondition(Condition):
    last_heartbeat_time: datetime | None = None


class Taint(core_v1.Taint):
    time_added: datetime | None = None


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View):
    conditions: tuple[NodeCondition, ...] = ()


class Node(Object):
    resource: ClassVar = core_v1.Node.resource

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> NodeCondition | None:
        return next((condition for condition in self.status.conditions if condition.type == READY), None)

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.is_true

    @property
    def evicting(self) -> Sequence[Taint]:
        """The taints for which pods have to go that do not tolerate them."""
        return [taint for taint in self.spec.taints if taint.effect == NO_EXECUTE]
