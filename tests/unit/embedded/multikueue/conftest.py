"""A hub with MultiKueue and its workers, in this process: Kueue is played by the test, or is our own."""

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Secret
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from tests.invariants import strangers
from tests.invariants.second_look import managed, whole
from tests.invariants.standing_by import watched_over

from .objects import (
    CHECK,
    CONFIG,
    NAMESPACE,
    SYSTEM,
    admitted,
    condition,
    encoded,
    hub_workload,
    job_manifest,
    reserved,
)

COUNTED = (kueue.Workload,)


class Environment:
    """What a test arranges and looks at."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.hub = fleet.hub
        self.metrics = Metrics()
        self.addresses = {}
        """Further addresses of workers: the name in each, and whose it is."""
        self.frameworks = ("batch/job",)
        """The kinds of jobs that Kueue manages and sends."""
        self.operators = ()
        """What makes the controllers of other kinds, which run on the workers."""

    @property
    def workers(self):
        return self.fleet.workers

    def arrange(self, *names):
        """Make the objects of a hub by hand, as the manual set-up does."""
        for cluster in self.fleet:
            cluster.namespace(NAMESPACE, SYSTEM)
        names = names or tuple(worker.name for worker in self.workers)
        for name in names:
            self.connect(name)
        self.hub.add(
            kueue.MultiKueueConfig.manifest(CONFIG, spec={"clusters": list(names)}),
            kueue.AdmissionCheck.manifest(
                CHECK,
                spec={
                    "controllerName": kueue.MULTIKUEUE_CONTROLLER,
                    "parameters": {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": CONFIG},
                },
            ),
        )

    async def serve(self, *systems):
        """Let every cluster serve the kinds of some systems."""
        for cluster in self.fleet:
            cluster.add(*(definition for system in systems for definition in crds(system)))
        await self.fleet.advance(2)

    def connect_as(self, name, worker):
        """Name a worker once more."""
        self.connect(name, self.fleet[worker].kubeconfig)

    def connect(self, name, kubeconfig=None):
        text = self.fleet[name].kubeconfig if kubeconfig is None else kubeconfig
        self.hub.add(
            {**Secret.manifest(f"{name}-secret", SYSTEM), "data": {"kubeconfig": encoded(text)}},
            kueue.MultiKueueCluster.manifest(
                name, spec={"clusterSource": {"kubeConfig": {"location": f"{name}-secret", "locationType": "Secret"}}}
            ),
        )

    def list_clusters(self, *names):
        self.hub.change(kueue.MultiKueueConfig, CONFIG, spec={"clusters": list(names)})

    def submit(self, name="j", **spec):
        """Make a job and its Workload on the hub, with quota; the spec is the Workload's."""
        self.hub.add(job_manifest(name))
        uid = self.hub.get(Job, name, NAMESPACE).uid
        self.hub.add(hub_workload(name, uid, **spec))
        self.reserve(name)

    def reserve(self, name="j"):
        checks = [{"name": CHECK, "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        status = {**reserved(), "admissionChecks": checks}
        self.hub.apply_as("kueue-admission", kueue.Workload, name, NAMESPACE, status=status)

    def admit(self, worker, name="j"):
        """Let a worker's Kueue admit its copy."""
        self.fleet[worker].apply_as("kueue-admission", kueue.Workload, name, NAMESPACE, status=admitted())

    def tell(self, cluster, name="j", **conditions):
        """Let a Kueue write a condition: `tell("cluster1", Evicted="Preempted")`."""
        api = self.fleet[cluster]
        told = api.raw(kueue.Workload, name, NAMESPACE).get("status", {}).get("conditions", [])
        made = [condition(kind, True, reason) for kind, reason in conditions.items()]
        others = [each for each in told if each["type"] not in conditions]
        api.change(kueue.Workload, name, NAMESPACE, status={"conditions": [*others, *made]})

    def workload(self, name="j", cluster="hub"):
        return self.fleet[cluster].get(kueue.Workload, name, NAMESPACE)

    def job(self, name="j", cluster="hub"):
        return self.fleet[cluster].get(Job, name, NAMESPACE)

    def check(self, name="j"):
        return self.workload(name).check(CHECK)

    def has_copy(self, name="j"):
        return [worker.name for worker in self.workers if worker.get(kueue.Workload, name, NAMESPACE)]

    def has_job(self, name="j"):
        return [worker.name for worker in self.workers if worker.get(Job, name, NAMESPACE)]

    def has_anything(self):
        """Return which workers have anything of the hub's."""
        left = {worker.name: [*worker.list(Job), *worker.list(kueue.Workload)] for worker in self.workers}
        return [name for name, some in left.items() if any(each.name != strangers.NAME for each in some)]

    def active(self, kind, name):
        """Return the condition Active of an object, in one line."""
        told = [each for each in self.hub.get(kind, name).status.conditions if each.type == "Active"]
        return " ".join(f"{each.status} {each.reason}: {each.message}" for each in told)

    @asynccontextmanager
    async def multikueue(self, life=None, run_plugin=None, external=(), **settings):
        """Let MultiKueue alone run on the hub; Kueue is played by the test."""
        self.metrics = Metrics()
        hub = Cluster("hub", self.hub.client(life))
        made = MultiKueueSettings(**settings)
        controllers = wiring.controllers(
            hub, self.metrics, made, dial=self._dial(life), run_plugin=run_plugin, external=external
        )
        async with managed(Manager(hub, controllers), apis=self.workers):
            await self.fleet.settle()
            yield

    @asynccontextmanager
    async def kueue(self, **settings):
        """Let whole Kueue managers of ours run everywhere, with MultiKueue on the hub."""
        async with self.workers_kueue(), self.hub_kueue(**settings):
            await self.fleet.advance(3)
            yield

    @asynccontextmanager
    async def workers_kueue(self):
        """Let Kueue run on the workers; faults are on our way to them, not on its own."""
        async with AsyncExitStack() as stack:
            for worker in self.workers:
                await stack.enter_async_context(whole(self._manager(worker, self._inside(worker), Metrics())))
                if self.operators:
                    await stack.enter_async_context(managed(self._operators(self._inside(worker))))
            yield

    def _inside(self, worker):
        return Cluster(worker.name, self.fleet._fleet.clusters[worker.name].client())

    def _operators(self, view):
        metrics = Metrics()
        return Manager(view, [made for operator in self.operators for made in operator(view, metrics)])

    @asynccontextmanager
    async def hub_kueue(self, life=None, **settings):
        self.metrics = Metrics()
        hub = Cluster("hub", self.hub.client(life))
        remote = MultiKueueSettings(**{"frameworks": self.frameworks, **settings})
        more = partial(wiring.controllers, hub, self.metrics, remote, dial=self._dial(life))
        async with whole(self._manager(self.hub, hub, self.metrics, more), apis=self.workers):
            yield

    def _manager(self, cluster, view, metrics, more=tuple):
        server = self.fleet._fleet.clusters[cluster.name].server
        settings = KueueSettings(frameworks=self.frameworks, pods_ready=None)
        install = partial(server.webhooks.install, "kueue")
        return KueueManager(view, metrics, settings, find=server.find, install=install, more=more)

    def _dial(self, life):
        def dial(connection):
            server = connection.server
            for name, worker in self.addresses.items():
                server = server.replace(f"//{name}.", f"//{worker}.")
            client = self.fleet.dial(replace(connection, server=server))
            if life is not None:
                client.door = life.door(client.door)
            return client

        return dial


@pytest.fixture
async def env(fleet, broken):
    clients = {name: cluster.client() for name, cluster in fleet._fleet.clusters.items()}
    async with watched_over(clients, without=COUNTED, broken=broken):
        yield Environment(fleet)


@pytest.fixture
def counted():
    return COUNTED
