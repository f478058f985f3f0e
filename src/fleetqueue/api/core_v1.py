"""The core kinds that our parts read: secrets, config maps, nodes, pods."""

import base64
from typing import Any, ClassVar

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.scheme import Resource


class Namespace(Object):
    resource: ClassVar = Resource("", "v1", "Namespace", "namespaces", namespaced=False)


class Secret(Object):
    resource: ClassVar = Resource("", "v1", "Secret", "secrets")

    type: str = ""
    data: dict[str, str] = {}

    def text(self, key: str) -> str | None:
        """Return one entry decoded, or None."""
        value = self.data.get(key)
        return None if value is None else base64.b64decode(value).decode()


class ConfigMap(Object):
    resource: ClassVar = Resource("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] = {}


class ServiceAccount(Object):
    resource: ClassVar = Resource("", "v1", "ServiceAccount", "serviceaccounts")


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(View):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(View):
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    resource: ClassVar = Resource("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ResourceRequirements(View):
    requests: dict[str, Quantity] = {}


class Container(View):
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    """`Always` on an init container makes it a sidecar, which runs beside the others."""


class PodSpec(View):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, Quantity] = {}


class PodStatus(View):
    phase: str = ""


class Pod(Object):
    resource: ClassVar = Resource("", "v1", "Pod", "pods")

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


def secret(name: str, namespace: str, entries: dict[str, str], **meta: Any) -> dict[str, Any]:
    """Build an Opaque secret from plain text."""
    data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
    return Secret.manifest(name, namespace, type="Opaque", data=data, **meta)
