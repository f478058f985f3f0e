"""The core kinds that our parts read: secrets, config maps, nodes, pods."""

import base64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from fleetqueue.api import quantity
from fleetqueue.api.conditions import Condition, is_true
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Amounts, Quantity, parse, parse_all
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import Requirement
from fleetqueue.api.taints import Taint, Toleration

DEFAULT_SCHEDULER: Final = "default-scheduler"
READY: Final = "Ready"
POD_SCHEDULED: Final = "PodScheduled"
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
POD_LEVEL_RESOURCES: Final = ("cpu", "memory", "hugepages-")
"""How the names of resources begin that a pod may request as a whole."""


class InitContainerRequests(NamedTuple):
    requests: Amounts
    is_sidecar: bool
    """Whether it goes on beside the containers (`restartPolicy: Always`)."""


def pod_requests(
    init_containers: Iterable[InitContainerRequests],
    containers: Iterable[Amounts],
    *,
    whole: Mapping[str, Decimal],
    overhead: Amounts,
) -> Amounts:
    """Return the sum for a pod.

    That is what its containers and sidecars request together, or what one of its init containers requests beside the
    sidecars that started before it, whichever is more; of what the pod requests as a `whole`, just that; plus the
    overhead of its sandbox.
    See https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers
    """
    sidecars: Amounts = {}
    starting: Amounts = {}
    for one in init_containers:
        beside = quantity.add((sidecars, one.requests))
        starting = _larger(starting, beside)
        if one.is_sidecar:
            sidecars = beside
    running = quantity.add((sidecars, *containers))
    return quantity.add(({**_larger(starting, running), **whole}, overhead))


def _larger(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in (*one, *other)}


class NamespaceSpec(View):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(View):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(Object):
    resource: ClassVar = Resource("", "v1", "Namespace", "namespaces", namespaced=False)

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class Secret(Object):
    resource: ClassVar = Resource("", "v1", "Secret", "secrets")

    type: str = ""
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        """Show no content, so that none ends in a log."""
        return str(self)

    def text(self, key: str) -> str | None:
        """Return one entry decoded, or None; bytes that are no text become marks, for whoever parses it to refuse."""
        value = self.data.get(key)
        return None if value is None else base64.b64decode(value).decode(errors="replace")


class ConfigMap(Object):
    resource: ClassVar = Resource("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] = {}


class ServiceAccount(Object):
    resource: ClassVar = Resource("", "v1", "ServiceAccount", "serviceaccounts")


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(Condition):
    last_heartbeat_time: datetime | None = None


class NodeStatus(View):
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(Object):
    resource: ClassVar = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> NodeCondition | None:
        return next((condition for condition in self.status.conditions if condition.type == READY), None)

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.is_true


class ResourceRequirements(View):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}

    @property
    def effective_requests(self) -> dict[str, Quantity]:
        """The requests, and the limits of resources that have no request."""
        return {**self.limits, **self.requests}


class Container(View):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[dict[str, Any], ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar, which runs beside the others."""

    @property
    def is_sidecar(self) -> bool:
        return self.restart_policy == "Always"


class NodeSelectorTerm(View):
    """One way to choose nodes: all of it must hold."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(View):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(View):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)


class Affinity(View):
    node_affinity: NodeAffinity = NodeAffinity()


class PodSpec(View):
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    scheduling_gates: tuple[dict[str, Any], ...] = ()
    priority: int = 0
    preemption_policy: str = ""
    host_network: bool = False
    restart_policy: str = "Always"
    runtime_class_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    """What the pod requests as a whole; it replaces the sum of its containers."""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()

    def requests(self) -> Amounts:
        """Return what the scheduler sets aside for one pod."""
        whole = self.resources.effective_requests if self.resources is not None else {}
        return pod_requests(
            (InitContainerRequests(_requests(one), one.is_sidecar) for one in self.init_containers),
            map(_requests, self.containers),
            whole={name: parse(amount) for name, amount in whole.items() if name.startswith(POD_LEVEL_RESOURCES)},
            overhead=parse_all(self.overhead),
        )


def _requests(container: Container) -> Amounts:
    return parse_all(container.resources.effective_requests)


class RunningState(View):
    started_at: datetime | None = None


class TerminatedState(View):
    exit_code: int = 0
    reason: str = ""
    finished_at: datetime | None = None


class ContainerState(View):
    running: RunningState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(View):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(View):
    phase: str = ""
    start_time: datetime | None = None
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object):
    resource: ClassVar = Resource("", "v1", "Pod", "pods")

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        return self.status.phase in (SUCCEEDED, FAILED)

    @property
    def is_active(self) -> bool:
        return not self.has_ended and not self.is_deleting

    @property
    def is_terminating(self) -> bool:
        return not self.has_ended and self.is_deleting

    @property
    def is_ready(self) -> bool:
        return is_true(self.status.conditions, READY)

    @property
    def deleted_at(self) -> datetime | None:
        """When its deletion was requested; its deletionTimestamp is when the grace period is over."""
        end = self.metadata.deletion_timestamp
        return end and end - timedelta(seconds=self.metadata.deletion_grace_period_seconds or 0)


def secret(name: str, namespace: str, entries: dict[str, str], **meta: Any) -> dict[str, Any]:
    """Build an Opaque secret from plain text."""
    data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
    return Secret.manifest(name, namespace, type="Opaque", data=data, **meta)
