"""Jobs that run unless a field of theirs says that they are suspended: what is alike in all such kinds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fleetqueue.api.job_kinds import JobKind
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Integration, Lookup, StopWrite
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo
from fleetqueue.rules.job_endings import Ending
from fleetqueue.rules.workload_slices import is_elastic


class SuspendableJobs(ABC):
    reads: tuple[type[Object], ...] = ()
    makes: tuple[type[Object], ...] = ()

    def __init__(self, job_kind: JobKind) -> None:
        self.job_kind = job_kind

    @property
    def kind(self) -> type[Object]:
        return self.job_kind.kind

    @property
    def framework(self) -> str:
        return self.job_kind.framework

    # What a kind says

    @abstractmethod
    def pod_sets(self, job: Manifest) -> list[Manifest]: ...

    @abstractmethod
    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest: ...

    @abstractmethod
    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        """Return a job as it was before it was started, but for its suspension."""

    @abstractmethod
    def is_active(self, job: Manifest) -> bool: ...

    @abstractmethod
    def ending(self, job: Manifest) -> Ending | None: ...

    @abstractmethod
    def pods_ready(self, job: Manifest) -> bool: ...

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        return []

    def priority_class(self, job: Manifest) -> str:
        return ""

    def skips(self, job: Manifest) -> bool:
        return False

    def is_on_hold(self, job: Manifest) -> bool:
        return False

    def completed(self, job: Manifest) -> Manifest:
        return job

    def annotated(self, job: Manifest) -> Manifest:
        return job

    # What follows from that

    def looking_up(self, find: Lookup) -> Integration:
        return self

    def is_suspended(self, job: Manifest) -> bool:
        return self.job_kind.is_suspended(job)

    def is_elastic(self, job: Manifest) -> bool:
        return is_elastic(job)

    def suspended(self, job: Manifest) -> Manifest:
        return self.job_kind.with_suspension(job, suspend=True)

    def given_to_multikueue(self, job: Manifest) -> Manifest:
        return self.job_kind.given_to_multikueue(job)

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        if self.is_suspended(job):
            return None
        return StopWrite(self.suspended(self.restored(job, infos)))
