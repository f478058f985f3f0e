"""One cluster as a controller sees it: cached reads, careful writes.

Reads come from informers and may lag behind; writes that depend on what was read carry its uid and resourceVersion,
so that a stale read becomes a Conflict and is decided again. Every write first compares with the cache and is left
out where nothing differs.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

import orjson

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.conditions import Condition
from fleetqueue.api.fleetqueue import RELEASED
from fleetqueue.api.meta import O, Object, changes, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.informer import EVERYTHING, Informer, WatchScope
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.store import Store

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
OURS: Final = {MANAGED_BY: "fleetqueue"}
LABELLED_OURS: Final = f"{MANAGED_BY}={OURS[MANAGED_BY]}"
"""The label selector for what is ours."""


def is_ours(obj: Object) -> bool:
    """Tell whether we made an object, and so may change or delete it."""
    return obj.metadata.labels.get(MANAGED_BY) == OURS[MANAGED_BY]


def is_released(obj: Object) -> bool:
    """Tell whether an object was ours until `uninstall --purge` let it go."""
    return not is_ours(obj) and RELEASED in obj.metadata.annotations


def released_labels(obj: Object) -> dict[str, str]:
    """Return the labels by which a released object was ours."""
    try:
        parsed = orjson.loads(obj.metadata.annotations[RELEASED])
    except ValueError:
        parsed = {}  # edited by hand
    labels = parsed if isinstance(parsed, dict) else {}
    return {**{name: value for name, value in labels.items() if isinstance(value, str)}, **OURS}


class Cluster:
    def __init__(self, name: str, client: Client, *, metrics: Metrics | None = None) -> None:
        self.name = name
        self.client = client
        self.events = Recorder(client)
        self._is_running = False
        self._informers: dict[type[Object], dict[WatchScope, Informer[Any]]] = {}
        self._caches: dict[type[Object], Store[Any]] = {}
        """Those of the kinds that are followed in one scope, as most are."""
        if metrics is not None:
            client.observe = partial(metrics.count, name)

    # Reading

    def informer(self, kind: type[O], *, namespace: str = "", labels: str = "", fields: str = "") -> Informer[O]:
        """Return the informer of a kind in a scope; a new one is declared by that, which must not be during `run`."""
        scope = WatchScope(namespace, labels, fields)
        informer = self._informers.get(kind, {}).get(scope)
        if informer is None:
            if self._is_running:
                raise ValueError(f"{kind.__name__} is not followed within {scope}, and informers run already")
            informer = Informer(self.client, kind, scope, cluster=self.name)
            in_scopes = self._informers.setdefault(kind, {})
            in_scopes[scope] = informer
            if len(in_scopes) == 1:
                self._caches[kind] = informer.store
            else:
                self._caches.pop(kind, None)
        return informer

    def cache(self, kind: type[O], namespace: str = "") -> Store[O]:
        """Return the cache of a kind. Of several scopes it is the one of this whole namespace, or of the whole cluster;
        a cache with selectors beside others is to be had from its `informer`."""
        only = self._caches.get(kind)
        if only is not None:
            return only
        in_scopes = self._informers[kind]
        return (in_scopes.get(WatchScope(namespace)) or in_scopes[EVERYTHING]).store

    async def run(self) -> None:
        """Follow the declared kinds until cancelled."""
        self._is_running = True
        try:
            async with asyncio.TaskGroup() as tasks:
                for informer in self._all():
                    tasks.create_task(informer.run(), name=f"informer {self.name}/{informer.kind.__name__}")
        finally:
            self._is_running = False

    async def synced(self) -> None:
        """Wait until every declared kind was listed once."""
        for informer in self._all():
            await informer.synced.wait()

    @property
    def is_synced(self) -> bool:
        """Tell whether kinds are declared, and each of them was listed once."""
        return bool(self._informers) and all(informer.synced.is_set() for informer in self._all())

    def problems(self) -> dict[str, str]:
        """Say which kinds cannot be followed, and why."""
        return {i.kind.resource.kind: i.problem for i in self._all() if i.problem}

    def get(self, kind: type[O], name: str, namespace: str = "") -> O | None:
        store = self._caches.get(kind)
        return (self.cache(kind, namespace) if store is None else store).get(key_of(namespace, name))

    def raw(self, obj: Object) -> Manifest:
        """Return a cached object as it came from the API; empty where it has gone."""
        return self.cache(type(obj), obj.namespace).raw(obj.key) or {}

    def list(self, kind: type[O], namespace: str = "") -> list[O]:
        """Return all that is cached, in the order of the keys."""
        objects = self.cache(kind, namespace).all()
        return [obj for obj in objects if obj.namespace == namespace] if namespace else objects

    def by_index(self, kind: type[O], index: str, value: str) -> Sequence[O]:
        return self.cache(kind).by_index(index, value)

    def _all(self) -> Iterable[Informer[Any]]:
        return (informer for in_scopes in self._informers.values() for informer in in_scopes.values())

    # Writing

    async def ensure(self, kind: type[O], manifest: Manifest) -> bool:
        """Create one of our objects, or bring it to what is wanted; return whether anything was written.

        A wanted field that is None must be absent. Raises TerminalError where the name belongs to somebody else.
        """
        metadata = manifest["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        store = self.cache(kind, namespace)
        live, raw = store.get(key_of(namespace, name)), store.raw(key_of(namespace, name))
        if live is None or raw is None:
            await self.client.create(kind.resource, _labelled(manifest))
            return True
        if not is_ours(live):
            raise errors.TerminalError(f"{live} exists and was not made by fleetqueue; rename or delete it")
        patch = changes(raw, _without_kind(manifest))
        if not patch:
            return False
        patch.setdefault("metadata", {}).update(live.precondition)
        await self.client.merge(kind.resource, name, namespace, patch)
        return True

    async def take_back(self, obj: Object) -> None:
        """Make an object ours again that `uninstall --purge` let go; its watch tells when it is."""
        metadata = {**obj.precondition, "labels": released_labels(obj), "annotations": {RELEASED: None}}
        await self.client.merge(obj.resource, obj.name, obj.namespace, {"metadata": metadata})

    async def ensure_absent(self, obj: Object) -> bool:
        """Delete one of our objects if it is still the one that we saw."""
        if obj.is_deleting or not is_ours(obj):
            return False
        return await self.client.delete_seen(obj)

    async def set_conditions(
        self, obj: Object, live: Sequence[Condition], wanted: Sequence[Condition], ours: set[str]
    ) -> bool:
        """Write exactly these of the conditions whose types are ours; conditions of others are left alone.

        An apply to the status of a custom object does not look at the uid: only the version says which object is meant.
        """
        stale = {condition.type for condition in live} & ours - {condition.type for condition in wanted}
        if not stale and conditions.same(wanted, live):
            return False
        manifest = type(obj).manifest(
            obj.name, obj.namespace, status={"conditions": conditions.dated(wanted, live, now=clock.now())}
        )
        manifest["metadata"] |= {"uid": obj.uid, "resourceVersion": await self._version_now(obj)}
        await self.client.apply(obj.resource, manifest, subresource="status")
        return True

    async def _version_now(self, obj: Object) -> str:
        """Return the newest version of an object; raises Conflict where another one has its name by now."""
        metadata = (await self.client.get(obj.resource, obj.name, obj.namespace))["metadata"]
        if metadata["uid"] != obj.uid:
            raise errors.Conflict(f"{obj} was deleted, and another one was made")
        return str(metadata["resourceVersion"])

    async def add_finalizer(self, obj: Object, finalizer: str) -> bool:
        if finalizer in obj.metadata.finalizers:
            return False
        await self._set_finalizers(obj, [*obj.metadata.finalizers, finalizer])
        return True

    async def remove_finalizer(self, obj: Object, finalizer: str) -> bool:
        if finalizer not in obj.metadata.finalizers:
            return False
        await self._set_finalizers(obj, [f for f in obj.metadata.finalizers if f != finalizer])
        return True

    async def _set_finalizers(self, obj: Object, finalizers: Sequence[str]) -> None:
        metadata = {**obj.precondition, "finalizers": list(finalizers) or None}
        await self.client.merge(obj.resource, obj.name, obj.namespace, {"metadata": metadata})


def _without_kind(manifest: Manifest) -> Manifest:
    """Leave out what a list of built-in objects leaves out, too, or it would differ for ever."""
    return {field: value for field, value in manifest.items() if field not in ("apiVersion", "kind")}


def _labelled(manifest: Manifest) -> Manifest:
    """Mark as ours, and leave out what must be absent."""
    metadata = manifest["metadata"]
    labels = {**(metadata.get("labels") or {}), **OURS}
    wanted = {**manifest, "metadata": {**metadata, "labels": labels}}
    return _given(wanted)


def _given(wanted: Manifest) -> Manifest:
    return {k: _given(v) if isinstance(v, dict) else v for k, v in wanted.items() if v is not None}
