"""Run LeaderWorkerSets: a StatefulSet of leaders, and one of workers for each leader; Kubernetes makes their pods.

Reads:   LeaderWorkerSet, StatefulSet and Pod with the label of one
Writes:  StatefulSet (create, size and template), Pod (deletes leaders), LeaderWorkerSet status
Mirrors: lws pkg/controllers, pkg/webhooks

Left out: services, subgroups, exclusive placement, partitions and surges of rolling updates, volume claims, and the
variables that pods get.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.leaderworkerset_v1 import GROUP_INDEX, SET_NAME, WORKER_INDEX, LeaderWorkerSet
from fleetqueue.api.meta import Object, key_of, precondition_of, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.leader_worker_set_plan import Group, Observed, marked_pod, plan
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

BY_SET: Final = "leader worker set"

log = Log("leader-worker-sets")


class LeaderWorkerSetController(Controller):
    name = "leader worker sets"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.pods = hub.informer(Pod, labels=SET_NAME).store
        self.stateful_sets = hub.informer(StatefulSet, labels=SET_NAME).store
        self.pods.add_index(BY_SET, _set_of)
        self.stateful_sets.add_index(BY_SET, _set_of)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(LeaderWorkerSet, by_key)
        yield Watch(Pod, _set_of, labels=SET_NAME)
        yield Watch(StatefulSet, _set_of, labels=SET_NAME)

    async def reconcile(self, key: str) -> None:
        lws = self.hub.informer(LeaderWorkerSet).store.raw(key)
        if lws is None or "deletionTimestamp" in lws["metadata"]:
            return  # all goes with it
        observed = self._observed(key, lws)
        made = plan(observed, clock.now())
        for leader in made.restart:
            await self._restart(leader)
        for stateful_set in made.create:
            await self.hub.client.create(StatefulSet.resource, stateful_set)
            log.info("stateful set made", set=key, stateful_set=stateful_set["metadata"]["name"])
        if observed.leaders is not None and made.update:
            await self._update(observed.leaders, made.update)
        await self._write(lws, made.status)

    def _observed(self, key: str, lws: Manifest) -> Observed:
        sets = {raw["metadata"]["name"]: raw for raw in _raw(self.stateful_sets, key)}
        leaders = sets.get(lws["metadata"]["name"])
        pods = _raw(self.pods, key)
        found = [pod for pod in pods if _is_leader(pod) and leaders is not None and _is_controlled(pod, leaders)]
        return Observed(lws, leaders, [_group(leader, sets, pods) for leader in found], frozenset(sets))

    async def _restart(self, leader: Manifest) -> None:
        metadata = leader["metadata"]
        with suppress(errors.NotFound):
            await self.hub.client.delete(Pod.resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        log.info("group begins anew", leader=key_of(metadata["namespace"], metadata["name"]))

    async def _update(self, live: Manifest, patch: Manifest) -> None:
        metadata = live["metadata"]
        wanted = {**patch, "metadata": {**patch["metadata"], **precondition_of(metadata)}}
        await self.hub.client.merge(StatefulSet.resource, metadata["name"], metadata["namespace"], wanted)

    async def _write(self, lws: Manifest, status: Manifest) -> None:
        metadata, live = lws["metadata"], lws.get("status") or {}
        if status == live:
            return
        patch = {"metadata": precondition_of(metadata), "status": replacement(live, status)}
        where = metadata["name"], metadata["namespace"]
        await self.hub.client.merge(LeaderWorkerSet.resource, *where, patch, subresource="status")


def hooks() -> Sequence[AdmissionHook]:
    """Return what has a say in new pods: it tells them their place."""

    def complete(old: Manifest | None, new: Manifest) -> Manifest:
        return marked_pod(new)

    return [
        AdmissionHook("mpod.lws.kb.io", "", "v1", ("pods",), ("CREATE",), complete, is_mutating=True, label=SET_NAME)
    ]


def _group(leader: Manifest, sets: dict[str, Manifest], pods: Sequence[Manifest]) -> Group:
    workers_of = sets.get(leader["metadata"]["name"])
    if workers_of is None or not _is_controlled(workers_of, leader):
        return Group(leader)
    return Group(leader, [pod for pod in pods if _is_controlled(pod, workers_of)], workers_of)


def _raw(store: Any, key: str) -> list[Manifest]:
    views = sorted(store.by_index(BY_SET, key), key=lambda view: view.name)
    return [raw for view in views if (raw := store.raw(view.key)) is not None]


def _is_leader(pod: Manifest) -> bool:
    labels = pod["metadata"]["labels"]
    return bool(labels.get(WORKER_INDEX) == "0" and GROUP_INDEX in labels)


def _is_controlled(obj: Manifest, by: Manifest) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return by["metadata"]["uid"] in [owner["uid"] for owner in owners if owner.get("controller")]


def _set_of(obj: Object) -> Iterable[str]:
    return (key_of(obj.namespace, obj.metadata.labels[SET_NAME]),)
