"""One run's world: a copy of the whole environment, what was done to it, and how to look at it."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests import objects
from tests import pipelines
from tests.invariants import Broken
from tests.invariants.job_pods import waits_by_itself
from tests.invariants.reasons import Hub, Reasons
from tests.invariants.strangers import Stranger, Strangers
from tests.invariants.witness import Witness

from . import mixed_kinds, placed_jobs, placed_pods
from .faulty_server import TESTER, Faults
from .fleet_template import FleetTemplate

LOST_AFTER = 15 * 60 - 60
"""Seconds after which a worker may count as lost for Kueue, a little less than its timeout of 15 minutes."""
FORGIVEN = 5 * 60
"""Seconds after which a worker that came back must have been cleaned."""


def by_hand() -> list[Stranger]:
    """Return what a person wrote for the first story, and of which Kueue keeps the status."""
    kinds = ("MultiKueueConfig", "MultiKueueCluster")
    return [Stranger(raw, is_kept=True) for raw in objects("multikueue-setup-demo1.yaml") if raw["kind"] in kinds]


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"whole {seed}")
        self.diary: list[str] = []
        self.careful: set[str] = set()
        """The jobs that must not run twice even if their worker is lost, by name."""
        self.witness = Witness(self.was_lost, self.careful.__contains__)
        self.reasons = Reasons()
        self.strangers: Strangers
        self.fleet: EmbeddedFleet
        self.began = 0.0
        self._away: dict[str, float] = {}
        self._back: dict[str, float] = {}

    @asynccontextmanager
    async def living(self, template: FleetTemplate) -> AsyncIterator["World"]:
        async with template.copy(self.witness.see) as self.fleet:
            self.began = clock.monotonic()
            self.strangers = Strangers({name: self.client(name) for name in self.names}, *by_hand())
            await self.strangers.remember()
            async with pipelines.run_on({name: self.client(name) for name in self.names}):
                yield self

    async def check(self) -> None:
        """See that nothing has happened that must not; raises Broken."""
        self.witness.check()
        overdrawn = [line for name in self.names for line in self._negative_quota(name)]
        if overdrawn:
            raise Broken("\n".join(overdrawn))
        for name in self.names:
            quota = placed_jobs.QUOTA * (placed_jobs.WORKERS if name == HUB else 1)
            if overcommitted := [*placed_jobs.overcommitted(self.objects(name, kueue.Workload), quota)]:
                raise Broken(f"{name}: " + "\n".join(overcommitted))
        for name in self.workers:
            placed = [self.objects(name, kind) for kind in (kueue.Workload, Pod, Node)]
            if misplaced := [*placed_pods.misplaced(*placed)]:
                raise Broken(f"{name}: " + "\n".join(misplaced))
        touched = await self.strangers.touched()
        if touched:
            raise Broken("\n".join(touched))
        if self.faults("hub").frozen or self.faults("hub").unrest:
            self.reasons = Reasons()  # who stands still or is not heard has a moment for it afterwards
            return
        kinds = (Job.resource, *mixed_kinds.waiting_resources())
        jobs = [raw for kind in kinds for raw in self.objects("hub", kind) if waits_by_itself(raw)]
        silent = self.reasons.unexplained(Hub(jobs, *[self.objects("hub", kind) for kind in (kueue.Workload, Event)]))
        if silent:
            raise Broken(f"these jobs wait and do not say why: {', '.join(silent)}")

    def _negative_quota(self, cluster: str) -> list[str]:
        """Name what queues say of themselves that cannot be."""
        return [
            f"{raw['metadata']['name']} on {cluster} uses {resource['total']} of {resource['name']}"
            for raw in self.objects(cluster, kueue.ClusterQueue)
            for part in ("flavorsReservation", "flavorsUsage")
            for flavor in raw.get("status", {}).get(part) or ()
            for resource in flavor["resources"]
            if str(resource.get("total", "0")).startswith("-")
        ]

    @property
    def hub(self) -> Client:
        return self.client("hub")

    @property
    def workers(self) -> list[str]:
        return [worker.name for worker in self.fleet.workers]

    @property
    def names(self) -> list[str]:
        return list(self.fleet.clusters)

    def client(self, name: str) -> Client:
        """Return a client to which no fault happens."""
        return self.fleet.clusters[name].client(TESTER)

    def cluster(self, name: str) -> InProcessCluster:
        return self.fleet.clusters[name]

    def faults(self, name: str) -> Faults:
        return self.fleet.clusters[name].server.faults

    def objects(self, cluster: str, kind: Any, namespace: str = "") -> list[Manifest]:
        """Return the objects of a kind as they are stored, in the order of their names."""
        resource = kind if not hasattr(kind, "resource") else kind.resource
        server = self.fleet.clusters[cluster].server
        served = server.resources.find(resource.group, resource.version, resource.plural)
        return [entry.object for entry in server.storage.list(served.key(namespace, "")).entries]

    def note(self, what: str) -> None:
        self.diary.append(f"{clock.monotonic() - self.began:8.1f}  {what}")

    # Workers that are lost for longer than anybody waits

    def leaves(self, worker: str) -> None:
        self._away.setdefault(worker, clock.monotonic())

    def returns(self, worker: str) -> None:
        left = self._away.pop(worker, None)
        if left is not None and clock.monotonic() - left > LOST_AFTER:
            self._back[worker] = clock.monotonic()

    def was_lost(self, worker: str) -> bool:
        """Tell whether a worker is, or a moment ago was, away for so long that its jobs are started elsewhere."""
        now = clock.monotonic()
        away, back = self._away.get(worker), self._back.get(worker)
        return (away is not None and now - away > LOST_AFTER) or (back is not None and now - back < FORGIVEN)


def names(objects: Sequence[Manifest]) -> list[str]:
    return [raw["metadata"]["name"] for raw in objects]
