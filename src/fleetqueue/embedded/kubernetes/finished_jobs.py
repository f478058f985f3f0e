"""Delete Jobs that ended longer ago than their `ttlSecondsAfterFinished`.

Reads:   Job
Writes:  Job (delete)
Mirrors: kubernetes pkg/controller/ttlafterfinished
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import COMPLETE, FAILED, Job
from fleetqueue.api.conditions import find
from fleetqueue.api.meta import split_key
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

log = Log("finished-jobs")


class FinishedJobController(Controller):
    name = "finished-jobs"

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Job, lambda job: (job.key,) if due_at(job) is not None else ()),)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        job = self.hub.get(Job, name, namespace)
        due = due_at(job) if job is not None and not job.is_deleting else None
        if job is None or due is None:
            return
        left = (due - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "it is kept for as long as it asked")
        live = Job.view(await self.hub.client.get(Job.resource, name, namespace))
        if live.uid != job.uid or due_at(live) != due:
            return  # the time was changed a moment ago; the change wakes us
        await self.hub.client.delete(Job.resource, name, namespace, uid=job.uid, propagation="Foreground")
        log.info("finished job deleted", job=key)


def due_at(job: Job) -> datetime | None:
    """Return when a Job is to be deleted; None where it is not."""
    seconds = job.spec.ttl_seconds_after_finished
    ends = (find(job.status.conditions, kind) for kind in (COMPLETE, FAILED))
    ended = next((end.last_transition_time for end in ends if end is not None and end.is_true), None)
    return ended + timedelta(seconds=seconds) if seconds is not None and ended is not None else None
