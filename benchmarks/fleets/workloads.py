"""Workloads in the sizes and numbers of Kueue's own scheduler benchmarks, and who runs them.

Kueue's two scenarios have five cohorts with six ClusterQueues each, and 500 Workloads for each queue: small ones that
come often and run shortly, medium and large ones with higher priorities. In the second one, all of them ask for a place
in a topology of ten racks with 64 nodes each. No pods are made: what admits them is measured, and nothing else.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Node
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.kueue.scheduling.admission_status import with_condition
from fleetqueue.rules.workload_admission import applied_over
from fleetqueue.runtime.informer import Informer

NAME = "load"
COHORTS, QUEUES_OF_A_COHORT = 5, 6
RACKS, NODES_OF_A_RACK = 10, 64
BLOCK, RACK, HOST = "bench.example.com/block", "bench.example.com/rack", "kubernetes.io/hostname"
POOL = {"bench.example.com/pool": NAME}
WRITERS = 32


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads of one form: how many of them come to each queue, and how they run."""

    name: str
    number: int
    interval: float
    """Seconds between two of them."""
    seconds: float
    """How long one runs once it is admitted."""
    priority: int
    cpu: str
    """Of each of its pods."""
    pods: int = 1
    topology: Manifest = field(default_factory=dict)


def _placed(small: Manifest, medium: Manifest, large: Manifest, name: str, numbers: Sequence[int]) -> Any:
    first, second, third = numbers
    yield WorkloadClass(f"small-{name}", first, 0.1, 0.2, 50, "500m", 2, small)
    yield WorkloadClass(f"medium-{name}", second, 0.5, 0.5, 100, "1250m", 4, medium)
    yield WorkloadClass(f"large-{name}", third, 1.2, 1.0, 200, "2500m", 8, large)


def _slices(size: int) -> Manifest:
    return {"podSetSliceRequiredTopology": RACK, "podSetSliceSize": size}


BASELINE = (
    WorkloadClass("small", 350, 0.1, 0.2, 50, "1"),
    WorkloadClass("medium", 100, 0.5, 0.5, 100, "5"),
    WorkloadClass("large", 50, 1.2, 1.0, 200, "20"),
)
TOPOLOGY: tuple[WorkloadClass, ...] = (
    *_placed({"required": RACK}, {"required": RACK}, {"required": RACK}, "required", (120, 34, 17)),
    *_placed({"preferred": RACK}, {"preferred": RACK}, {"preferred": RACK}, "preferred", (120, 33, 17)),
    *_placed(_slices(1), _slices(2), _slices(4), "slices", (110, 33, 16)),
)
FURTHER_KINDS: tuple[WorkloadClass, ...] = tuple(
    WorkloadClass(f"kind-{number}", 1, 1.0, 1.0, 50, f"{500 + number}m", 2, {"required": RACK}) for number in range(60)
)
"""More kinds of pods than the scheduler keeps counts of."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the scenario is; `share` is how many of its Workloads are made."""

    share: float = 0.1
    cohorts: int = COHORTS
    queues: int = QUEUES_OF_A_COHORT
    """Of each cohort."""
    racks: int = RACKS

    def of_as_many(self, other: "Size") -> "Size":
        """Return this size with as many Workloads in all as another one."""
        return replace(self, share=other.share * other.cohorts / self.cohorts)


class Load:
    """The objects of a scenario, and its Workloads, on one cluster."""

    def __init__(self, client: Client, classes: Sequence[WorkloadClass], size: Size) -> None:
        self.client = client
        self.classes = classes
        self.size = size
        self.has_topology = any(one.topology for one in classes)

    @property
    def queues(self) -> list[str]:
        return [f"{NAME}-{cohort}-{one}" for cohort in range(self.size.cohorts) for one in range(self.size.queues)]

    async def prepare(self) -> None:
        """Make nodes, a flavor and queues, and wait until all queues admit."""
        await self.client.create(Namespace.resource, Namespace.manifest(NAME))
        await _at_once(self.client.create(kind.resource, manifest) for kind, manifest in self.surroundings())
        for kind, manifest in self.queue_objects():
            await self.client.create(kind.resource, manifest)
        async with asyncio.timeout(120):
            while not await self._all_admit():  # noqa: ASYNC110 - a question over the network has no event
                await asyncio.sleep(0.1)

    async def _all_admit(self) -> bool:
        queues = [kueue.ClusterQueue.view(raw) for raw in (await self.client.list(kueue.ClusterQueue.resource)).items]
        return all(conditions.is_true(queue.status.conditions, "Active") for queue in queues)

    def queue_objects(self) -> Iterator[tuple[Any, Manifest]]:
        for number, queue in enumerate(self.queues):
            yield kueue.ClusterQueue, _cluster_queue(queue, f"{NAME}-{number // self.size.queues}")
            yield kueue.LocalQueue, kueue.LocalQueue.manifest(queue, NAME, spec={"clusterQueue": queue})

    def surroundings(self) -> Iterator[tuple[Any, Manifest]]:
        """Yield what queues need: nodes, a topology, a flavor."""
        spec: Manifest = {"nodeLabels": POOL, "topologyName": NAME} if self.has_topology else {}
        if self.has_topology:
            levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOST)]
            yield Topology, Topology.manifest(NAME, spec={"levels": levels})
            for rack in range(self.size.racks):
                for number in range(NODES_OF_A_RACK):
                    yield Node, _node(f"{NAME}-{rack}-{number}", rack)
        yield kueue.ResourceFlavor, kueue.ResourceFlavor.manifest(NAME, spec=spec)

    def arrivals(self) -> list[tuple[float, str, WorkloadClass]]:
        """Return when which Workload comes: as often as in Kueue's scenario, for a share of its time."""
        return sorted(
            (number * one.interval, f"{queue}-{one.name}-{number}", one)
            for queue in self.queues
            for one in self.classes
            for number in range(round(one.number * self.size.share))
        )

    def workload(self, name: str, one: WorkloadClass) -> Manifest:
        container = {"name": "c", "image": "example.com/sleep", "resources": {"requests": {"cpu": one.cpu}}}
        pod_set: Manifest = {
            "name": "main",
            "count": one.pods,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        }
        if one.topology:
            pod_set["topologyRequest"] = one.topology
        queue = name.removesuffix(f"-{name.rsplit('-', 1)[1]}").removesuffix(f"-{one.name}")
        return kueue.Workload.manifest(
            name, NAME, spec={"queueName": queue, "priority": one.priority, "podSets": [pod_set]}
        )


@dataclass(slots=True)
class Run:
    """What came of a load: when each Workload came, was first admitted, and ended."""

    began: float
    came: dict[str, float] = field(default_factory=dict)
    admitted: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    admissions: int = 0

    @property
    def seconds(self) -> float:
        return max(self.ended.values()) - self.began

    @property
    def waited(self) -> float:
        """The mean time to the first admission."""
        return sum(when - self.came[name] for name, when in self.admitted.items()) / len(self.admitted)


class Runner:
    """Does what jobs would do: runs what is admitted for its time, ends it, and gives back quota of what is evicted."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.client = load.client
        self.run = Run(perf_counter())
        self._arrivals = load.arrivals()
        self._seconds = {name: one.seconds for _, name, one in self._arrivals}
        self._due: list[tuple[float, str]] = []
        """When who is to end."""
        self._news: asyncio.Queue[str] = asyncio.Queue()
        self._informer = Informer(self.client, kueue.QueuedWorkload)

    async def __call__(self, limit: float) -> Run:
        async with self._following(), asyncio.timeout(limit), asyncio.TaskGroup() as tasks:
            self.run.began = perf_counter()
            tasks.create_task(self._create())
            ending = tasks.create_task(self._end_those_due())
            writing = [tasks.create_task(self._write_news()) for _ in range(WRITERS)]
            while len(self.run.ended) < len(self._arrivals):  # noqa: ASYNC110 - counted where events arrive
                await asyncio.sleep(0.02)
            for task in (ending, *writing):
                task.cancel()
        return self.run

    async def _create(self) -> None:
        turns = asyncio.Semaphore(WRITERS)

        async def create(name: str, one: WorkloadClass) -> None:
            async with turns:
                self.run.came[name] = perf_counter()
                await self.client.create(kueue.Workload.resource, self.load.workload(name, one))

        async with asyncio.TaskGroup() as creating:
            for after, name, one in self._arrivals:
                await asyncio.sleep(max(0.0, self.run.began + after - perf_counter()))
                creating.create_task(create(name, one))

    @asynccontextmanager
    async def _following(self) -> AsyncIterator[None]:
        self._informer.subscribe(self._see)
        following = asyncio.create_task(self._informer.run())
        await self._informer.synced.wait()
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])

    def _see(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        if new is None or new.name not in self._seconds:
            return
        now = perf_counter()
        if new.is_true(kueue.FINISHED):
            self.run.ended.setdefault(new.name, now)
        elif new.is_true(kueue.EVICTED):
            self._news.put_nowait(new.name)
        elif new.is_true(kueue.ADMITTED) and (old is None or not old.is_true(kueue.ADMITTED)):
            self.run.admitted.setdefault(new.name, now)
            self.run.admissions += 1
            heapq.heappush(self._due, (now + self._seconds[new.name], new.name))

    async def _end_those_due(self) -> None:
        while True:
            while self._due and self._due[0][0] <= perf_counter():
                self._news.put_nowait(heapq.heappop(self._due)[1])
            await asyncio.sleep(0.005)

    async def _write_news(self) -> None:
        while True:
            raw = self._informer.store.raw(f"{NAME}/{await self._news.get()}")
            if raw is not None:
                await self._write(raw)

    async def _write(self, raw: Manifest) -> None:
        """End what runs, and take the quota of what is evicted; a later version that says otherwise is news again."""
        workload, now = kueue.QueuedWorkload.view(raw), clock.now()
        if workload.is_true(kueue.EVICTED):
            manager = kueue.ADMISSION_MANAGER
            status = {field: value for field, value in raw["status"].items() if field != "admission"}
            for kind, reason in ((kueue.QUOTA_RESERVED, kueue.PENDING), (kueue.ADMITTED, "NoReservation")):
                status = with_condition(status, kind, conditions.FALSE, reason, "evicted by the benchmark", 1, now)
        elif workload.is_true(kueue.ADMITTED) and not workload.is_true(kueue.FINISHED):
            manager = NAME
            status = with_condition(raw["status"], kueue.FINISHED, conditions.TRUE, "Succeeded", "ended", 1, now)
        else:
            return
        with suppress(errors.Conflict):
            resource = kueue.Workload.resource
            await self.client.apply(resource, applied_over(raw, status), subresource="status", manager=manager)


async def _at_once(requests: Iterator[Coroutine[Any, Any, Any]]) -> None:
    """Send requests, so many at a time as there are writers."""
    turns = asyncio.Semaphore(WRITERS)

    async def send(request: Coroutine[Any, Any, Any]) -> None:
        async with turns:
            await request

    async with asyncio.TaskGroup() as sending:
        for request in requests:
            sending.create_task(send(request))


def _cluster_queue(name: str, cohort: str) -> Manifest:
    quota = {"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": [quota]}]}],
    }
    return kueue.ClusterQueue.manifest(name, spec=spec)


def _node(name: str, rack: int) -> Manifest:
    labels = {**POOL, BLOCK: "block", RACK: f"rack-{rack}", HOST: name}
    room = {"cpu": "96", "memory": "256Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "made by a benchmark"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    return Node.manifest(name, labels=labels, status=status)
