"""Delete works that are complete and have been so for as long as they say.

Reads:   ManifestWork
Writes:  deletes ManifestWorks
Mirrors: OCM work/hub/controllers/manifestworkgarbagecollection
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import find
from fleetqueue.api.meta import split_key
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log

log = Log("work")


class CompletedWorkController(Controller):
    name = "completed-manifest-work"

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(work.ManifestWork, by_key),)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        this = self.hub.get(work.ManifestWork, name, namespace)
        end = end_of(this) if this is not None else None
        if this is None or end is None:
            return
        left = (end - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "it may still be looked at")
        await self.hub.client.delete(this.resource, this.name, this.namespace, uid=this.uid)
        log.info("completed work deleted", work=this.key)


def end_of(this: work.ManifestWork) -> datetime | None:
    """Return when a work is to be deleted; None where it is not, for replica sets look after their own."""
    option = this.spec.delete_option
    complete = find(this.status.conditions, work.COMPLETE)
    if this.is_deleting or work.REPLICA_SET_LABEL in this.metadata.labels:
        return None
    if option is None or option.ttl_seconds_after_finished is None or complete is None or not complete.is_true:
        return None
    assert complete.last_transition_time is not None
    return complete.last_transition_time + timedelta(seconds=option.ttl_seconds_after_finished)
