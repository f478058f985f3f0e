"""What a Job's policies decide: on a failed pod (ignore it, count it, fail the Job), on failed indexes, on success.

Where each index has a back-off limit of its own (`backoffLimitPerIndex`), its failures are counted in annotations of
its pods: a new pod carries the failures of those before it. So the last failed pod of an index is kept, by its
finalizer, until the next one has been made.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ContainerStatus, Pod
from fleetqueue.embedded.kubernetes import job_indexes
from fleetqueue.embedded.kubernetes.job_indexes import index_of, parse
from fleetqueue.embedded.kubernetes.pods import ended_at


def counts(job: Job, pod: Pod) -> bool:
    """Tell whether the failure of a pod counts against the back-off limit."""
    return _match(job, pod)[0] != "Ignore"


def fails_index(job: Job, pod: Pod) -> bool:
    """Tell whether the failure of a pod means that its index is given up."""
    return _match(job, pod)[0] == "FailIndex"


def failure_message(job: Job, failed: Iterable[Pod]) -> str | None:
    """Return why a failed pod makes the whole Job fail; None where none does."""
    for pod in failed:
        action, message = _match(job, pod)
        if action == "FailJob":
            return message
    return None


def success_message(job: Job, succeeded: Set[int]) -> str | None:
    """Return which rule says that enough indexes have succeeded; None where none does."""
    rules = (job.spec.success_policy or {}).get("rules") or ()
    for number, rule in enumerate(rules if succeeded else ()):
        required, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        wanted = job_indexes.parse(required, job.completions or 0) if required is not None else None
        have = succeeded if wanted is None else succeeded & wanted
        is_all = bool(wanted) and have == wanted
        if is_all or (count is not None and len(have) >= count and (wanted is None or wanted)):
            return f"Matched rules at index {number}"
    return None


def _match(job: Job, pod: Pod) -> tuple[str, str]:
    """Return the action of the first rule that fits a failed pod, and what to say if it fails the Job."""
    rules = (job.spec.pod_failure_policy or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        what = _by_exit_code(rule, pod) if rule.get("onExitCodes") else _by_condition(rule, pod)
        if what:
            return rule["action"], f"{what} matching {rule['action']} rule at index {number}"
    return "", ""


def _by_exit_code(rule: Mapping[str, Any], pod: Pod) -> str:
    asked = rule["onExitCodes"]
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if asked.get("containerName", status.name) == status.name and _fits(asked, status):
            assert status.state.terminated is not None
            code = status.state.terminated.exit_code
            return f"Container {status.name} for pod {pod.key} failed with exit code {code}"
    return ""


def _fits(asked: Mapping[str, Any], status: ContainerStatus) -> bool:
    end = status.state.terminated
    if end is None or end.exit_code == 0:
        return False
    is_listed = end.exit_code in asked["values"]
    return is_listed if asked["operator"] == "In" else not is_listed


def _by_condition(rule: Mapping[str, Any], pod: Pod) -> str:
    for condition in pod.status.conditions:
        for pattern in rule.get("onPodConditions") or ():
            if (condition.type, condition.status) == (pattern["type"], pattern.get("status", "True")):
                return f"Pod {pod.key} has condition {condition.type}"
    return ""


FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
"""Those that a Job's policy does not count; they make the next pod wait, too."""


def failed_indexes(job: Job, failed: Sequence[Pod]) -> frozenset[int]:
    """Return the indexes that are given up, before and by these failed pods."""
    limit = job.spec.backoff_limit_per_index
    if limit is None:
        return frozenset()
    before = parse(job.status.failed_indexes or "", job.completions or 0)
    new = (index_of(pod) for pod in failed if _is_last(job, pod, limit))
    return before | {index for index in new if index is not None}


def kept_pods(failed: Sequence[Pod], active: Sequence[Pod], settled: Set[int]) -> dict[int, Pod]:
    """Return, by index, the failed pod that has to wait for its successor."""
    running = {index_of(pod) for pod in active}
    kept: dict[int, Pod] = {}
    for pod in failed:
        index = index_of(pod)
        if index is None or index in settled or index in running:
            continue
        if index not in kept or _order(kept[index]) <= _order(pod):
            kept[index] = pod
    return kept


def count_of(pod: Pod) -> int:
    """Return how many pods of its index have failed before it, counted or not."""
    return _number(pod, FAILURES) + _number(pod, IGNORED)


def annotations(job: Job, replaced: Pod | None) -> Mapping[str, str]:
    """Return the annotations of a new pod of an index: the failures before it."""
    if job.spec.backoff_limit_per_index is None:
        return {}
    if replaced is None:
        return {FAILURES: "0"}
    is_counted = counts(job, replaced)
    failures, ignored = _number(replaced, FAILURES) + is_counted, _number(replaced, IGNORED) + (not is_counted)
    return {FAILURES: str(failures), **({IGNORED: str(ignored)} if ignored else {})}


def _is_last(job: Job, pod: Pod, limit: int) -> bool:
    if fails_index(job, pod):
        return True
    return counts(job, pod) and _number(pod, FAILURES) >= limit


def _order(pod: Pod) -> tuple[int, datetime]:
    return count_of(pod), ended_at(pod)


def _number(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else 0
