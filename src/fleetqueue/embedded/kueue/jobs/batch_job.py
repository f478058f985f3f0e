"""Jobs of Kubernetes itself.

Mirrors: Kueue pkg/controller/jobs/job
"""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.job_kinds import BATCH_JOB
from fleetqueue.api.pod_templates import without_labels
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import INDEX_LABEL, StopWrite, gated, pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, restored
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.rules.job_endings import Ending, job_ending
from fleetqueue.rules.job_templates import least_pods_at_once, pods_at_once

MAIN: Final = "main"
STOPPING: Final = "kueue.x-k8s.io/stopping"
EQUAL_COMPLETIONS: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
JOB_NAME: Final = "batch.kubernetes.io/job-name"
OWN_LABELS: Final = ("job-name", "controller-uid", "batch.kubernetes.io/controller-uid")
"""What Kubernetes itself writes into the template of a Job, and what is different on each cluster."""


class BatchJobIntegration(SuspendableJobs):
    def __init__(self) -> None:
        super().__init__(BATCH_JOB)

    def completed(self, job: Manifest) -> Manifest:
        return _with_spec(job, template=gated(job["spec"]["template"])) if self.is_elastic(job) else job

    def is_suspended(self, job: Manifest) -> bool:
        return _is_suspended(job) and not _is_stopping(job)

    def is_active(self, job: Manifest) -> bool:
        return bool((job.get("status") or {}).get("active"))

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        made = pod_set(
            MAIN, without_labels(job["spec"]["template"], OWN_LABELS), pods_at_once(job), podIndexLabel=INDEX_LABEL
        )
        least = least_pods_at_once(job)
        return [made if least is None else {**made, "minCount": least}]

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        if len(infos) != 1:
            raise CannotStart(f"invalid podset infos: expecting 1 podset, got {len(infos)}")
        sized = _sized(job, infos[0].count)
        return _with_spec(sized, suspend=False, template=merged(job["spec"]["template"], infos[0]))

    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        return _as_before(job, infos[0]) if infos else job

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        """Suspend, forget the start, restore: a Job that was ever started refuses changes of its template."""
        if not _is_suspended(job):
            marked = {**job_fields.annotations(job), STOPPING: "true"}
            stopped = _with_spec(job, suspend=True)
            return StopWrite({**stopped, "metadata": {**job["metadata"], "annotations": marked}})
        status = job.get("status") or {}
        if "startTime" in status:
            rest = {field: value for field, value in status.items() if field != "startTime"}
            return StopWrite({**job, "status": rest}, "status")
        wanted = _unmarked(self.restored(job, infos))
        return StopWrite(wanted) if wanted != job else None

    def ending(self, job: Manifest) -> Ending | None:
        return job_ending(job)

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        spec, status = job["spec"], job.get("status") or {}
        parallelism = spec.get("parallelism", 1)
        completions = spec.get("completions", parallelism)
        ended = status.get("succeeded", 0)
        if spec.get("completionMode") == "Indexed":
            listed = [status.get("completedIndexes") or "", status.get("failedIndexes") or ""]
            ended = ended_indexes(listed, completions)
        left = max(completions - ended, 0)
        if parallelism <= 1 or not ended or left >= parallelism:
            return []
        return [{"name": MAIN, "count": parallelism - left}]

    def pods_ready(self, job: Manifest) -> bool:
        status = job.get("status") or {}
        uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
        ready: int = status.get("succeeded", 0) + status.get("ready", 0) + len(uncounted)
        return ready >= pods_at_once(job)


def has_equal_completions(job: Manifest) -> bool:
    return job_fields.annotations(job).get(EQUAL_COMPLETIONS) in ("1", "t", "T", "TRUE", "true", "True")


def ended_indexes(listed: Sequence[str], completions: int) -> int:
    """Count the indexes below a limit in lists such as `0,3-5`."""
    ended: set[int] = set()
    for interval in ",".join(listed).split(","):
        first, _, last = interval.partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            ended.update(range(int(first), min(int(last or first) + 1, completions)))
    return len(ended)


def _is_suspended(job: Manifest) -> bool:
    return bool(job["spec"].get("suspend"))


def _is_stopping(job: Manifest) -> bool:
    return job_fields.annotations(job).get(STOPPING) == "true"


def _sized(job: Manifest, count: int) -> Manifest:
    """Return a job that runs so many pods, if it says that it can do with fewer."""
    if least_pods_at_once(job) is None:
        return job
    completions = {"completions": count} if has_equal_completions(job) else {}
    return _with_spec(job, parallelism=count, **completions)


def _as_before(job: Manifest, info: PodSetInfo) -> Manifest:
    template = job["spec"]["template"]
    labels = (template.get("metadata") or {}).get("labels") or {}
    own = {name: labels[name] for name in (*OWN_LABELS, JOB_NAME) if name in labels}
    before = PodSetInfo(
        info.name,
        info.count,
        info.annotations,
        {**info.labels, **own},
        info.node_selector,
        info.tolerations,
        info.gates,
    )
    return _with_spec(_sized(job, info.count), template=_same_empties(template, restored(template, before)))


def _same_empties(live: Manifest, wanted: Manifest) -> Manifest:
    """Keep what is there and empty: that is no difference, and the server would write it again."""
    if "metadata" not in live:
        return wanted
    empty = {field: value for field, value in (live["metadata"] or {}).items() if not value}
    return {**wanted, "metadata": {**empty, **(wanted.get("metadata") or {})}}


def _unmarked(job: Manifest) -> Manifest:
    if STOPPING not in job_fields.annotations(job):
        return job
    kept = {name: value for name, value in job_fields.annotations(job).items() if name != STOPPING}
    metadata = {name: value for name, value in job["metadata"].items() if name != "annotations"}
    return {**job, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def _with_spec(job: Manifest, **fields: object) -> Manifest:
    return {**job, "spec": {**job["spec"], **fields}}
