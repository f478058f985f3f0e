"""What a LeaderWorkerSet says of its pods to Kueue: each of its groups serves for ever, and is one Workload.

Mirrors: Kueue pkg/controller/jobs/leaderworkerset
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fields import value_at
from fleetqueue.api.leaderworkerset_v1 import (
    DOMAIN,
    GROUP_INDEX,
    LEADER_NAME,
    SET_NAME,
    WORKER_INDEX,
    LeaderWorkerSet,
)
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.pods.parent_pods import with_marks
from fleetqueue.embedded.kueue.pods.parent_workloads import is_sent
from fleetqueue.embedded.kueue.pods.roles import MAIN
from fleetqueue.rules.workload_names import name_for_pods_of

LEADER: Final = "leader"
WORKER: Final = "worker"
TEMPLATES: Final = ("spec", "leaderWorkerTemplate")


def replicas(leader_worker_set: Manifest) -> int:
    return int(leader_worker_set["spec"].get("replicas", 1))


def size(leader_worker_set: Manifest) -> int:
    """Return how many pods each group has."""
    return int(leader_worker_set["spec"]["leaderWorkerTemplate"].get("size", 1))


def has_leaders(leader_worker_set: Manifest) -> bool:
    """Tell whether leaders are other pods than workers."""
    return value_at(leader_worker_set, (*TEMPLATES, "leaderTemplate")) is not None


def workload_name(leader_worker_set: Manifest, index: int | str) -> str:
    return name_for_pods_of(LeaderWorkerSet, leader_worker_set, f"-{index}")


def pod_sets(leader_worker_set: Manifest) -> list[Manifest]:
    templates, count = leader_worker_set["spec"]["leaderWorkerTemplate"], size(leader_worker_set)
    workers = _without_own_marks(templates["workerTemplate"])
    if not has_leaders(leader_worker_set):
        return [pod_set(MAIN, workers, count, podIndexLabel=WORKER_INDEX)]
    leader = pod_set(LEADER, _without_own_marks(templates["leaderTemplate"]), 1)
    return [leader, pod_set(WORKER, workers, count - 1, podIndexLabel=WORKER_INDEX)]


def _without_own_marks(template: Manifest) -> Manifest:
    """Return a pod template without what is different in each group; they all are to ask for the same."""
    metadata = template.get("metadata") or {}
    kept = {field: _kept(metadata[field]) for field in ("labels", "annotations") if metadata.get(field)}
    return {**template, "metadata": {**metadata, **kept}}


def _kept(marks: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in marks.items() if not key.startswith(DOMAIN) or key == SET_NAME}


class WorkloadChanges(NamedTuple):
    """What is to do about the Workloads of a LeaderWorkerSet."""

    create: list[int]
    """Indexes of groups."""
    update: list[Manifest]
    delete: list[Manifest]


def workload_changes(leader_worker_set: Manifest, workloads: Iterable[Manifest]) -> WorkloadChanges:
    """Compare the groups that there are to be with the Workloads that there are."""
    known = {workload["metadata"]["name"]: workload for workload in workloads}
    names = [workload_name(leader_worker_set, index) for index in range(_groups(leader_worker_set))]
    missing = [] if is_sent(leader_worker_set) else [index for index, name in enumerate(names) if name not in known]
    update = [known.pop(name) for name in names if name in known]
    return WorkloadChanges(missing, update, [*known.values()])


def _groups(leader_worker_set: Manifest) -> int:
    """Return how many groups there are; more than asked for while others are rolled out beside them."""
    wanted, status = replicas(leader_worker_set), leader_worker_set.get("status") or {}
    surge = value_at(leader_worker_set, ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"))
    rolls = isinstance(surge, int) and surge > 0 and status.get("updatedReplicas", 0) < wanted
    return max(wanted, int(status.get("replicas", 0))) if rolls else wanted


def marked(pod: Manifest, leader_worker_set: Manifest) -> Manifest:
    """Return a pod as a member of its group; as it is where nobody has said yet in which it is."""
    labels, queue = job_fields.labels(pod), job_fields.queue_name(leader_worker_set)
    queued = {kueue.QUEUE_LABEL: queue} if queue and pods.is_gated(pod) else {}
    if pods.MANAGED in labels:
        return with_marks(pod, queued, {})
    if GROUP_INDEX not in labels:
        return pod
    name = workload_name(leader_worker_set, labels[GROUP_INDEX])
    annotations = {
        pods.GROUP_NAME: name,
        kueue.PREBUILT_WORKLOAD: name,
        pods.GROUP_TOTAL_COUNT: str(size(leader_worker_set)),
        pods.ROLE_HASH: _role(pod, leader_worker_set),
    }
    return with_marks(pod, {pods.MANAGED: "true", **queued}, annotations)


def _role(pod: Manifest, leader_worker_set: Manifest) -> str:
    if not has_leaders(leader_worker_set):
        return MAIN
    return WORKER if LEADER_NAME in job_fields.annotations(pod) else LEADER


def component(index: int) -> dict[str, Any]:
    """Return what tells the Workload of one group from those of the others."""
    return {pods.COMPONENT_INDEX: str(index)}
