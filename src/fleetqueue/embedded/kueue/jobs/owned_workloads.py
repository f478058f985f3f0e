"""Find the Workloads of jobs, and the jobs of Workloads, in the caches."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.cluster import Cluster

BY_OWNER: Final = "owner"
"""Workloads by the kind, namespace and name of the job that controls them."""
BY_PREBUILT: Final = "prebuilt workload"
"""Jobs by the Workload that was made before them."""


class WorkloadsByOwner:
    def __init__(self, hub: Cluster) -> None:
        self._store = hub.informer(kueue.QueuedWorkload).store
        self._store.add_index(BY_OWNER, _owner)

    def by_key(self, key: str) -> list[Manifest]:
        """Return the Workloads of a job of any kind, by its `owner_key`."""
        return [raw for view in self._store.by_index(BY_OWNER, key) if (raw := self._store.raw(view.key)) is not None]


class OwnedWorkloads(WorkloadsByOwner):
    def __init__(self, hub: Cluster, kind: type[Object]) -> None:
        super().__init__(hub)
        self._kind = kind

    def of(self, namespace: str, name: str) -> list[Manifest]:
        """Return the Workloads that a job controls, by its name."""
        return self.by_key(owner_key(self._kind.resource.kind, namespace, name))


def owner_key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def named_beforehand(job: Object) -> Iterable[str]:
    """Return the key of the Workload that a job names."""
    name = job.metadata.annotations.get(kueue.PREBUILT_WORKLOAD) or job.metadata.labels.get(kueue.PREBUILT_WORKLOAD)
    if name:
        yield key_of(job.namespace, name)


def _owner(workload: kueue.QueuedWorkload) -> Iterable[str]:
    if workload.owner is not None:
        yield owner_key(workload.owner.kind, workload.namespace, workload.owner.name)
