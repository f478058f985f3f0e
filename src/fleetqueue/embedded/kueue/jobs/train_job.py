"""TrainJobs: what they ask for stands in their runtime, and what their pods are given in a patch of it.

Mirrors: Kueue pkg/controller/jobs/trainjob
"""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.fields import Field, value_at, with_value, without_field
from fleetqueue.api.job_kinds import TRAIN_JOB
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Lookup, StillActive, StopWrite
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, as_fields
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.rules.job_endings import Ending, train_job_ending
from fleetqueue.rules.runtime_patches import KUEUE
from fleetqueue.rules.train_jobs import RUNTIMES, job_set_of, runtime_kind, runtime_name, unsupported

PATCHES: Final = ("spec", "runtimePatches")
GIVEN: Final = ("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
"""Where in its patch Kueue writes what the pods are given."""
JOB_SETS: Final = JobSetIntegration()


def _nothing(kind: type[Object], name: str, namespace: str) -> Manifest | None:
    return None


class TrainJobIntegration(SuspendableJobs):
    reads: tuple[type[Object], ...] = RUNTIMES

    def __init__(self, find: Lookup = _nothing) -> None:
        super().__init__(TRAIN_JOB)
        self._find = find

    def looking_up(self, find: Lookup) -> "TrainJobIntegration":
        return TrainJobIntegration(find)

    def completed(self, job: Manifest) -> Manifest:
        """Return a job with a patch of Kueue's, in which nothing stands yet: one cannot be added later."""
        own = {"manager": KUEUE, "trainingRuntimeSpec": {"template": {"spec": {}}}}
        return with_value(job, PATCHES, [*(value_at(job, PATCHES) or ()), own])

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return JOB_SETS.pod_sets(self._job_set(job))

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        expected = len(JOB_SETS.templates(self._job_set(job)))
        if len(infos) != expected:
            raise CannotStart(f"invalid podset infos: expecting {expected} podset, got {len(infos)}")
        field = _own_patch(job)
        if field is None:
            raise errors.NotFound("kueue runtime patch not found")
        given = with_value(job, (*field, *GIVEN), [_given(info) for info in infos])
        return self.job_kind.with_suspension(given, suspend=False)

    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        field = _own_patch(job)
        return job if field is None else without_field(job, (*field, *GIVEN))

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        """Suspend, wait for the last pod, restore: the runtime of a job that has pods cannot be changed."""
        if not self.is_suspended(job):
            return StopWrite(self.suspended(job))
        wanted = self.restored(job, infos)
        if wanted == job:
            return None
        if self.is_active(job):
            raise StillActive
        return StopWrite(wanted, ends=True)

    def is_active(self, job: Manifest) -> bool:
        return JOB_SETS.is_active(_counted(job))

    def ending(self, job: Manifest) -> Ending | None:
        return train_job_ending(job)

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        if not value_at(job, ("status", "jobsStatus")):
            return []
        return JOB_SETS.reclaimable({**self._job_set(job), **_counted(job)})

    def pods_ready(self, job: Manifest) -> bool:
        try:
            return JOB_SETS.pods_ready({**self._job_set(job), **_counted(job)})
        except errors.NotFound:
            return False

    def _job_set(self, job: Manifest) -> Manifest:
        """Return the JobSet that a job becomes; raises NotFound where its runtime is not there."""
        kind, name = runtime_kind(job), runtime_name(job)
        if kind is None:
            raise errors.NotFound(unsupported(job))
        runtime = self._find(kind, name, job["metadata"]["namespace"] if kind.resource.namespaced else "")
        if runtime is None:
            raise errors.NotFound(f"runtime '{name}' not found")
        return job_set_of(job, runtime)


def _own_patch(job: Manifest) -> Field | None:
    """Return where Kueue's patch is; None where there is none."""
    patches = value_at(job, PATCHES) or ()
    place = next((i for i, patch in enumerate(patches) if patch.get("manager") == KUEUE), None)
    return None if place is None else (*PATCHES, place)


def _given(info: PodSetInfo) -> Manifest:
    fields = as_fields(info)
    metadata = {name: fields.pop(name) for name in ("annotations", "labels") if name in fields}
    return {"name": info.name, "template": {"spec": {"template": {"metadata": metadata, "spec": fields}}}}


def _counted(job: Manifest) -> Manifest:
    """Return the status of a job as a JobSet tells it."""
    return {"status": {"replicatedJobsStatus": value_at(job, ("status", "jobsStatus")) or []}}
