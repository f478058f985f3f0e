"""Deployments as their controller sees them, and the names by which they know their ReplicaSets."""

from typing import Any, ClassVar, Final

import msgspec
import orjson

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View, controller_reference
from fleetqueue.api.scheme import Manifest, Resource

REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
HASH: Final = "pod-template-hash"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Those of which Kubernetes makes names."""


class RollingUpdate(View):
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class DeploymentStrategy(View):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(View):
    replicas: int = 1
    paused: bool = False
    min_ready_seconds: int = 0
    progress_deadline_seconds: int = 600
    revision_history_limit: int = 10
    strategy: DeploymentStrategy = DeploymentStrategy()
    selector: dict[str, Any] = msgspec.field(default_factory=dict)
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class ProgressCondition(Condition):
    last_update_time: str = ""


class DeploymentStatus(View):
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[ProgressCondition, ...] = ()


class Deployment(Object):
    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments")

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def recreates(self) -> bool:
        return self.spec.strategy.type == "Recreate"

    @property
    def max_surge(self) -> int:
        rolling = self.spec.strategy.rolling_update
        return 0 if self.recreates else part_of(rolling.max_surge, self.spec.replicas, up=True)

    @property
    def max_unavailable(self) -> int:
        """How many may be missing; where neither more nor fewer were allowed, nothing could ever move."""
        if self.recreates:
            return 0
        count = part_of(self.spec.strategy.rolling_update.max_unavailable, self.spec.replicas, up=False)
        return count if count or self.max_surge else 1


def template_hash(template: Manifest, collisions: int = 0) -> str:
    """Return a short name for a template: the same for the same content (FNV-1a of its JSON)."""
    value = 2166136261
    for byte in orjson.dumps(template, option=orjson.OPT_SORT_KEYS) + (str(collisions).encode() if collisions else b""):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return in_letters(value)


def in_letters(number: int) -> str:
    """Write a number so that no word can come of it."""
    return "".join(LETTERS[ord(digit) % len(LETTERS)] for digit in str(number))


def without_hash(template: Manifest) -> Manifest:
    """Return a ReplicaSet's template as its Deployment wrote it."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    rest = {key: value for key, value in metadata.items() if key != "labels" and value}
    return {**template, "metadata": {**rest, **({"labels": labels} if labels else {})}}


def replica_set_manifest(deployment: Deployment, replicas: int, revision: int) -> Manifest:
    """Build the ReplicaSet of a Deployment's present template."""
    template = deployment.spec.template
    mark = template_hash(template)
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH: mark}
    selector = deployment.spec.selector
    marked = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: mark}}
    kept = {key: value for key, value in deployment.metadata.annotations.items() if key != LAST_APPLIED}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment.name}-{mark}",
            "namespace": deployment.namespace,
            "labels": labels,
            "annotations": {**kept, REVISION: str(revision), **scale_annotations(deployment)},
            "ownerReferences": [controller_reference(deployment.resource, deployment.name, deployment.uid)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": marked,
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }


def scale_annotations(deployment: Deployment) -> dict[str, str]:
    replicas = deployment.spec.replicas
    return {DESIRED: str(replicas), MAX_REPLICAS: str(replicas + deployment.max_surge)}


def part_of(value: int | str, whole: int, *, up: bool) -> int:
    """Return a number that may be written as a percentage."""
    if isinstance(value, int):
        return value
    percent = int(value.removesuffix("%"))
    return -(-whole * percent // 100) if up else whole * percent // 100
