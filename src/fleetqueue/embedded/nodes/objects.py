"""Pods and nodes as the scheduler and the kubelets see them."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import msgspec

from fleetqueue.api import core_v1
from fleetqueue.api.conditions import Condition, find, is_true
from fleetqueue.api.meta import Object, ObjectMeta, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.selectors import Requirement
from fleetqueue.api.tolerations import Toleration

DEFAULT_SCHEDULER: Final = "default-scheduler"
SCHEDULED: Final = "PodScheduled"
SILENT: Final = "fleetqueue.dev/silent"
"""Annotation of a node: "true" lets its kubelet fall silent, as if its machine were off."""


class PodMeta(ObjectMeta):
    deletion_grace_period_seconds: int | None = None


class Requests(View):
    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)
    limits: dict[str, Quantity] = msgspec.field(default_factory=dict)

    @property
    def asked(self) -> dict[str, Quantity]:
        """What is set aside: where only a limit is given, it is asked for, too."""
        return {**self.limits, **self.requests}


class Container(View):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    restart_policy: str = ""
    resources: Requests = Requests()


class Term(View):
    """One way to choose nodes: all of it must hold."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(View):
    node_selector_terms: tuple[Term, ...] = ()


class NodeAffinity(View):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class Affinity(View):
    node_affinity: NodeAffinity | None = None


class PodSpec(View):
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    priority: int = 0
    preemption_policy: str = ""
    host_network: bool = False
    restart_policy: str = "Always"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, Quantity] = msgspec.field(default_factory=dict)
    resources: Requests = Requests()
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduling_gates: tuple[dict[str, Any], ...] = ()


class PodStatus(View):
    phase: str = "Pending"
    start_time: datetime | None = None
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: tuple[Condition, ...] = ()


class Pod(Object):
    resource: ClassVar = core_v1.Pod.resource

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_waiting(self) -> bool:
        """Whether our scheduler has to find a node for it."""
        spec = self.spec
        is_ours = spec.scheduler_name == DEFAULT_SCHEDULER and not spec.scheduling_gates
        return is_ours and not (spec.node_name or self.is_deleting or self.has_ended)

    @property
    def deleted_at(self) -> datetime | None:
        """When its deletion was asked for; its deletionTimestamp is when the grace is over."""
        end = self.metadata.deletion_timestamp
        return end and end - timedelta(seconds=self.metadata.deletion_grace_period_seconds or 0)

    @property
    def scheduled_at(self) -> datetime | None:
        scheduled = find(self.status.conditions, SCHEDULED)
        moment = scheduled.last_transition_time if scheduled is not None and scheduled.is_true else None
        return moment or self.metadata.creation_timestamp


class NodeStatus(View):
    capacity: dict[str, Quantity] = msgspec.field(default_factory=dict)
    allocatable: dict[str, Quantity] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    resource: ClassVar = core_v1.Node.resource

    spec: core_v1.NodeSpec = core_v1.NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        return is_true(self.status.conditions, "Ready")

    @property
    def is_silent(self) -> bool:
        return self.metadata.annotations.get(SILENT) == "true"
