"""Find the job above another one that Kueue admits in its place.

Mirrors: Kueue pkg/controller/jobframework/reconciler.go (FindAncestorJobManagedByKueue)
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch


class Ancestors:
    def __init__(
        self, hub: Cluster, jobs: Sequence[type[Object]], external: Sequence[type[Object]], *, without_queue: bool
    ) -> None:
        """Take the kinds of jobs that are managed here and by somebody else; `without_queue`: also without a queue."""
        self.hub = hub
        self._kinds = {_key(kind): kind for kind in (*jobs, *external)}
        self._external = {*map(_key, external)}
        self._without_queue = without_queue

    def watches(self, *, besides: type[Object]) -> Iterable[Watch[Any]]:
        """Return what is read; it wakes nobody."""
        return [Watch(kind) for kind in self._kinds.values() if kind is not besides]

    def of(self, job: Manifest) -> Manifest | None:
        """Return the uppermost job above one that is managed; raises TooDeep, or NotFound before it is seen."""
        return job_fields.managed_ancestor(job, self._find, without_queue=self._without_queue)

    def is_below_managed(self, job: Manifest) -> bool:
        """Tell whether a job above this one is managed, or there are too many to know."""
        try:
            return self.of(job) is not None
        except job_fields.TooDeep:
            return True

    def is_external(self, job: Manifest) -> bool:
        """Tell whether somebody else makes the Workload of a job."""
        return (job["apiVersion"], job["kind"]) in self._external

    def _find(self, owner: Manifest, namespace: str) -> Manifest | None:
        kind = self._kinds.get((owner["apiVersion"], owner["kind"]))
        if kind is None:
            return None
        raw = self.hub.informer(kind).store.raw(key_of(namespace, owner["name"]))
        if raw is None:  # a job must not be taken for the uppermost one because the cache is late
            raise errors.NotFound(f"workload owner not found: {owner['kind']} {owner['name']}")
        return {**raw, "apiVersion": owner["apiVersion"], "kind": owner["kind"]}


def _key(kind: type[Object]) -> tuple[str, str]:
    return kind.resource.api_version, kind.resource.kind
