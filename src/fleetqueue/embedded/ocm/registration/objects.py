"""Views of kinds of which registration reads only a part."""

from typing import Any, ClassVar

from fleetqueue.api import core_v1 as core
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource


class Remainder(Object):
    """What is in the way of a cluster's end; only its metadata is kept."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        return {"metadata": super().trim(raw)["metadata"]}


class RemainingAddOn(Remainder):
    resource: ClassVar = Resource(
        "addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"
    )


class RemainingWork(Remainder):
    resource: ClassVar = Resource("work.open-cluster-management.io", "v1", "ManifestWork", "manifestworks")


class WorkerNode(core.Node):
    """A node of the worker, by what it has."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep what the view reads: the list of images is most of a node's size."""
        spec, status = raw.get("spec") or {}, raw.get("status") or {}
        return {
            **super().trim(raw),
            "spec": _only(spec, "unschedulable"),
            "status": _only(status, "capacity", "allocatable"),
        }


def _only(part: Manifest, *fields: str) -> dict[str, Any]:
    return {field: part[field] for field in fields if field in part}
