"""Tell the hub whether the objects of works are there, what they say of themselves, and whether they are done.

Reads:   ManifestWork of one cluster on the hub; the objects on the worker
Writes:  of the work's status: Available and the conditions by rules, of it and of each manifest; feedback
Mirrors: OCM work/spoke/controllers/statuscontroller, work/spoke/objectreader
"""

import asyncio
from collections.abc import Callable, Iterable
from types import new_class
from typing import Any, ClassVar, Final, cast

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.condition_lists import with_conditions, without_condition
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition, find
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.work_v1 import (
    APPLIED,
    AVAILABLE,
    WORK_FINALIZER,
    ManifestCondition,
    ManifestWork,
    ResourceMeta,
)
from fleetqueue.embedded.ocm.work import condition_rules, feedback, manifest_rules, manifest_status
from fleetqueue.embedded.ocm.work.agent import AgentController
from fleetqueue.embedded.ocm.work.applied_resources import resource_of
from fleetqueue.embedded.ocm.work.condition_rules import Evaluate
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch
from fleetqueue.runtime.informer import Informer, WatchScope
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_status

MOST: Final = 50
"""Informers, as upstream's `--max-feedback-watch`."""

KindInNamespace = tuple[Resource, str]
"""A kind and a namespace."""
Followed = tuple[KindInNamespace, str]
"""An object of it, by name."""


class FollowedObjects:
    """Follows the objects of which works want to be told at once (`feedbackScrapeType: Watch`).

    One informer serves all works that name objects of a kind in a namespace; when no work does any more, it ends.
    Beyond a number of informers, objects are looked at now and then, as all others are.
    """

    def __init__(self, worker: Cluster, tasks: asyncio.TaskGroup, wake: Callable[[str], None]) -> None:
        self._worker = worker
        self._tasks = tasks
        self._wake = wake
        self._of_works: dict[str, frozenset[Followed]] = {}
        self._running: dict[KindInNamespace, asyncio.Task[None]] = {}

    def follow(self, name: str, metas: Iterable[work.ResourceMeta]) -> None:
        """Follow exactly these objects for a work, and no others."""
        wanted = frozenset(((resource_of(meta), meta.namespace), meta.name) for meta in metas)
        if wanted == self._of_works.get(name, frozenset()):
            return
        self._of_works[name] = wanted
        if not wanted:
            del self._of_works[name]
        kinds = {kind for objects in self._of_works.values() for kind, _ in objects}
        for kind in [kind for kind in self._running if kind not in kinds]:
            self._running.pop(kind).cancel()
        for kind in sorted(kinds - self._running.keys(), key=str):
            if len(self._running) < MOST:
                self._start(kind)

    def _start(self, kind: KindInNamespace) -> None:
        resource, namespace = kind
        informer = Informer(self._worker.client, _kind(resource), WatchScope(namespace), cluster=self._worker.name)
        informer.subscribe(lambda old, new: self._changed(kind, new or old))
        self._running[kind] = self._tasks.create_task(informer.run(), name=f"feedback of {resource} in {namespace}")

    def _changed(self, kind: KindInNamespace, obj: Object | None) -> None:
        for name, followed in self._of_works.items():
            if obj is not None and (kind, obj.name) in followed:
                self._wake(name)


def _kind(resource: Resource) -> type[Object]:
    """Make the class of one kind, of which only the names are read."""
    body = {"resource": resource, "__annotations__": {"resource": ClassVar[Resource]}}
    return cast(type[Object], new_class("Followed", (Object,), exec_body=lambda space: space.update(body)))


WATCH: Final = "Watch"


class AvailabilityController(AgentController):
    name = "manifest-work-availability"
    concurrency = 10

    def __init__(
        self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: WorkAgentSettings, *, evaluate: Evaluate
    ) -> None:
        super().__init__(hub, worker, metrics, settings)
        self.evaluate = evaluate
        self._followed: FollowedObjects | None = None
        self._said: dict[str, tuple[int, Manifest]] = {}
        """What we wrote of a work, and about which generation, until we have been woken by it."""

    def worker_watches(self) -> Iterable[Watch[Any]]:
        return ()

    async def work(self) -> None:
        """Work on keys until cancelled; what is followed on the worker is so for as long."""
        async with asyncio.TaskGroup() as tasks:
            self._followed = self._followed or FollowedObjects(self.worker, tasks, self.wake)
            await super().work()

    def wake(self, key: str) -> None:
        self._said.pop(key, None)  # an object has changed: that is news
        super().wake(key)

    async def reconcile(self, key: str) -> None:
        this = self.find(key)
        self._follow(key, this)
        if this is None:
            self._said.pop(key, None)
            return
        is_ready = WORK_FINALIZER in this.metadata.finalizers
        if is_ready and find(this.status.conditions, APPLIED) is not None and not self._is_our_own_word(key, this):
            await self._look(key, this)
        interval = self.settings.status_interval
        raise errors.RetryLater(clock.between(interval, 1.9 * interval), "objects may change on the worker")

    def _follow(self, key: str, this: ManifestWork | None) -> None:
        """Be woken by the objects that a work wants to be watched."""
        if self._followed is not None:
            self._followed.follow(key, watched(this) if this is not None else ())

    def _is_our_own_word(self, key: str, this: ManifestWork) -> bool:
        """Tell whether nothing but our own write has woken us: to look then is to go on for ever where reads fail."""
        return self._said.pop(key, None) == (this.metadata.generation, live_status(self.hub, this))

    async def _look(self, key: str, this: ManifestWork) -> None:
        live = live_status(self.hub, this)
        generation, now = this.metadata.generation, clock.now()
        manifests = [
            await self._judged(this, manifest, raw)
            for manifest, raw in zip(
                this.status.resource_status.manifests,
                (live.get("resourceStatus") or {}).get("manifests") or (),
                strict=True,
            )
        ]
        reported = manifest_status.aggregated(manifests, generation)
        conditions = with_conditions(live.get("conditions") or [], reported, now)
        wanted = {**live, "conditions": manifest_status.pruned(conditions, generation)}
        if manifests:
            wanted["resourceStatus"] = {"manifests": manifests}
        if await write_status(self.hub, this, live, wanted):
            self._said[key] = (generation, wanted)

    async def _judged(self, this: ManifestWork, manifest: ManifestCondition, raw: Manifest) -> Manifest:
        """Return what is said of one manifest, by the object as it is now."""
        meta, now = manifest.resource_meta, clock.now()
        obj, available = await self._fetched(meta)
        conditions = with_conditions(raw["conditions"], [available], now)
        if obj is None:
            return {**raw, "conditions": conditions}
        config = manifest_rules.config_of(meta, this.spec.manifest_configs)
        values, synced = feedback.feedback(obj, config.feedback_rules)
        known_values = (raw.get("statusFeedback") or {}).get("values") or []
        if values != known_values:
            conditions = without_condition(conditions, synced.type)  # dated anew when the values are
        generation = this.metadata.generation
        ruled = condition_rules.evaluated(obj, config.condition_rules, self.evaluate, generation)
        conditions = manifest_status.pruned(with_conditions(conditions, [synced, *ruled], now), generation)
        return {**raw, "statusFeedback": {"values": values} if values else {}, "conditions": conditions}

    async def _fetched(self, meta: ResourceMeta) -> tuple[Manifest | None, Condition]:
        """Return an object, None where it is not there or cannot be asked for, and what is said of that."""
        if not (meta.resource and meta.version and meta.name):
            return None, _available(UNKNOWN, "IncompleteResourceMeta", "Resource meta is incomplete")
        try:
            obj = await self.worker.client.get(resource_of(meta), meta.name, meta.namespace)
        except errors.NotFound:
            return None, _available(FALSE, "ResourceNotAvailable", "Resource is not available")
        except (errors.ApiError, errors.Unreachable) as error:
            return None, _available(UNKNOWN, "FetchingResourceFailed", f"Failed to fetch resource: {error}")
        return obj, _available(TRUE, "ResourceAvailable", "Resource is available")


def _available(status: str, reason: str, message: str) -> Condition:
    return Condition(type=AVAILABLE, status=status, reason=reason, message=message)


def watched(this: ManifestWork) -> list[ResourceMeta]:
    """Return the objects of which a work wants to be told at once."""
    metas = [
        manifest.resource_meta for manifest in this.status.resource_status.manifests if manifest.resource_meta.resource
    ]
    return [
        meta
        for meta in metas
        if manifest_rules.config_of(meta, this.spec.manifest_configs).feedback_scrape_type == WATCH
    ]
