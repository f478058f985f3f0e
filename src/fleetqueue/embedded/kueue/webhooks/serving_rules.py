"""What Kueue gives to StatefulSets and LeaderWorkerSets, and what it refuses in them.

Their pods are groups, of one size and shape: a Workload that has quota does not change what it asks for.

Mirrors: Kueue pkg/controller/jobs/{statefulset,leaderworkerset}/*_webhook.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api import topology_names
from fleetqueue.api.fields import Field, dotted, value_at
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.topology_requests import UnreadableRequest
from fleetqueue.embedded.kueue.pods import leader_worker_set_rules
from fleetqueue.embedded.kueue.pods import stateful_set_rules as rules
from fleetqueue.embedded.kueue.pods.roles import MAIN, shape
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, unchanged
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext
from fleetqueue.embedded.kueue.webhooks.parent_rules import TEMPLATE, parent_faults, queue_labels, with_marks
from fleetqueue.embedded.kueue.webhooks.topology_rules import (
    annotations_of,
    group_faults,
    request_faults,
    slice_faults,
)
from fleetqueue.embedded.kueue.workload_state import is_on_hold

REPLICAS: Final = "spec.replicas"
MOST_REPLICAS: Final = 1_000_000
LEADERS: Final[Field] = (*leader_worker_set_rules.TEMPLATES, "leaderTemplate")
WORKERS: Final[Field] = (*leader_worker_set_rules.TEMPLATES, "workerTemplate")


def completed_stateful_set(context: JobContext, stateful_set: Manifest) -> Manifest:
    """Return a StatefulSet whose pods wait for each other, where it has to be admitted."""
    if rules.is_of_another(stateful_set):
        return stateful_set
    stateful_set = context.with_queue(stateful_set)
    if not context.is_to_wait(stateful_set):
        return stateful_set
    return with_marks(stateful_set, TEMPLATE, {}, {pods.SUSPENDING_PARENT: pods.STATEFUL_SET})


def stateful_set_faults(context: JobContext, old: Manifest | None, new: Manifest) -> list[str]:
    if rules.is_of_another(new):
        return []
    problems = parent_faults(old, new)
    if old is None or not context.is_to_wait(new):
        return problems
    return [
        *problems,
        *shape_faults(_pod_spec(old), _pod_spec(new), "spec.template.spec"),
        *_scale_faults(context, old, new),
    ]


def completed_leader_worker_set(context: JobContext, leader_worker_set: Manifest) -> Manifest:
    """Return a LeaderWorkerSet whose pods wait for those of their group, where it has to be admitted."""
    leader_worker_set = context.with_queue(leader_worker_set)
    if not context.is_to_wait(leader_worker_set):
        return leader_worker_set
    labels = queue_labels(leader_worker_set)
    annotations = {pods.SUSPENDING_PARENT: pods.LEADER_WORKER_SET, pods.GROUP_SERVING: "true"}
    offset = {}
    if leader_worker_set_rules.has_leaders(leader_worker_set):
        leader_worker_set = with_marks(leader_worker_set, LEADERS, labels, annotations)
        if value_at(leader_worker_set, (*WORKERS, "metadata", "annotations", topology_names.GROUP_NAME)) is None:
            offset = {topology_names.INDEX_OFFSET: "1"}
    return with_marks(leader_worker_set, WORKERS, labels, {**annotations, **offset})


def leader_worker_set_faults(context: JobContext, old: Manifest | None, new: Manifest) -> list[str]:
    try:
        asked = [*_topology_faults(new)]
    except UnreadableRequest as error:
        return [str(error)]
    problems = [*parent_faults(old, new), *_count_faults(leader_worker_set_rules.replicas(new)), *asked]
    if old is None or not context.is_to_wait(new):
        return problems
    size = leader_worker_set_rules.size
    return [
        *problems,
        *_template_faults(old, new, LEADERS),
        *_template_faults(old, new, WORKERS),
        *unchanged("spec.leaderWorkerTemplate.size", size(new), size(old)),
    ]


def _count_faults(replicas: int) -> Iterable[str]:
    wrong = "must be >= 0" if replicas < 0 else f"must be <= {MOST_REPLICAS}" if replicas > MOST_REPLICAS else ""
    if wrong:
        yield invalid(REPLICAS, replicas, f"invalid LeaderWorkerSet replicas: {wrong}, got {replicas}")


def _topology_faults(leader_worker_set: Manifest) -> list[str]:
    """Return what is wrong with the topology that is asked for; raises UnreadableRequest only if nothing else is."""
    templates = [field for field in (LEADERS, WORKERS) if value_at(leader_worker_set, field) is not None]
    asked = [
        (f"{dotted(field)}.metadata.annotations", annotations_of(value_at(leader_worker_set, field) or {}))
        for field in templates
    ]
    try:
        pod_sets = leader_worker_set_rules.pod_sets(leader_worker_set)
    except UnreadableRequest:
        return [problem for path, annotations in asked for problem in request_faults(path, annotations)]
    problems: list[str] = []
    for pod_set, (path, annotations) in zip(pod_sets, asked, strict=True):
        problems += [*request_faults(path, annotations), *slice_faults(path, annotations, pod_set["count"])]
    paths = {leader_worker_set_rules.LEADER: f"{dotted(LEADERS)}.metadata.annotations"}
    paths |= dict.fromkeys((leader_worker_set_rules.WORKER, MAIN), f"{dotted(WORKERS)}.metadata.annotations")
    return [*problems, *group_faults(pod_sets, paths)]


def _template_faults(old: Manifest, new: Manifest, template: Field) -> Iterable[str]:
    before, after = value_at(old, template), value_at(new, template)
    if before is None or after is None:
        return unchanged(dotted(template), after, before)
    return shape_faults(before.get("spec") or {}, after.get("spec") or {}, f"{dotted(template)}.spec")


def shape_faults(old: Manifest, new: Manifest, path: str) -> Iterable[str]:
    """Return what of pods changes that their Workload asks for: it would be asked for without its quota."""
    before, after = shape(old), shape(new)
    for field in sorted({*before, *after}):
        yield from _same(before.get(field), after.get(field), f"{path}.{field}")


def _same(old: Any, new: Any, path: str) -> Iterable[str]:
    is_of_containers = isinstance(old, list) and isinstance(new, list) and path.endswith("ontainers")
    if not is_of_containers or len(old) != len(new):
        yield from unchanged(path, new, old)
        return
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        where = f"{path}[{number}]"
        yield from unchanged(f"{where}.ports", after["ports"], before["ports"])
        yield from unchanged(
            f"{where}.resources.requests", after["resources"]["requests"], before["resources"]["requests"]
        )


def _scale_faults(context: JobContext, old: Manifest, new: Manifest) -> Iterable[str]:
    """Allow only to none and from none: a Workload does not change its size."""
    before, after = rules.replicas(old), rules.replicas(new)
    if before and after:
        yield from unchanged(REPLICAS, after, before)
    if before or not after:
        return
    if value_at(new, ("status", "replicas")):
        yield forbidden(REPLICAS, "scaling down is still in progress")
        return
    workload = context.look_up(kueue.Workload, rules.workload_name(old), old["metadata"]["namespace"])
    if workload is not None and not is_on_hold(kueue.Workload.view(workload)):
        yield forbidden(REPLICAS, "workload from previous scale-down is still being deleted")


def _pod_spec(stateful_set: Manifest) -> Manifest:
    spec: Manifest = value_at(stateful_set, (*TEMPLATE, "spec")) or {}
    return spec
