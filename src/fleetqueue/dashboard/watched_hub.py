"""The hub as the page's user may see it: one informer for each kind, and what of them decides over jobs."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from fleetqueue.admin.hub_state import HubState, silence_of
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE as FENCE_LEASE
from fleetqueue.api.meta import O, Object
from fleetqueue.client import Client
from fleetqueue.dashboard.event_rows import RecentEvents
from fleetqueue.dashboard.kinds import DatedWorkload, ShownEvent, SlimJob, followed
from fleetqueue.dashboard.rows import Row
from fleetqueue.runtime.informer import Informer


class WatchedHub:
    def __init__(self, client: Client, *, namespace: str, kueue_namespace: str) -> None:
        self.namespace = namespace
        self._kueue_namespace = kueue_namespace
        self.events = RecentEvents()
        self.changed = asyncio.Event()
        self._informers: dict[type[Object], Informer[Any]] = {
            kind: Informer(client, kind, scope) for kind, scope in followed(namespace, kueue_namespace)
        }
        self._jobs: dict[str, SlimJob] = {}
        """By uid."""
        self._informers[DatedWorkload].store.add_index("owner", owner_uids)
        self.follow(SlimJob, self._job_changed)
        self.follow(ShownEvent, self._event_changed)

    async def run(self) -> None:
        """Follow the hub until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers.values():
                tasks.create_task(informer.run())

    def follow(self, kind: type[O], handler: Callable[[O | None, O | None], None]) -> None:
        """Call for every change of a kind."""

        def told(old: O | None, new: O | None) -> None:
            handler(old, new)
            self.changed.set()

        self._informers[kind].subscribe(told)

    def all(self, kind: type[O]) -> list[O]:
        return cast(list[O], self._informers[kind].store.all())

    def get(self, kind: type[O], key: str) -> O | None:
        return cast(O | None, self._informers[kind].store.get(key))

    def workloads_of(self, uid: str) -> list[str]:
        """Return the keys of the Workloads that were made for a job."""
        return [workload.key for workload in self._informers[DatedWorkload].store.by_index("owner", uid)]

    def seen(self, kind: type[O]) -> list[O] | None:
        """Return all of a kind; None where it cannot be seen."""
        return self.all(kind) if self._informers[kind].synced.is_set() else None

    def is_loading(self, kind: type[Object]) -> bool:
        informer = self._informers[kind]
        return not informer.synced.is_set() and not informer.problem

    @property
    def loading(self) -> list[str]:
        """The kinds that are not known yet."""
        return [kind.resource.kind for kind in self._informers if self.is_loading(kind)]

    @property
    def problems(self) -> list[Row]:
        """The kinds that cannot be seen, or not any more, and why."""
        return [
            {"kind": kind.resource.kind, "message": informer.problem, "stale": informer.synced.is_set()}
            for kind, informer in self._informers.items()
            if informer.problem
        ]

    def state(self) -> HubState:
        """Return what decides over jobs, as `fleetqueue get jobs` asks for it."""
        return HubState(
            checks=self._by_key(kueue.AdmissionCheck),
            local_queues=self._by_key(kueue.LocalQueue),
            cluster_queues=self._by_key(kueue.ClusterQueue),
            flavors=self._by_key(kueue.ResourceFlavor),
            configs=self._by_key(kueue.MultiKueueConfig),
            members=self._by_key(kueue.MultiKueueCluster),
            fleet=FleetObjects(
                self.seen(cluster.ManagedCluster),
                self.seen(cluster.ManagedClusterSet),
                self.seen(cluster.ManagedClusterSetBinding),
                self.seen(cluster.Placement),
                self.seen(cluster.PlacementDecision),
                self.seen(cluster.AddOnPlacementScore),
            ),
            notes=self.events.notes,
            nominations=self.events.nominations,
            jobs=self._jobs,
            rolling_out={one.key for one in self.all(StatefulSet) if one.is_rolling_out},
            silence=self._silence(),
            kueue_namespace=self._kueue_namespace,
        )

    def _by_key(self, kind: type[O]) -> dict[str, O] | None:
        seen = self.seen(kind)
        return None if seen is None else {one.key: one for one in seen}

    def _silence(self) -> str:
        seen = self.seen(Lease)
        if seen is None:
            return ""
        leases = [lease for lease in seen if lease.name != FENCE_LEASE]  # those are the agents'
        return min(map(silence_of, leases), key=len) if leases else silence_of(None)

    def _job_changed(self, old: SlimJob | None, new: SlimJob | None) -> None:
        if old is not None:
            self._jobs.pop(old.uid, None)
        if new is not None:
            self._jobs[new.uid] = new

    def _event_changed(self, old: ShownEvent | None, new: ShownEvent | None) -> None:
        if new is not None:
            self.events.put(new)
        elif old is not None:
            self.events.remove(old)


def owner_uids(workload: DatedWorkload) -> list[str]:
    return [owner.uid for owner in workload.metadata.owner_references if owner.controller]
