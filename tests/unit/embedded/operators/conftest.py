"""Clusters with Kueue and the operators on them, in virtual time."""

from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Pod, Secret
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring as multikueue
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.operators import wiring
from fleetqueue.fleets.systems.parts import install_kinds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import by_secret
from tests.invariants.second_look import managed, whole

from .objects import NAMESPACE, QUEUE

SYSTEMS = ("training-operator", "mpi-operator", "kuberay")
OPERATORS = (*wiring.TRAINING_OPERATOR, *wiring.MPI_OPERATOR, *wiring.KUBERAY_OPERATOR)
FRAMEWORKS = ("batch/job", *(operated.job_kind.framework for operated in OPERATORS))
CHECK, CONFIG, SYSTEM = "mk", "mk-config", "kueue-system"


class World:
    def __init__(self, fleet):
        self.fleet = fleet
        self.hub = fleet.hub

    async def arrange(self):
        """Serve all kinds, and have queues everywhere; the hub's sends jobs to workers, where there are any."""
        for cluster in self.fleet:
            await install_kinds(cluster.client(), *SYSTEMS)
            cluster.namespace(NAMESPACE, SYSTEM)
        await self.fleet.settle()
        for worker in self.fleet.workers:
            self._connect(worker)
        for cluster in self.fleet:
            self._queues(cluster, sends=cluster is self.hub and bool(self.fleet.workers))

    def _connect(self, worker):
        secret = {**Secret.manifest(worker.name, SYSTEM), "stringData": {"kubeconfig": worker.kubeconfig}}
        self.hub.add(secret, kueue.MultiKueueCluster.manifest(worker.name, spec=by_secret(worker.name)))

    def _queues(self, cluster, *, sends):
        if sends:
            workers = [worker.name for worker in self.fleet.workers]
            parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": CONFIG}
            check = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": parameters}
            cluster.add(
                kueue.MultiKueueConfig.manifest(CONFIG, spec={"clusters": workers}),
                kueue.AdmissionCheck.manifest(CHECK, spec=check),
            )
        resources = [{"name": "cpu", "nominalQuota": "9"}, {"name": "memory", "nominalQuota": "9Gi"}]
        groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": resources}]}]
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}} if sends else {}
        labels = {"nodeLabels": {"kubernetes.io/os": "linux"}}
        cluster.add(
            kueue.ResourceFlavor.manifest("default", spec=labels),
            kueue.ClusterQueue.manifest("q", spec={"namespaceSelector": {}, "resourceGroups": groups, **checks}),
            kueue.LocalQueue.manifest(QUEUE, NAMESPACE, spec={"clusterQueue": "q"}),
        )

    @asynccontextmanager
    async def running(self):
        """Let Kueue and the operators work on every cluster."""
        async with AsyncExitStack() as stack:
            for cluster in self.fleet:
                await stack.enter_async_context(self.operators(cluster))
                await stack.enter_async_context(self._kueue(cluster))
            await self.fleet.advance(3)
            yield

    @asynccontextmanager
    async def operators(self, cluster):
        view = Cluster(cluster.name, cluster.client())
        async with managed(Manager(view, wiring.controllers(view, Metrics(), OPERATORS))):
            await self.fleet.settle()
            yield

    @asynccontextmanager
    async def _kueue(self, cluster):
        view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
        server = self.fleet._fleet.clusters[cluster.name].server
        more = tuple
        if cluster is self.hub and self.fleet.workers:
            settings = MultiKueueSettings(frameworks=FRAMEWORKS)
            more = partial(multikueue.controllers, view, metrics, settings, dial=self.fleet.dial)
        manager = KueueManager(
            view,
            metrics,
            KueueSettings(frameworks=FRAMEWORKS),
            find=server.find,
            install=partial(server.webhooks.install, "kueue"),
            more=more,
        )
        async with whole(manager, apis=self.fleet.workers if more is not tuple else ()):
            yield

    def submit(self, job):
        """Let a user make a job."""
        metadata = {"name": "j", "namespace": NAMESPACE, "labels": {kueue.QUEUE_LABEL: QUEUE}}
        metadata |= {key: value for key, value in job["metadata"].items() if key == "annotations"}
        self.hub.add({**job, "metadata": metadata})

    def job(self, case, cluster=None):
        return (cluster or self.hub).raw(case.kind, "j", NAMESPACE)

    def workload(self, cluster=None):
        (found,) = (cluster or self.hub).list(kueue.Workload)
        return found

    def finished(self):
        """Return how the Workload of the job ended, and what is said of it."""
        (end,) = [one for one in self.workload().status.conditions if one.type == "Finished"]
        return end.reason, end.message

    def pods(self, cluster=None):
        return sorted(pod.name for pod in (cluster or self.hub).list(Pod) if pod.namespace == NAMESPACE)

    def raw_pods(self):
        return [self.hub.raw(Pod, name, NAMESPACE) for name in self.pods()]


@pytest.fixture
async def world(fleet):
    found = World(fleet)
    await found.arrange()
    return found


@pytest.fixture
def counted():
    return (kueue.Workload, Namespace)
