"""Run controllers on a hub: caches first, then work, all in one task group."""

import asyncio
from collections.abc import Sequence

from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.logs import Log

log = Log("manager")


class Manager:
    def __init__(self, hub: Cluster, controllers: Sequence[Controller]) -> None:
        self.hub = hub
        self.controllers = controllers
        self.ready = asyncio.Event()
        """Set once every cache was filled and work has begun."""
        for controller in controllers:
            controller.subscribe()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.hub.run(), name="caches")
                await self.hub.synced()
                for controller in self.controllers:
                    for number in range(controller.concurrency):
                        tasks.create_task(controller.work(), name=f"{controller.name} {number}")
                self.ready.set()
                log.info("working", controllers=len(self.controllers))
        finally:
            self.ready.clear()
            for controller in self.controllers:
                controller.queue.close()
