"""Wake the jobs that a change of a Workload concerns: its own, those that wait for it by its name, and those below.

Many kinds of jobs are managed, and most have no jobs: a change is looked at once for all of them.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object, key_of
from fleetqueue.embedded.kueue.jobs.owned_workloads import BY_PREBUILT, named_beforehand
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.store import Store

BY_PARENT: Final = "parent"
"""Jobs by the uid of the job that controls them."""
Wake = Callable[[str], None]


class JobsOfKind(NamedTuple):
    store: Store[Object]
    wake: Wake


class JobsOfWorkloads:
    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._kinds: dict[tuple[str, str], JobsOfKind] = {}
        self._seen: dict[type[Object], JobsOfKind] = {}
        """Those of which there has been any."""

    def add(self, kind: type[Object], wake: Wake) -> None:
        """Wake jobs of a kind by their keys."""
        if not self._kinds:
            self._hub.informer(kueue.QueuedWorkload).subscribe(self._changed, facts)
        store = self._hub.informer(kind).store
        store.add_index(BY_PREBUILT, named_beforehand)
        store.add_index(BY_PARENT, _parent)
        jobs = self._kinds[kind.resource.api_version, kind.resource.kind] = JobsOfKind(store, wake)
        self._hub.informer(kind).subscribe(lambda old, new: self._seen.update({kind: jobs}))

    def _changed(self, old: kueue.QueuedWorkload | None, new: kueue.QueuedWorkload | None) -> None:
        if old is not None:
            self._wake_jobs_of(old)
        if new is not None:
            self._wake_jobs_of(new)

    def _wake_jobs_of(self, workload: kueue.QueuedWorkload) -> None:
        owner = workload.owner
        if owner is not None and (jobs := self._kinds.get((owner.api_version, owner.kind))) is not None:
            jobs.wake(key_of(workload.namespace, owner.name))
        for store, wake in self._seen.values():
            for job in store.by_index(BY_PREBUILT, workload.key):
                wake(job.key)
            for job in store.by_index(BY_PARENT, owner.uid) if owner is not None else ():
                wake(job.key)


def _parent(job: Object) -> Iterable[str]:
    return [owner.uid for owner in job.metadata.owner_references if owner.controller]
