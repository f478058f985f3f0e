"""The Workload of a group of pods: whether it can be made yet, and what is in it.

Mirrors: Kueue pkg/controller/jobs/pod/pod_controller.go (ConstructComposableWorkload)
"""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import FAILED, Pod
from fleetqueue.api.kueue_pods import GROUP_TOTAL_COUNT, GROUP_WORKLOAD, POD_INDEX
from fleetqueue.api.meta import owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority, annotations_of, asked_for
from fleetqueue.embedded.kueue.pods.groups import PodGroup, can_run, role_counts
from fleetqueue.embedded.kueue.pods.roles import role_of
from fleetqueue.embedded.kueue.pods.single_pods import pod_set_of

MOST_ROLES: Final = 18


class CannotCompose(Exception):
    """Pods of a group contradict each other; the text says how."""


def is_complete(group: PodGroup) -> bool:
    """Tell whether there are enough pods to ask for all."""
    return group.is_fast or sum(map(can_run, group.pods)) >= group.total_count


def check(group: PodGroup) -> None:
    """Raise CannotCompose where pods of a group say different things."""
    total, first = group.total_count, group.first
    index = job_fields.labels(first).get(POD_INDEX)
    if index is not None and not (index.isdecimal() and int(index) < total):
        raise CannotCompose(
            f'incorrect label value "{index}" for Pod "{_name(first)}": value should be less than {total}'
        )
    for pod in group.pods:
        if (pod.get("status") or {}).get("phase") != FAILED:
            _check_alike(first, pod)
    if len(role_counts(group)) > MOST_ROLES:
        raise CannotCompose(f"pod group can't include more than {MOST_ROLES} roles")


def _check_alike(first: Manifest, pod: Manifest) -> None:
    pair = f"pods '{_name(first)}' and '{_name(pod)}' has different"
    queue, other = job_fields.queue_name(first), job_fields.queue_name(pod)
    if queue != other:
        raise CannotCompose(f"{pair} queue names: {queue}!={other}")
    count, other = (job_fields.annotations(one).get(GROUP_TOTAL_COUNT, "") for one in (first, pod))
    if count != other:
        raise CannotCompose(f"{pair} '{GROUP_TOTAL_COUNT}' values: {count}!={other}")


def pod_sets(group: PodGroup) -> list[Manifest]:
    """Return one pod set for each role, made after the first pod in it that can run."""
    able = [pod for pod in group.pods if can_run(pod)]
    return [
        pod_set_of(next(pod for pod in able if role_of(pod) == role), role, count)
        for role, count in role_counts(group).items()
    ]


def workload_of(group: PodGroup, priority: Priority, copied_labels: Sequence[str]) -> Manifest:
    """Return the Workload that a group is given: it has the group's name, and all of its pods own it."""
    made = kueue.Workload.manifest(
        group.workload_name,
        group.first["metadata"]["namespace"],
        labels=_common_labels(group, copied_labels),
        annotations={**annotations_of(group.first), GROUP_WORKLOAD: "true"},
        spec=asked_for(group.first, pod_sets(group), priority),
    )
    made["metadata"] |= {"finalizers": [names.IN_USE], "ownerReferences": [owned_by(pod) for pod in group.pods]}
    return made


def owned_by(pod: Manifest) -> Manifest:
    return owner_reference(Pod.resource, _name(pod), pod["metadata"]["uid"])


def _common_labels(group: PodGroup, copied: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for pod in group.pods:
        for key in copied:
            value = job_fields.labels(pod).get(key)
            if value is not None and labels.setdefault(key, value) != value:
                raise CannotCompose("constructing workload: pods have different label values")
    return labels


def _name(pod: Manifest) -> str:
    return str(pod["metadata"]["name"])
