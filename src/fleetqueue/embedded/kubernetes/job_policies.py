"""What a Job's policies decide: on a failed pod (ignore it, count it, fail the Job), on failed indexes, on success."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ContainerStatus, Pod
from fleetqueue.embedded.kubernetes import job_indexes


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
