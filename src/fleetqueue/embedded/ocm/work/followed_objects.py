"""Follow the objects of which works want to be told at once (`feedbackScrapeType: Watch`).

Mirrors: OCM work/spoke/objectreader

One informer serves all works that name objects of a kind in a namespace; when no work does any more, it ends. Beyond
a number of informers, objects are looked at now and then, as all others are.
"""

import asyncio
from collections.abc import Callable, Iterable
from types import new_class
from typing import ClassVar, Final, cast

from fleetqueue.api import work_v1 as work
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.ocm.work.applied_resources import resource_of
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer

MOST: Final = 50
"""Informers, as upstream's `--max-feedback-watch`."""

Place = tuple[Resource, str]
"""A kind and a namespace."""
Followed = tuple[Place, str]
"""An object of it, by name."""


class FollowedObjects:
    def __init__(self, worker: Cluster, tasks: asyncio.TaskGroup, wake: Callable[[str], None]) -> None:
        self._worker = worker
        self._tasks = tasks
        self._wake = wake
        self._of_works: dict[str, frozenset[Followed]] = {}
        self._running: dict[Place, asyncio.Task[None]] = {}

    def follow(self, name: str, metas: Iterable[work.ResourceMeta]) -> None:
        """Follow exactly these objects for a work, and no others."""
        wanted = frozenset(((resource_of(meta), meta.namespace), meta.name) for meta in metas)
        if wanted == self._of_works.get(name, frozenset()):
            return
        self._of_works[name] = wanted
        if not wanted:
            del self._of_works[name]
        places = {place for some in self._of_works.values() for place, _ in some}
        for place in [place for place in self._running if place not in places]:
            self._running.pop(place).cancel()
        for place in sorted(places - self._running.keys(), key=str):
            if len(self._running) < MOST:
                self._start(place)

    def _start(self, place: Place) -> None:
        resource, namespace = place
        informer = Informer(self._worker.client, _kind(resource), namespace=namespace, cluster=self._worker.name)
        informer.subscribe(lambda old, new: self._changed(place, new or old))
        self._running[place] = self._tasks.create_task(informer.run(), name=f"feedback of {resource} in {namespace}")

    def _changed(self, place: Place, obj: Object | None) -> None:
        for name, followed in self._of_works.items():
            if obj is not None and (place, obj.name) in followed:
                self._wake(name)


def _kind(resource: Resource) -> type[Object]:
    """Make the class of one kind, of which only the names are read."""
    body = {"resource": resource, "__annotations__": {"resource": ClassVar[Resource]}}
    return cast(type[Object], new_class("Followed", (Object,), exec_body=lambda space: space.update(body)))
