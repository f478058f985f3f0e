"""Watch over the one promise above all: a job never runs on two workers at once."""

from dataclasses import dataclass, field

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.meta import Object


@dataclass(slots=True)
class SingleRunMonitor:
    """Told of every change on the workers; remembers where copies were, and every job that ran twice at a time."""

    copies: dict[str, set[str]] = field(default_factory=dict)
    """From each Workload to the workers on which a copy was ever seen."""
    running: dict[str, set[str]] = field(default_factory=dict)
    """From each job to the workers on which it runs now."""
    doubles: list[str] = field(default_factory=list)

    def see(self, cluster: str, old: Object | None, new: Object | None) -> None:
        """Take note of a change on a worker."""
        if isinstance(new, kueue.Workload):
            self.copies.setdefault(new.key, set()).add(cluster)
        changed = new or old
        if isinstance(changed, Job):
            self._see_job(cluster, changed, is_running=isinstance(new, Job) and is_running(new))

    def _see_job(self, cluster: str, job: Job, *, is_running: bool) -> None:
        where = self.running.setdefault(job.key, set())
        where.discard(cluster)
        if is_running:
            where.add(cluster)
            if len(where) > 1:
                self.doubles.append(f"{job.key} on {', '.join(sorted(where))}")


def is_running(job: Job) -> bool:
    """Tell whether a job may have pods: not suspended, and not ended."""
    return not job.spec.suspend and not job.has_ended
