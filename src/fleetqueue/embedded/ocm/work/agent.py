"""What every controller of a work agent has: a hub that it is told by, and a worker that it acts on."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.meta import Object
from fleetqueue.api.work_v1 import AppliedManifestWork, ManifestWork
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics


class AgentController(Controller):
    """Woken by works on the hub and by what is kept of them on the worker; a key is the name of a work."""

    def __init__(self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: WorkAgentSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(ManifestWork, _by_name, namespace=self.settings.cluster),)

    def worker_watches(self) -> Iterable[Watch[Any]]:
        return (Watch(AppliedManifestWork, self._work_of),)

    def subscribe(self) -> None:
        super().subscribe()
        for watch in self.worker_watches():
            self.subscribe_to(self.worker, watch)

    async def work(self) -> None:
        await self.worker.synced()
        await super().work()

    def find(self, name: str) -> ManifestWork | None:
        return self.hub.get(ManifestWork, name, self.settings.cluster)

    def find_applied(self, name: str) -> AppliedManifestWork | None:
        return self.worker.get(AppliedManifestWork, self.applied_name(name))

    def applied_name(self, name: str) -> str:
        return f"{self.settings.hub_hash}-{name}"

    def _work_of(self, applied: AppliedManifestWork) -> Iterable[str]:
        prefix = f"{self.settings.hub_hash}-"
        return (applied.name.removeprefix(prefix),) if applied.name.startswith(prefix) else ()


def _by_name(obj: Object) -> Iterable[str]:
    return (obj.name,)
