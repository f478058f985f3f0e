"""CustomResourceDefinitions: which kinds a cluster serves."""

from typing import Any, ClassVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource


class CustomResourceDefinition(Object):
    resource: ClassVar = Resource(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
    )

    spec: dict[str, Any] = {}
