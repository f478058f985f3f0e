"""The heart on the real engine: one fleet for all tests, and for each test its own queues, Placement and witness.

A test's objects are named after it, so that tests do not meet. Its ManagedClusters are the fleet's, chosen by a label
of the test's own. The witness watches the Jobs of the workers themselves, past every forwarder: what it counts is
what runs.
"""

import asyncio
import itertools
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from fleetqueue import clock
from fleetqueue.admin.cluster_sets import create_set
from fleetqueue.admin.joining import Newcomer, join, wait_for_credentials
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, errors, kueue_configuration
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Node
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.api.meta import O, Object
from fleetqueue.api.scheme import Resource
from fleetqueue.cli.options import BUSY_SECONDS
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load, render
from fleetqueue.client.transport import connect
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.real import layout
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime import logs
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from tests.invariants.reasons import check_answers

WORKERS = ("cluster1", "cluster2", "cluster3")
KUEUE = "kueue-system"
DEPLOY = Path(__file__).parents[3] / "deploy" / "kustomize"
PATIENCE = 45.0
"""Seconds that anything may take on two busy cores before a test gives up."""


ONE_LOOP = pytest.mark.asyncio(loop_scope="session")
"""All tests share a loop, and so the fleet that lives on it."""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Say so before loops are chosen: said later, every test would have a loop, and a fleet, of its own."""
    metafunc.definition.add_marker(ONE_LOOP, append=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/real/product" in str(item.path):
            item.add_marker(pytest.mark.real)
            item.add_marker(ONE_LOOP, append=False)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def engine() -> layout.Layout:
    found = layout.find()
    if found is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    return found


async def eventually(question: Callable[[], Any], what: str, *, within: float = PATIENCE) -> Any:
    """Ask until the answer is true, and return it; a limit, never a wait without end."""
    deadline = clock.monotonic() + within
    while True:
        answer = await question()
        if answer:
            return answer
        if clock.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s: {what}")
        await asyncio.sleep(0.1)


class Witness:
    """Watches the Jobs on all workers and remembers every one that was live on two of them at once."""

    def __init__(self, clients: dict[str, Client]) -> None:
        self.clients = clients
        self.doubles: list[str] = []
        self.most: dict[str, int] = {}
        self._live: dict[str, set[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._informers = {name: Informer(client, Job, cluster=name) for name, client in clients.items()}

    async def start(self) -> None:
        for name, informer in self._informers.items():
            informer.subscribe(lambda old, new, name=name: self._see(name, old, new))
            self._tasks.add(asyncio.create_task(informer.run()))
        for informer in self._informers.values():
            await informer.synced.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def live(self, job: str) -> set[str]:
        """Return the workers on which a Job runs now, as last seen."""
        return set(self._live.get(job, ()))

    def _see(self, worker: str, old: Job | None, new: Job | None) -> None:
        job = new or old
        assert job is not None
        where = self._live.setdefault(job.key, set())
        (where.add if new is not None and _is_live(new) else where.discard)(worker)
        self.most[job.key] = max(self.most.get(job.key, 0), 1 if where else 0)
        if len(where) > 1:
            task = asyncio.create_task(self._confirm(job.key, set(where)))
            self._tasks.add(task)

    async def _confirm(self, key: str, where: set[str]) -> None:
        """Ask the workers: two watches may tell of a move in the wrong order."""
        namespace, _, name = key.partition("/")
        live = [w for w in sorted(where) if await _job_is_live(self.clients[w], namespace, name)]
        if len(live) > 1:
            self.most[key] = max(self.most.get(key, 0), len(live))
            self.doubles.append(f"{key} is live on {live}")


def _is_live(job: Job) -> bool:
    return not job.spec.suspend and not job.has_ended and not job.is_deleting


async def _job_is_live(client: Client, namespace: str, name: str) -> bool:
    try:
        return _is_live(Job.view(await client.get(Job.resource, name, namespace)))
    except errors.NotFound:
        return False


class Mortal:
    """A door whose process can be killed: from the n-th write on, before or after it, nothing moves any more."""

    def __init__(self, door: Any) -> None:
        self.door = door
        self.writes: list[str] = []
        self.dies_at = 0
        self.answers_last = False
        """Whether the fatal write still arrives (its answer never does)."""
        self.dead = asyncio.Event()

    async def request(self, request: Any, *, timeout: float) -> Any:
        await self._stop_if_dead()
        if request.method == "GET" or "reviews" in request.path or "/events" in request.path:
            return await self.door.request(request, timeout=timeout)
        self.writes.append(f"{request.method} {request.path.rsplit('/v1', 1)[-1]}")
        if self.dies_at and len(self.writes) >= self.dies_at:
            self.dead.set()
            if self.answers_last:
                await self.door.request(request, timeout=timeout)
            await self._stop_if_dead()
        return await self.door.request(request, timeout=timeout)

    def stream(self, request: Any, *, silence: float) -> Any:
        return self.door.stream(request, silence=silence)

    async def close(self) -> None:
        await self.door.close()

    async def _stop_if_dead(self) -> None:
        if self.dead.is_set():
            await asyncio.Event().wait()


class Heart:
    """Our controllers, running in this process against the real hub."""

    def __init__(self, kubeconfig: Path, settings: PlacementAdmissionSettings, dial: Callable[..., Client]) -> None:
        client = connect(load(kubeconfig))
        self.door = Mortal(client.door)
        client.door = self.door
        self.metrics = Metrics()
        self.hub = Cluster("hub", client, metrics=self.metrics)
        self.room = PlacementAdmission(self.hub, self.metrics, settings, dial=dial)
        self.manager = Manager(self.hub, self.room.controllers)
        self.is_dead = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self.manager.run())
        await asyncio.wait_for(self.manager.ready.wait(), PATIENCE)

    async def kill(self) -> None:
        self.is_dead = True
        self.door.dead.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self.room.close()
        await self.hub.client.close()


class Replica:
    """A `fleetqueue controller` process with the shipped roles; many may run, one leads."""

    def __init__(self, kubeconfig: Path, log: Path, settings: dict[str, Any]) -> None:
        self.kubeconfig = kubeconfig
        self.log = log
        self.settings = {"probes.port": 0, **settings}
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> "Replica":
        flags = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        with self.log.open("a") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "fleetqueue",
                "controller",
                "--kubeconfig",
                str(self.kubeconfig),
                *flags,
                stderr=log,
            )
        return self

    async def works(self) -> None:
        """Wait until it leads and its caches are filled."""

        async def working() -> bool:
            return "manager: working" in self.log.read_text()

        await eventually(working, f"a controller works, see {self.log}")

    async def stop(self, *, kill: bool = False) -> int:
        """End it, and return its exit code; one that was not killed and has ended by itself is a failure.

        It does so when it cannot renew its lease, for kubelet to start it again. Here nobody does.
        """
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill() if kill else self.process.terminate()
        elif self.process.returncode != -signal.SIGKILL:
            last = self.log.read_text().splitlines()[-5:]
            raise AssertionError(f"the controller ended by itself with {self.process.returncode}: {last}")
        return await asyncio.wait_for(self.process.wait(), PATIENCE)


class World:
    """What all tests share: the fleet, and a client to each cluster, past the forwarders."""

    def __init__(self, fleet: RealFleet) -> None:
        self.fleet = fleet
        self.hub = connect(load(fleet.clusters["hub"].kubeconfig))
        self.hub.patience = BUSY_SECONDS  # of a kind that nobody has listed yet a young API server is asked too early
        self.workers = {name: connect(load(fleet.clusters[name].kubeconfig)) for name in WORKERS}
        self.numbers = itertools.count(1)
        self.controller_kubeconfig = fleet.data_dir / "controller.kubeconfig"

    async def set_up(self) -> None:
        """Join the workers and let our controller issue their credentials, all as a user would."""
        await self.give_shipped_roles()
        await create_set(self.hub, "fleet")
        binding = cluster.ManagedClusterSetBinding.manifest("fleet", KUEUE, spec={"clusterSet": "fleet"})
        await self.ensure(self.hub, binding, cluster.ManagedClusterSetBinding)
        replica = Replica(self.controller_kubeconfig, self.fleet.data_dir / "set-up.log", {})
        await replica.start()
        for name in WORKERS:
            await self.join(name)
            gpus = {"nvidia.com/gpu": "100"}
            status = {"status": {"capacity": gpus, "allocatable": gpus}}
            await self.workers[name].merge(Node.resource, f"{name}-control-plane", "", status, subresource="status")
        await replica.stop()

    async def join(self, name: str, *, called: str = "") -> None:
        """Join a cluster of the fleet, under its own name or another, while a controller runs."""
        connection = load(self.fleet.clusters[name].remote_kubeconfig)
        newcomer = Newcomer(called or name, connection, cluster_set="fleet")
        await join(self.hub, newcomer, lambda line: None)
        await wait_for_credentials(self.hub, newcomer, limit=PATIENCE)

    async def give_shipped_roles(self) -> None:
        """Make the account that our parts run as, with exactly the roles under deploy/."""
        for path in ("namespace.yaml", "controller_service_account.yaml"):
            await self.apply_file(DEPLOY / path)
        for path in sorted((DEPLOY / "rbac").glob("controller_*.yaml")):
            if "cluster_namespace" not in path.name:
                await self.apply_file(path)
        text = await self.account_kubeconfig("hub", "fleetqueue-system", "fleetqueue-controller")
        self.controller_kubeconfig.write_text(text)

    async def account_kubeconfig(self, cluster: str, namespace: str, account: str, address: str = "") -> str:
        """Make a kubeconfig for an account of a cluster, which is at its own address unless another is named."""
        client = self.hub if cluster == "hub" else self.workers[cluster]
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 36000},
        }
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        token = (await client.post(path, request))["status"]["token"]
        connection = load(self.fleet.clusters[cluster].kubeconfig)
        server = address or connection.server
        return render(cluster, server=server, ca=connection.ca or b"", token=token, user=account)

    async def apply_file(self, path: Path) -> None:
        for manifest in yaml.safe_load_all(path.read_text()):  # noqa: ASYNC240
            await self.apply(manifest)

    async def apply(self, manifest: dict[str, Any], client: Client | None = None) -> None:
        """Apply what is shipped, to the hub unless another cluster is named."""
        group, _, version = manifest["apiVersion"].rpartition("/")
        plural = manifest["kind"].lower() + "s"
        namespaced = "namespace" in manifest["metadata"]
        resource = Resource(group, version, manifest["kind"], plural, namespaced)
        await (client or self.hub).apply(resource, manifest)

    async def ensure(self, client: Client, manifest: dict[str, Any], kind: type[Object]) -> None:
        with suppress(errors.AlreadyExists):
            await client.create(kind.resource, manifest)

    async def set_dispatcher(self, name: str | None) -> None:
        """Set who dispatches, as an administrator would, and restart the hub's Kueue."""
        raw = await self.hub.get(ConfigMap.resource, kueue_configuration.CONFIG_MAP, KUEUE)
        text = kueue_configuration.with_dispatcher(raw["data"][kueue_configuration.CONFIG_KEY], name)
        if yaml.safe_load(text) != yaml.safe_load(raw["data"][kueue_configuration.CONFIG_KEY]):
            await self.hub.merge(
                ConfigMap.resource,
                kueue_configuration.CONFIG_MAP,
                KUEUE,
                {"data": {kueue_configuration.CONFIG_KEY: text}},
            )
            await self.fleet.restart("hub/kueue")

    async def close(self) -> None:
        await self.hub.close()
        for client in self.workers.values():
            await client.close()


class Environment:
    """One test's own corner of the fleet."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.hub = world.hub
        self.workers = world.workers
        self.witness = Witness(world.workers)
        self.label = f"fleetqueue.test/{name}"
        self.hearts: list[Heart] = []
        self.may_run_twice = False
        """Only where the defect itself is shown, without us."""

    # Arranging

    async def set_up(self, *, on: Iterable[str] = WORKERS, gpus: int = 20, hub_gpus: int = 100) -> None:
        await self.witness.start()
        for client in (self.hub, *self.workers.values()):
            await client.create(Namespace.resource, Namespace.manifest(self.name))
        for client in self.workers.values():
            await self.create_queues(client, gpus)
        await self.select(*on)
        await self.hub.create(cluster.Placement.resource, self.placement())
        for check in self.checks():
            await self.hub.create(kueue.AdmissionCheck.resource, check)
        await self.create_queues(self.hub, hub_gpus, [f"{self.name}-mk", self.name])

    def placement(self, **spec: Any) -> dict[str, Any]:
        selector = {"labelSelector": {"matchLabels": {self.label: "yes"}}}
        tolerations = [
            {"key": key, "operator": "Exists"} for key in (cluster.UNREACHABLE_TAINT, cluster.UNAVAILABLE_TAINT)
        ]
        spec = {
            "clusterSets": ["fleet"],
            "tolerations": tolerations,
            "predicates": [{"requiredClusterSelector": selector}],
            **spec,
        }
        return cluster.Placement.manifest(self.name, KUEUE, spec=spec)

    def checks(self) -> list[dict[str, Any]]:
        config = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": self.name}
        placement = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": self.name}
        return [
            kueue.AdmissionCheck.manifest(
                f"{self.name}-mk", spec={"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": config}
            ),
            kueue.AdmissionCheck.manifest(
                self.name, spec={"controllerName": CHECK_CONTROLLER, "parameters": placement}
            ),
        ]

    async def admit_nothing(self, name: str) -> None:
        """Let a worker admit nothing more, in a way that only its own Kueue sees: a nomination there stays one."""
        patch = {"spec": {"namespaceSelector": {"matchLabels": {"fleetqueue.test/namespace": "nobody"}}}}
        await self.workers[name].merge(kueue.ClusterQueue.resource, self.name, "", patch)

    async def create_queues(self, client: Client, gpus: int, checks: Iterable[str] = ()) -> None:
        flavor = _kueue("ResourceFlavor", self.name)
        await client.post(f"/apis/{kueue.GROUP}/{kueue.VERSION}/resourceflavors", flavor)
        await client.create(kueue.ClusterQueue.resource, self.queue(gpus, checks))
        await client.create(kueue.LocalQueue.resource, self.local_queue())

    def queue(self, gpus: int, checks: Iterable[str] = ()) -> dict[str, Any]:
        resources = [{"name": "cpu", "nominalQuota": 1000}, {"name": "nvidia.com/gpu", "nominalQuota": gpus}]
        group = {
            "coveredResources": ["cpu", "nvidia.com/gpu"],
            "flavors": [{"name": self.name, "resources": resources}],
        }
        spec: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": [group]}
        if checks:
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
        return kueue.ClusterQueue.manifest(self.name, spec=spec)

    def local_queue(self) -> dict[str, Any]:
        return kueue.LocalQueue.manifest("queue", self.name, spec={"clusterQueue": self.name})

    async def select(self, *names: str) -> None:
        """Let the Placement choose exactly these clusters, by their label."""
        for name in WORKERS:
            value = "yes" if name in names else None
            await self.hub.merge(
                cluster.ManagedCluster.resource, name, "", {"metadata": {"labels": {self.label: value}}}
            )

    @asynccontextmanager
    async def heart(self, **settings: Any) -> AsyncIterator[Heart]:
        """Run our controllers until the block ends."""
        heart = await self.start_heart(**settings)
        try:
            yield heart
        finally:
            await heart.kill()

    async def start_heart(self, dies_at: int = 0, answers_last: bool = False, **settings: Any) -> Heart:
        heart = Heart(self.world.controller_kubeconfig, PlacementAdmissionSettings(**settings), connect)
        heart.door.dies_at, heart.door.answers_last = dies_at, answers_last
        self.hearts.append(heart)  # before it starts: who waits for that may be cancelled, and it would beat on
        await heart.start()
        return heart

    async def kill_hearts(self) -> None:
        """Leave none alive: it would go on with the work of the tests that follow."""
        for heart in self.hearts:
            if not heart.is_dead:
                await heart.kill()

    async def replica(self, name: str, **settings: Any) -> Replica:
        """Start a controller process with the shipped roles."""
        log = self.world.fleet.data_dir / f"{self.name}-{name}.log"
        return await Replica(self.world.controller_kubeconfig, log, settings).start()

    # Acting

    async def submit(
        self,
        name: str,
        *,
        run_for: str = "600s",
        gpus: int = 1,
        annotations: Any = None,
        grace: int | None = None,
        pod: Any = None,
        is_sent: bool = True,
        **more: Any,
    ) -> str:
        """Create a Job on the hub; return its name. `grace` is how many seconds its pods may take to stop.

        `pod` is more of its pods' spec, and `more` of its own. Whose queue leads nowhere is not sent: Kueue does not
        take it for MultiKueue's.
        """
        requests = {"cpu": "10m", "nvidia.com/gpu": str(gpus)}
        container = {
            "name": "main",
            "image": "example.com/sleep",
            "resources": {"requests": requests, "limits": {"nvidia.com/gpu": str(gpus)}},
        }
        template = {
            "metadata": {"annotations": {"fleetqueue.dev/run-for": run_for, **(annotations or {})}},
            "spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})},
        }
        if grace is not None:
            template["spec"]["terminationGracePeriodSeconds"] = grace
        spec = {"suspend": True, "template": template, **more}
        labels = {kueue.QUEUE_LABEL: "queue"}
        job = Job.manifest(name, self.name, labels=labels, spec=spec)
        if is_sent:
            await self.knows_its_queue(job)
        await self.hub.create(Job.resource, job)
        return name

    async def knows_its_queue(self, job: dict[str, Any]) -> None:
        """Wait until Kueue takes a Job for MultiKueue's; one that just started does not, and then rejects it."""
        await eventually(lambda: self._is_known(job), "Kueue knows the queue")

    async def _is_known(self, job: dict[str, Any]) -> bool:
        """Tell whether Kueue would take a Job for MultiKueue's."""
        answer = await self.hub.post(f"{Job.resource.path(self.name)}?dryRun=All", job)
        return bool(answer["spec"].get("managedBy"))

    async def set_active(self, job: str, active: bool) -> None:
        """Stop or start a job as `kubectl kueue stop workload` and `resume workload` do."""
        workload = await self.workload(job)
        assert workload is not None
        await self.hub.merge(kueue.Workload.resource, workload.name, self.name, {"spec": {"active": active}})

    # Asking

    eventually = staticmethod(eventually)

    async def get(self, kind: type[O], name: str, namespace: str = "", client: Client | None = None) -> O | None:
        try:
            return kind.view(await (client or self.hub).get(kind.resource, name, namespace))
        except errors.NotFound:
            return None

    async def workload(self, job: str, client: Client | None = None) -> kueue.Workload | None:
        page = await (client or self.hub).list(kueue.Workload.resource, self.name)
        views = [kueue.Workload.view(raw) for raw in page.items]
        return next((w for w in views if w.name.startswith(f"job-{job}-")), None)

    async def running_on(self, job: str) -> str:
        """Wait until a Job runs on a worker and the hub knows it; return the worker."""

        async def admitted() -> str:
            workload = await self.workload(job)
            if workload is None or not workload.is_true(kueue.ADMITTED):
                return ""
            where = self.witness.live(f"{self.name}/{job}")
            name = workload.status.cluster_name.removeprefix(f"{self.name}-")
            return name if where == {name} else ""

        return str(await self._of(job, admitted, "runs"))

    async def counts_its_pod(self, job: str) -> None:
        """Wait until a Job runs, and the hub's Job says so."""

        async def counted() -> bool:
            found = await self.get(Job, job, self.name)
            return found is not None and found.status.active > 0

        await self.running_on(job)
        await self._of(job, counted, "counts its pod")

    async def finished(self, job: str) -> None:
        async def done() -> bool:
            found = await self.get(Job, job, self.name)
            return found is not None and conditions.is_true(found.status.conditions, "Complete")

        await self._of(job, done, "is complete on the hub")

    async def _of(self, job: str, question: Callable[[], Any], what: str) -> Any:
        """Wait for something of a job; where it does not come, say how the job stands."""
        try:
            return await eventually(question, f"{job} {what}")
        except AssertionError as error:
            workload = await self.workload(job)
            live = self.witness.live(f"{self.name}/{job}")
            raise AssertionError(f"{error}; live on {live}; {workload.status if workload else 'no Workload'}") from None

    async def config(self) -> kueue.MultiKueueConfig | None:
        return await self.get(kueue.MultiKueueConfig, self.name)

    async def lists(self, *names: str, within: float = PATIENCE) -> None:
        """Wait until the config lists exactly these clusters."""
        members = {f"{self.name}-{name}" for name in names}

        async def listed() -> bool:
            config = await self.config()
            return set(config.spec.clusters if config else ()) == members

        await eventually(listed, f"the config lists {names}", within=within)

    async def check(self) -> kueue.AdmissionCheck:
        found = await self.get(kueue.AdmissionCheck, self.name)
        assert found is not None
        return found

    async def says(self, kind: str, status: str, reason: str = "") -> conditions.Condition:
        """Wait until our check has a condition."""

        async def said() -> Any:
            condition = conditions.find((await self.check()).status.conditions, kind)
            fits = condition is not None and condition.status == status and reason in ("", condition.reason)
            return condition if fits else None

        found: conditions.Condition = await eventually(said, f"check {self.name} says {kind}={status} {reason}")
        return found

    async def connected(self, *names: str) -> None:
        for name in names:
            member = f"{self.name}-{name}"

            async def is_connected(member: str = member) -> bool:
                found = await self.get(kueue.MultiKueueCluster, member)
                return found is not None and found.is_connected

            await eventually(is_connected, f"{member} is connected")

    # Cleaning up

    async def tear_down(self) -> None:
        """Leave nothing: queues first lose their jobs, then their checks."""
        for client in (self.hub, *self.workers.values()):
            await self._delete_all(client, Job, self.name)
        await self._delete(self.hub, kueue.ClusterQueue, self.name)
        for check in (f"{self.name}-mk", self.name):
            found = await self.get(kueue.AdmissionCheck, check)
            if found is not None:
                patch = {"metadata": {"finalizers": None}}
                await self._delete(self.hub, kueue.AdmissionCheck, check)
                with suppress(errors.NotFound):
                    await self.hub.merge(kueue.AdmissionCheck.resource, check, "", patch)
        await self._delete(self.hub, cluster.Placement, self.name, KUEUE)
        await self._delete(self.hub, kueue.MultiKueueConfig, self.name)
        for raw in (await self.hub.list(kueue.MultiKueueCluster.resource)).items:
            if raw["metadata"]["name"].startswith(f"{self.name}-"):
                await self._delete(self.hub, kueue.MultiKueueCluster, raw["metadata"]["name"])
        for client in (self.hub, *self.workers.values()):
            await self._delete(client, Namespace, self.name)
        for client in self.workers.values():
            await self._delete(client, kueue.ClusterQueue, self.name)
        await self.select()
        await self.witness.stop()

    async def heal(self) -> None:
        for name in WORKERS:
            await self.world.fleet.heal(name)

    async def _delete(self, client: Client, kind: type[Object], name: str, namespace: str = "") -> None:
        with suppress(errors.NotFound):
            await client.delete(kind.resource, name, namespace)

    async def _delete_all(self, client: Client, kind: type[Object], namespace: str) -> None:
        for raw in (await client.list(kind.resource, namespace)).items:
            await self._delete(client, kind, raw["metadata"]["name"], namespace)


def _kueue(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": f"{kueue.GROUP}/{kueue.VERSION}", "kind": kind, "metadata": {"name": name}}


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def world(engine: layout.Layout, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    logs.set_up(json=False, level="INFO")
    async with RealFleet(tmp_path_factory.mktemp("fleet"), workers=3, ocm="placement") as fleet:
        world = World(fleet)
        await world.set_up()
        await world.set_dispatcher(DISPATCHER_NAME)
        yield world
        await world.close()


@pytest_asyncio.fixture(loop_scope="session")
async def env(world: World) -> AsyncIterator[Environment]:
    """A corner of the fleet with all three workers selected; our controllers are not started yet.

    Whatever a test leaves behind, no job waits there without a reason. No test cuts the API of the hub, which is asked.
    """
    await world.set_dispatcher(DISPATCHER_NAME)
    env = Environment(world, f"t{next(world.numbers)}")
    await env.set_up()
    yield env
    try:
        await check_answers(world.hub)
    finally:
        await env.kill_hearts()
        await env.heal()
        await env.tear_down()
        assert env.may_run_twice or env.witness.doubles == []
