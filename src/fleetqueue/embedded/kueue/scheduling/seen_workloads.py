"""The Workloads as they were last seen, also by the LocalQueue that they were sent to."""

from collections.abc import Iterable

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.workload_info import local_queue


class SeenWorkloads:
    def __init__(self) -> None:
        self._views: dict[str, kueue.QueuedWorkload] = {}
        self._by_local: dict[str, dict[str, None]] = {}

    def __getitem__(self, key: str) -> kueue.QueuedWorkload:
        return self._views[key]

    def get(self, key: str) -> kueue.QueuedWorkload | None:
        return self._views.get(key)

    def of(self, local: str) -> Iterable[str]:
        """Return the keys of those that were sent to a LocalQueue."""
        return self._by_local.get(local, ())

    def put(self, view: kueue.QueuedWorkload) -> None:
        old = self._views.get(view.key)
        if old is not None and local_queue(old) != local_queue(view):
            self._unindex(old)
        self._by_local.setdefault(local_queue(view), {})[view.key] = None
        self._views[view.key] = view

    def drop(self, key: str) -> None:
        view = self._views.pop(key, None)
        if view is not None:
            self._unindex(view)

    def _unindex(self, view: kueue.QueuedWorkload) -> None:
        keys = self._by_local.get(local_queue(view), {})
        keys.pop(view.key, None)
        if not keys:
            self._by_local.pop(local_queue(view), None)
