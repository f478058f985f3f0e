"""The process on a worker, `fleetqueue score-agent`: it tells the hub how much of the worker is free, and stops the
hub's jobs on it when it is cut off for too long."""

import asyncio

from fleetqueue.client.kubeconfig import Connection
from fleetqueue.client.transport import connect
from fleetqueue.controllers.fence.agent import FenceAgent
from fleetqueue.controllers.placement_admission.workers import Dial
from fleetqueue.controllers.processes.probes import Probes
from fleetqueue.controllers.processes.process import until_told_to_stop
from fleetqueue.controllers.processes.settings import WorkerSettings
from fleetqueue.controllers.usage_scores.agent import ScoreAgent
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics


class WorkerProcess:
    def __init__(self, worker: Connection, hub: Connection, settings: WorkerSettings, *, dial: Dial = connect) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.worker = Cluster(settings.cluster, dial(worker), metrics=self.metrics)
        self.hub = Cluster("hub", dial(hub), metrics=self.metrics)
        self.agent = ScoreAgent(self.worker, self.hub, self.metrics, settings.scores)
        self.fence = FenceAgent(
            self.worker,
            self.hub,
            self.metrics,
            settings.fence,
            namespace=settings.namespace,
            add_on=settings.scores.add_on,
        )

    async def run(self) -> None:
        """Work until the process is told to stop."""
        probes = Probes(self.settings.probes, why_not_ready=self.why_not_ready, registry=lambda: self.metrics.registry)
        try:
            async with probes:
                await until_told_to_stop(self.work())
        finally:
            await self.worker.client.close()
            await self.hub.client.close()

    async def work(self) -> None:
        """Publish scores, and keep what was promised about the hub's jobs, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.agent.run(), name="scores")
            if self.settings.fence.enabled:
                tasks.create_task(self.fence.run(), name="fence")

    def why_not_ready(self) -> str:
        """Say what cannot be seen: the worker's nodes and pods, or the scores on the hub."""
        problems = [f"{c.name} {kind}: {why}" for c in (self.worker, self.hub) for kind, why in c.problems().items()]
        if problems:
            return "; ".join(problems)
        return "" if self.worker.is_synced else "caches are not filled yet"
