"""What a cluster's owner adds to pods and asks of them: LimitRanges, and the overhead of RuntimeClasses."""

from typing import ClassVar

from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.scheme import Resource


class LimitRangeItem(View):
    type: str = ""
    max: dict[str, Quantity] = {}
    min: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    default_request: dict[str, Quantity] = {}


class LimitRangeSpec(View):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Object):
    resource: ClassVar = Resource("", "v1", "LimitRange", "limitranges")

    spec: LimitRangeSpec = LimitRangeSpec()


class Overhead(View):
    pod_fixed: dict[str, Quantity] = {}


class RuntimeClass(Object):
    resource: ClassVar = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)

    overhead: Overhead = Overhead()
