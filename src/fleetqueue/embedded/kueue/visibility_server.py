"""Serve the visibility API while a manager works: not before its caches are filled, so that its queues are right."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.aggregated_apis import Serve
from fleetqueue.embedded.kueue.scheduling.queue_manager import QueueManager
from fleetqueue.embedded.kueue.visibility import visibility_api
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics


class VisibilityServer(Controller):
    name = "visibility-server"

    def __init__(self, hub: Cluster, metrics: Metrics, queue_manager: QueueManager, serve: Serve) -> None:
        super().__init__(hub, metrics)
        self.queue_manager = queue_manager
        self.serve = serve

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    async def work(self) -> None:
        with self.serve(visibility_api(self.queue_manager)):
            await super().work()
