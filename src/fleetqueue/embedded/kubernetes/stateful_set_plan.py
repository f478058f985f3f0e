"""Decide what becomes of a StatefulSet's pods: which are made, deleted or repaired, and which waits for which.

With the policy OrderedReady one pod comes or goes at a time: the lowest ordinal first when they come, the highest when
they go, and nothing moves on before all below are available. With Parallel nobody waits, except for an update, which
takes one pod after the other in any case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.stateful_set_claims import Claims, is_stale, missing_claims, wrong_owners
from fleetqueue.embedded.kubernetes.stateful_set_objects import (
    POD_NAME,
    StatefulSet,
    is_running_and_ready,
    revision_of,
)


class Act(Enum):
    CREATE = "create"
    DELETE = "delete"
    COMPLETE_CLAIMS = "complete its claims"
    """Create those that are missing, and give all the right owners."""
    REPAIR = "repair"
    """Give it the labels of its identity, and its claims the right owners."""
    REPAIR_CLAIMS = "repair its claims"


@dataclass(frozen=True, slots=True)
class PodStep:
    act: Act
    ordinal: int
    pod: Pod | None = None


@dataclass(frozen=True, slots=True)
class StatefulSetPlan:
    steps: Sequence[PodStep] = ()
    """For the ordinals that the set has, in their order."""
    condemned_steps: Sequence[PodStep] = ()
    """For pods that are too many; after the others."""
    outdated: Pod | None = None
    """The pod that is deleted last, so that it comes back with the new template."""


@dataclass(frozen=True, slots=True)
class _Phase:
    steps: Sequence[PodStep]
    blocks: bool = False
    """Whether what would follow has to wait."""


def decide(
    stateful_set: StatefulSet, pods: Iterable[Pod], claims: Claims, update_revision: str, now: datetime
) -> StatefulSetPlan:
    """Choose what to do with the pods of a set. No I/O: every branch is one row of a test table."""
    by_ordinal = {ordinal: pod for pod in pods if (ordinal := stateful_set.ordinal_of(pod)) is not None}
    if stateful_set.is_deleting:
        return StatefulSetPlan()
    replicas = _replica_phase(stateful_set, by_ordinal, claims, now)
    if replicas.blocks:
        return StatefulSetPlan(replicas.steps)
    condemned = _condemned_phase(stateful_set, by_ordinal, claims, now)
    if condemned.blocks or not stateful_set.rolls:
        return StatefulSetPlan(replicas.steps, condemned.steps)
    outdated = _outdated(stateful_set, by_ordinal, update_revision, now)
    return StatefulSetPlan(replicas.steps, condemned.steps, outdated)


def _replica_phase(stateful_set: StatefulSet, pods: Mapping[int, Pod], claims: Claims, now: datetime) -> _Phase:
    steps: list[PodStep] = []
    for ordinal in stateful_set.ordinals:
        pod = pods.get(ordinal)
        steps += _steps(stateful_set, pod, ordinal, claims, now)
        if stateful_set.is_ordered and (pod is None or not _is_done(stateful_set, pod, now)):
            return _Phase(steps, blocks=True)
    return _Phase(steps)


def _steps(
    stateful_set: StatefulSet, pod: Pod | None, ordinal: int, claims: Claims, now: datetime
) -> Sequence[PodStep]:
    if pod is None:
        return [] if is_stale(stateful_set, ordinal, claims) else [PodStep(Act.CREATE, ordinal)]
    if pod.has_ended:
        return [] if pod.is_deleting else [PodStep(Act.DELETE, ordinal, pod)]
    misses = pod.status.phase == "Pending" and missing_claims(stateful_set, ordinal, claims)
    has_wrong_claims = bool(wrong_owners(stateful_set, pod, ordinal, claims))
    if misses or (has_wrong_claims and pod.status.phase == "Pending"):
        return [PodStep(Act.COMPLETE_CLAIMS, ordinal, pod)]
    if stateful_set.is_ordered and not _is_done(stateful_set, pod, now):
        return []
    has_identity = pod.metadata.labels.get(POD_NAME) == pod.name
    return [] if has_identity and not has_wrong_claims else [PodStep(Act.REPAIR, ordinal, pod)]


def _is_done(stateful_set: StatefulSet, pod: Pod, now: datetime) -> bool:
    """Tell whether the next ordinal may follow."""
    is_up = is_running_and_ready(pod) and stateful_set.has_available(pod, now)
    return is_up and not pod.is_deleting and not pod.has_ended


def _condemned_phase(stateful_set: StatefulSet, pods: Mapping[int, Pod], claims: Claims, now: datetime) -> _Phase:
    """Let those that are too many go, the highest first; the lowest that is unavailable may go before it is well."""
    condemned = sorted(((n, pod) for n, pod in pods.items() if n not in stateful_set.ordinals), reverse=True)
    steps = [
        PodStep(Act.REPAIR_CLAIMS, ordinal, pod)
        for ordinal, pod in condemned
        if wrong_owners(stateful_set, pod, ordinal, claims)
    ]
    ill = [pod for _, pod in condemned if pod.is_deleting or not stateful_set.has_available(pod, now)]
    for ordinal, pod in condemned:
        is_well = is_running_and_ready(pod) and stateful_set.has_available(pod, now)
        if stateful_set.is_ordered and (pod.is_deleting or not (is_well or pod is ill[-1])):
            return _Phase(steps, blocks=True)
        if not pod.is_deleting:
            steps.append(PodStep(Act.DELETE, ordinal, pod))
        if stateful_set.is_ordered:
            return _Phase(steps, blocks=True)
    return _Phase(steps)


def _outdated(stateful_set: StatefulSet, pods: Mapping[int, Pod], update_revision: str, now: datetime) -> Pod | None:
    """Return the highest pod of another revision, unless one above it is not available yet."""
    for ordinal in reversed(stateful_set.ordinals[stateful_set.partition :]):
        pod = pods.get(ordinal)
        if pod is None or pod.has_ended or pod.is_deleting:
            return None
        if revision_of(pod) != update_revision:
            return pod
        if not stateful_set.has_available(pod, now):
            return None
    return None
