"""Works and the objects in them, as tests speak of them."""

from fleetqueue.api import work_v1 as work
from fleetqueue.api.core_v1 import ConfigMap

CLUSTER = "cluster1"


def work_manifest(name, *manifests, namespace=CLUSTER, labels=None, **spec):
    return work.ManifestWork.manifest(
        name, namespace, labels=labels, spec={"workload": {"manifests": list(manifests)}, **spec}
    )


def config_map(name="cm", namespace="default", labels=None, annotations=None, **data):
    return ConfigMap.manifest(name, namespace, labels=labels, annotations=annotations, data=data)


def config_of(resource, name, namespace="default", group="", **parts):
    """Build what a work says of one of its objects."""
    identifier = {"group": group, "resource": resource, "name": name, "namespace": namespace}
    return {"resourceIdentifier": identifier, **parts}
