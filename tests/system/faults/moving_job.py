"""One job that must move: our controllers, Kueue and MultiKueue on an embedded fleet, and a Placement that changes.

The whole way of the job: it is nominated and admitted, its cluster is dropped, the drain times out, and it starts
elsewhere. What is not asked here is left out: the test decides in OCM's place, and no add-on brings credentials.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.demo.story_run import SingleRunMonitor
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.fleets.crashes import Life
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.fleet import Fleet, FleetCluster
from fleetqueue.testing.virtual_time import running

KUEUE, TEAM, QUEUE, PLACEMENT, JOB = "kueue-system", "team-a", "queue", "gpu", "job"
SETTINGS = PlacementAdmissionSettings(drain_timeout=1.0, drain_poll=0.5, linger=0.5)
PATIENCE = 600
"""Seconds that anything may take; a watch that fell silent is noticed after five minutes."""


class MovingJob:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.hub = fleet.hub
        self.monitor = SingleRunMonitor()
        self.names = {worker.name for worker in fleet.workers}

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator["MovingJob"]:
        async with Fleet.open(workers=2) as fleet, AsyncExitStack() as stack:
            found = cls(fleet)
            found.arrange()
            for one in fleet:
                await stack.enter_async_context(running(found.manager(one).run()))
            for worker in fleet.workers:
                informer = Informer(worker.client(), Job)
                informer.subscribe(partial(found.monitor.see, worker.name))
                await stack.enter_async_context(running(informer.run()))
            await fleet.advance(3)
            yield found

    # What there is

    def arrange(self) -> None:
        for one in self.fleet:
            one.namespace(KUEUE, TEAM)
            self.add_queue(one)
        text = f"multiKueue: {{dispatcherName: {DISPATCHER_NAME}}}"
        self.hub.add(core.ConfigMap.manifest(CONFIG_MAP, KUEUE, data={CONFIG_KEY: text}))
        for worker in self.fleet.workers:
            secret = core.secret(f"kueue-admin-{worker.name}-kubeconfig", KUEUE, {"kubeconfig": worker.kubeconfig})
            self.hub.add(cluster.ManagedCluster.manifest(worker.name, spec={"hubAcceptsClient": True}), secret)
        decision = cluster.PlacementDecision.manifest(
            f"{PLACEMENT}-decision-1", KUEUE, labels={cluster.PLACEMENT_LABEL: PLACEMENT}
        )
        self.hub.add(
            cluster.Placement.manifest(PLACEMENT, KUEUE, spec={}),
            {**decision, "status": {"decisions": decided(self.names)}},
            check("ac", CHECK_CONTROLLER, cluster.GROUP, "Placement"),
            check("mk", kueue.MULTIKUEUE_CONTROLLER, kueue.GROUP, "MultiKueueConfig"),
        )

    def add_queue(self, where: FleetCluster) -> None:
        resources = [{"name": "cpu", "nominalQuota": "4"}]
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "ac"}, {"name": "mk"}]}}
        spec = {"namespaceSelector": {}, "resourceGroups": groups, **(checks if where is self.hub else {})}
        where.add(
            kueue.ResourceFlavor.manifest("default", spec={}),
            kueue.ClusterQueue.manifest(QUEUE, spec=spec),
            kueue.LocalQueue.manifest(QUEUE, TEAM, spec={"clusterQueue": QUEUE}),
        )

    def manager(self, where: FleetCluster) -> KueueManager:
        """Return the Kueue of a cluster; the hub's has MultiKueue, and leaves nominating to us."""
        view, metrics = Cluster(where.name, where.client()), Metrics()
        server = where.server.api
        install = partial(server.webhooks.install, "kueue")
        remote = MultiKueueSettings(dispatcher=DISPATCHER_NAME)
        more = partial(wiring.controllers, view, metrics, remote, dial=self.fleet.dial) if where is self.hub else tuple
        return KueueManager(view, metrics, KueueSettings(pods_ready=None), find=server.find, install=install, more=more)

    # What happens

    @asynccontextmanager
    async def controllers(self, life: Life) -> AsyncIterator[None]:
        """Let a process of ours live, and die when its life ends."""

        def dial(connection: Connection) -> Client:
            client = self.fleet.dial(connection)
            client.door = life.door(client.door)
            return client

        hub = Cluster("hub", self.hub.client(life))
        admission = PlacementAdmission(hub, Metrics(), SETTINGS, dial=dial)
        try:
            async with running(Manager(hub, admission.controllers).run()):
                yield
        finally:
            await admission.close()

    async def succession(self, life: Life) -> None:
        """Let our controllers live until they die, and then the next ones, as a Deployment does."""
        async with self.controllers(life):
            await life.dead.wait()
        async with self.controllers(Life()):
            await Life().dead.wait()

    async def move(self) -> None:
        """Create the job, drop the cluster on which it starts, and see it end elsewhere."""
        first = await self.start(seconds=5)
        self.drop(first)
        await self.end_without(first)

    async def start(self, *, seconds: int) -> str:
        """Create the job; return where it runs."""
        template = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": f"{seconds}s"})
        spec = {"suspend": True, "managedBy": kueue.MULTIKUEUE_CONTROLLER, "template": template}
        self.hub.add(Job.manifest(JOB, TEAM, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec))
        await self.until(self.runs_on)
        (first,) = self.runs_on()
        return first

    def drop(self, name: str) -> None:
        """Let the Placement select all others."""
        status = {"decisions": decided(self.names - {name})}
        self.hub.change(cluster.PlacementDecision, f"{PLACEMENT}-decision-1", KUEUE, status=status)

    async def end_without(self, name: str) -> None:
        """Wait until the job has ended, and a cluster is no longer listed."""
        await self.until(self.has_ended)
        kept = [f"{PLACEMENT}-{other}" for other in sorted(self.names - {name})]
        await self.until(lambda: self.listed() == kept)

    async def until(self, holds) -> None:
        for _ in range(PATIENCE * 4):
            if holds():
                return
            await self.fleet.advance(0.25)
        raise AssertionError(f"it did not happen: {holds}")

    # What is

    def runs_on(self) -> set[str]:
        return self.monitor.running.get(f"{TEAM}/{JOB}", set())

    def has_ended(self) -> bool:
        job = self.hub.get(Job, JOB, TEAM)
        return job is not None and job.has_ended

    def listed(self) -> list[str]:
        config = self.hub.get(kueue.MultiKueueConfig, PLACEMENT)
        return list(config.spec.clusters) if config is not None else []


def check(name: str, controller: str, group: str, kind: str) -> dict:
    parameters = {"apiGroup": group, "kind": kind, "name": PLACEMENT}
    return kueue.AdmissionCheck.manifest(name, spec={"controllerName": controller, "parameters": parameters})


def decided(names: set[str]) -> list[dict]:
    return [{"clusterName": name, "reason": ""} for name in sorted(names)]
