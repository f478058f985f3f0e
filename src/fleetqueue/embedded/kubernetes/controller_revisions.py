"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had, each with a number.

The one with the highest number is that of the present template. A template that comes back gets its old revision back,
with a new number. Those that no pod has are kept up to `revisionHistoryLimit`, to roll back to.

Mirrors: kubernetes pkg/controller/history
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Final

import msgspec
import orjson

from fleetqueue.api.meta import Object, controller_reference
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.deployment_objects import in_letters

POD_REVISION: Final = "controller-revision-hash"
"""The label that says of which revision a pod is."""
LONGEST_PREFIX: Final = 223
DIRECTIVE: Final = {"$patch": "replace"}
"""What is kept is a strategic merge patch, which `kubectl rollout undo` sends."""
ESCAPED: Final = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}
"""What Go writes otherwise in JSON."""


class ControllerRevision(Object):
    resource: ClassVar = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")

    data: dict[str, Any] = msgspec.field(default_factory=dict)
    revision: int = 0

    @property
    def template(self) -> Manifest:
        template = (self.data.get("spec") or {}).get("template") or {}
        return {field: value for field, value in template.items() if field not in DIRECTIVE}


def saved(template: Manifest) -> Manifest:
    """Return a template as revisions keep it."""
    return {"spec": {"template": {**template, **DIRECTIVE}}}


def data_hash(data: Manifest, collisions: int) -> str:
    """Return a short name for what a revision keeps: the one that Kubernetes gives it (FNV-1)."""
    text = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    for sign, escaped in ESCAPED.items():
        text = text.replace(sign, escaped)
    value = 2166136261
    for byte in text + str(collisions).encode():
        value = ((value * 16777619) & 0xFFFFFFFF) ^ byte
    return in_letters(value)


def revision_name(owner: str, mark: str) -> str:
    return f"{owner[:LONGEST_PREFIX]}-{mark}"


def age(revision: ControllerRevision) -> tuple[Any, ...]:
    """Sort by it: the oldest first."""
    return revision.revision, revision.metadata.creation_timestamp, revision.name


def next_number(revisions: Iterable[ControllerRevision]) -> int:
    return max((one.revision for one in revisions), default=0) + 1


def surplus_revisions(
    revisions: Sequence[ControllerRevision], live: Collection[str], limit: int
) -> Sequence[ControllerRevision]:
    """Return the oldest of those that nobody has any more, beyond those that are kept."""
    history = [one for one in revisions if one.name not in live]
    return history[: max(len(history) - limit, 0)]


def revision_manifest(
    owner: Object, data: Manifest, number: int, *, name: str, labels: Manifest, annotations: Manifest
) -> Manifest:
    manifest = ControllerRevision.manifest(
        name, owner.namespace, labels=labels, annotations=annotations, data=data, revision=number
    )
    manifest["metadata"]["ownerReferences"] = [controller_reference(owner.resource, owner.name, owner.uid)]
    return manifest
