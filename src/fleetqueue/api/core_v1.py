"""The core kinds that our parts read: secrets, config maps, nodes, pods."""

import base64
from typing import Any, ClassVar

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.scheme import Manifest, Resource


class Namespace(Object):
    resource: ClassVar = Resource("", "v1", "Namespace", "namespaces", namespaced=False)


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

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep of spec and status what the view reads: the list of images is most of a node's size."""
        return {
            **super().trim(raw),
            "spec": _only(raw.get("spec"), "unschedulable", "taints"),
            "status": _only(raw.get("status"), "allocatable", "conditions"),
        }


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
    resources: ResourceRequirements = ResourceRequirements()
    """What the pod asks for as a whole; it replaces the sum of its containers."""


class PodStatus(View):
    phase: str = ""


class Pod(Object):
    resource: ClassVar = Resource("", "v1", "Pod", "pods")

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep of spec and status what the view reads, since a worker may have a hundred thousand pods.

        So a cached pod cannot be compared with a whole one: create and patch pods, do not `ensure` them.
        """
        spec = raw.get("spec") or {}
        kept = _only(spec, "nodeName", "overhead", "resources")
        for field in ("containers", "initContainers"):
            if field in spec:
                kept[field] = [_only(container, "resources", "restartPolicy") for container in spec[field] or ()]
        return {**super().trim(raw), "spec": kept, "status": _only(raw.get("status"), "phase")}


def secret(name: str, namespace: str, entries: dict[str, str], **meta: Any) -> dict[str, Any]:
    """Build an Opaque secret from plain text."""
    data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
    return Secret.manifest(name, namespace, type="Opaque", data=data, **meta)


def _only(part: Manifest | None, *fields: str) -> Manifest:
    """Keep these fields of a part, where it has them."""
    return {field: part[field] for field in fields if field in part} if part else {}
