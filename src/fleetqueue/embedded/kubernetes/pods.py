"""Pods as the controllers that make and count them see them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from fleetqueue.api import core_v1
from fleetqueue.api.conditions import Condition, find, is_true, timestamp
from fleetqueue.api.meta import Object, ObjectMeta, OwnerReference, View, owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.tolerations import Toleration

SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
READY: Final = "Ready"
BY_NODE: Final = "node"
LONGEST_PREFIX: Final = 58
"""Characters of a name before the five that are drawn: 63 fit into a label."""
PHASES: Final = {"Pending": 0, "": 1, "Unknown": 1, "Running": 2}


class Terminated(View):
    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerState(View):
    terminated: Terminated | None = None


class ContainerStatus(View):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodMeta(ObjectMeta):
    deletion_grace_period_seconds: int = 0


class InitContainer(View):
    name: str = ""
    restart_policy: str = ""


class PodSpec(View):
    node_name: str = ""
    init_containers: tuple[InitContainer, ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def sidecars(self) -> set[str]:
        """The names of those that run beside the containers, and end after them."""
        return {one.name for one in self.init_containers if one.restart_policy == "Always"}


class PodStatus(View):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Object):
    resource: ClassVar = core_v1.Pod.resource

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)

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
    def restarts(self) -> int:
        both = (*self.status.init_container_statuses, *self.status.container_statuses)
        return sum(status.restart_count for status in both)

    @property
    def ended_at(self) -> datetime:
        """When it ended: by its containers, or its readiness, or its deletion, or at worst its creation."""
        sidecars = [one for one in self.status.init_container_statuses if one.name in self.spec.sidecars]
        ends = [status.state.terminated for status in (*self.status.container_statuses, *sidecars)]
        times = [end.finished_at for end in ends if end is not None and end.finished_at is not None]
        if times and len(times) == len(ends):
            return max(times)
        ready = find(self.status.conditions, READY)
        if ready is not None and not ready.is_true and ready.last_transition_time is not None:
            return ready.last_transition_time
        deleted, created = self.metadata.deletion_timestamp, self.metadata.creation_timestamp
        if deleted is not None:
            return deleted - timedelta(seconds=self.metadata.deletion_grace_period_seconds)
        assert created is not None
        return created

    @property
    def cheapness(self) -> tuple[Any, ...]:
        """Sort by it: the first ones cost the least when they are removed."""
        created = self.metadata.creation_timestamp
        age = -created.timestamp() if created else 0.0
        phase = PHASES.get(self.status.phase, 1)
        return bool(self.spec.node_name), phase, self.is_ready, -self.restarts, age, self.name


def node_of(pod: Pod) -> Iterable[str]:
    return [pod.spec.node_name] if pod.spec.node_name else []


def with_condition(live: Sequence[Manifest], wanted: Manifest, now: datetime) -> list[Manifest]:
    """Return a pod's conditions with one of them said; its time moves when its status does."""
    before = next((one for one in live if one["type"] == wanted["type"]), None)
    is_same = before is not None and before["status"] == wanted["status"]
    since = before["lastTransitionTime"] if before is not None and is_same else timestamp(now)
    new = {**wanted, "lastProbeTime": None, "lastTransitionTime": since}
    return [*(one for one in live if one["type"] != wanted["type"]), new]


def from_template(owner: Object, template: Manifest, name: str, prefix: str) -> Manifest:
    """Build a pod of an owner's template."""
    given = template.get("metadata") or {}
    metadata = {
        "name": name,
        "generateName": prefix,
        "namespace": owner.namespace,
        **{part: given[part] for part in ("labels", "annotations", "finalizers") if given.get(part)},
        "ownerReferences": [owner_reference(owner.resource, owner.name, owner.uid)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def prefix_of(owner: str, ending: str = "-") -> str:
    """Return how the names of an owner's pods begin."""
    return owner[: LONGEST_PREFIX - len(ending)] + ending
