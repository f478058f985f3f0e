"""Pods for the controllers that make and count them: when one ended, what its removal costs, how it is made."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue.api.conditions import find, timestamp
from fleetqueue.api.core_v1 import READY, Pod
from fleetqueue.api.meta import Object, controller_reference
from fleetqueue.api.scheme import Manifest

BY_NODE: Final = "node"
LONGEST_PREFIX: Final = 58
"""Characters of a name before the five that are drawn: 63 fit into a label."""
MOST_WAITING: Final = 1000
"""Pods of one owner that may wait for a node: a scheduler has enough to choose from, and memory is not filled with a
million pods that no node of ours would ever run."""
PHASES: Final = {"Pending": 0, "": 1, "Unknown": 1, "Running": 2}


def room_to_wait(active: Iterable[Pod]) -> int:
    """Return how many more pods an owner may have that wait for a node.

    Simplified: An owner has at most 1,000 pods that wait for a node; more are made when some of them run.
    """
    return max(0, MOST_WAITING - sum(not pod.spec.node_name for pod in active))


def restarts(pod: Pod) -> int:
    """Return how often containers of a pod have been started again."""
    return sum(status.restart_count for status in (*pod.status.init_container_statuses, *pod.status.container_statuses))


def ended_at(pod: Pod) -> datetime:
    """Return when a pod ended: by its containers, or its readiness, or its deletion, or at worst its creation."""
    names = {one.name for one in pod.spec.init_containers if one.is_sidecar}
    sidecars = [one for one in pod.status.init_container_statuses if one.name in names]
    ends = [status.state.terminated for status in (*pod.status.container_statuses, *sidecars)]
    times = [end.finished_at for end in ends if end is not None and end.finished_at is not None]
    if times and len(times) == len(ends):
        return max(times)
    ready = find(pod.status.conditions, READY)
    if ready is not None and not ready.is_true and ready.last_transition_time is not None:
        return ready.last_transition_time
    moment = pod.deleted_at or pod.metadata.creation_timestamp
    assert moment is not None
    return moment


def removal_cost(pod: Pod) -> tuple[Any, ...]:
    """Sort by it: the first ones cost the least when they are removed."""
    created = pod.metadata.creation_timestamp
    age = -created.timestamp() if created else 0.0
    phase = PHASES.get(pod.status.phase, 1)
    return bool(pod.spec.node_name), phase, pod.is_ready, -restarts(pod), age, pod.name


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Tell whether a pod has been ready for long enough."""
    since = _ready_since(pod)
    return since is not None and since + timedelta(seconds=min_ready_seconds) <= now


def seconds_to_available(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> float | None:
    """Return when the next ready pod becomes available without any change; None where there is none."""
    moments = [since for pod in pods if (since := _ready_since(pod)) is not None]
    waits = [(since - now).total_seconds() + min_ready_seconds for since in moments]
    return min((wait for wait in waits if wait > 0), default=None)


def _ready_since(pod: Pod) -> datetime | None:
    ready = find(pod.status.conditions, READY)
    return ready.last_transition_time if ready is not None and ready.is_true else None


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
        "ownerReferences": [controller_reference(owner.resource, owner.name, owner.uid)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def prefix_of(owner: str, ending: str = "-") -> str:
    """Return how the names of an owner's pods begin."""
    return owner[: LONGEST_PREFIX - len(ending)] + ending
