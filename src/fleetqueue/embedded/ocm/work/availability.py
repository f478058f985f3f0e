"""Tell the hub whether the objects of works are there, what they say of themselves, and whether they are done.

Reads:   ManifestWork of one cluster on the hub; the objects on the worker
Writes:  of the work's status: Available and the conditions by rules, of it and of each manifest; feedback
Mirrors: OCM work/spoke/controllers/statuscontroller, work/spoke/objectreader
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.condition_lists import with_conditions, without_condition
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition, find
from fleetqueue.api.scheme import Manifest
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
from fleetqueue.embedded.ocm.work.followed_objects import FollowedObjects
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_status

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
        return self._said.pop(key, None) == (this.metadata.generation, self.live_status(this))

    async def _look(self, key: str, this: ManifestWork) -> None:
        live = self.live_status(this)
        generation, now = this.metadata.generation, clock.now()
        manifests = [
            await self._judged(this, each, raw)
            for each, raw in zip(
                this.status.resource_status.manifests,
                (live.get("resourceStatus") or {}).get("manifests") or (),
                strict=True,
            )
        ]
        said = manifest_status.aggregated(manifests, generation)
        conditions = with_conditions(live.get("conditions") or [], said, now)
        wanted = {**live, "conditions": manifest_status.pruned(conditions, generation)}
        if manifests:
            wanted["resourceStatus"] = {"manifests": manifests}
        if await write_status(self.hub, this, live, wanted):
            self._said[key] = (generation, wanted)

    async def _judged(self, this: ManifestWork, each: ManifestCondition, raw: Manifest) -> Manifest:
        """Return what is said of one manifest, by the object as it is now."""
        meta, now = each.resource_meta, clock.now()
        obj, available = await self._fetched(meta)
        conditions = with_conditions(raw["conditions"], [available], now)
        if obj is None:
            return {**raw, "conditions": conditions}
        config = manifest_rules.config_of(meta, this.spec.manifest_configs)
        values, synced = feedback.feedback(obj, config.feedback_rules)
        told = (raw.get("statusFeedback") or {}).get("values") or []
        if values != told:
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
    metas = [each.resource_meta for each in this.status.resource_status.manifests if each.resource_meta.resource]
    return [
        meta
        for meta in metas
        if manifest_rules.config_of(meta, this.spec.manifest_configs).feedback_scrape_type == WATCH
    ]
