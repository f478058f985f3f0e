"""A controller turns changes into keys, and keys into objects that are right.

A key says who, never what happened: `reconcile` reads what is, decides, and writes what differs. An exception simply
leaves it; the key comes back later.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, Final, Generic

from prometheus_client import Counter, Histogram

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import O, Object
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Handler
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.workqueue import WorkQueue

SOONEST: Final = 0.01
"""Seconds. What is left of a time may be less than the clock can count: it would never pass."""
PIECE: Final = 50
"""After how many keys in a row others in this loop have a turn: a lease is renewed there too."""

log = Log("controller")


@dataclass(frozen=True, slots=True)
class Watch(Generic[O]):
    """Who is woken when an object of a kind changes; of a change, both what was and what is are asked."""

    kind: type[O]
    keys: Callable[[O], Iterable[str]] | None = None
    """None where the kind is only read, and wakes nobody."""
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    facts: Callable[[O], Any] | None = None
    """What of an object is looked at: a change that leaves it as it was wakes nobody. None is all of it."""


class Controller:
    name: str
    concurrency = 1
    """How many keys are worked on at once."""

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        self.hub = hub
        self.metrics = metrics
        self.queue = WorkQueue()
        self._reconciles: dict[str, Counter] = {}
        """The counter of each result, looked up once: thousands of keys may be worked on in a second."""

    def watches(self) -> Iterable[Watch[Any]]:
        raise NotImplementedError

    async def reconcile(self, key: str) -> None:
        raise NotImplementedError

    def subscribe(self) -> None:
        """Declare what is followed; before the cluster runs."""
        for watch in self.watches():
            self.subscribe_to(self.hub, watch)

    async def work(self) -> None:
        """Work on keys until cancelled."""
        self.metrics.queue_length.labels(self.name).set_function(self.queue.__len__)
        for number in count(1):
            key = await self.queue.take()
            try:
                await self._attempt(key)
            finally:
                self.queue.done(key)
            if number % PIECE == 0:
                await asyncio.sleep(0)  # most keys wait for nothing when there is nothing to do about them

    def wake(self, key: str) -> None:
        self.queue.add(key)

    async def wake_each(self, keys: Iterable[str]) -> None:
        """Wake as many as there are, with turns for others between them."""
        for number, key in enumerate(keys, 1):
            self.queue.add(key)
            if number % PIECE == 0:
                await asyncio.sleep(0)

    async def _attempt(self, key: str) -> None:
        started = clock.monotonic()
        try:
            await self.reconcile(key)
        except errors.RetryLater as later:
            self.queue.forget(key)
            self.queue.add_after(key, max(later.after, SOONEST))
            result = "later"
        except errors.TerminalError as error:
            self.queue.forget(key)
            log.warning("cannot be done", controller=self.name, key=key, error=error)
            result = "terminal"
        except (errors.Conflict, errors.AlreadyExists, errors.NotFound) as error:
            log.debug("cache was stale", controller=self.name, key=key, error=error)
            self.queue.retry(key, error.retry_after or 0.0)
            result = "stale"
        except (errors.ApiError, errors.Unreachable) as error:
            asked = error.retry_after if isinstance(error, errors.ApiError) else None
            delay = self.queue.retry(key, asked or 0.0)
            log.warning("reconcile failed", controller=self.name, key=key, error=error, again_in=round(delay, 2))
            result = "error"
        except Exception:
            delay = self.queue.retry(key)
            log.exception("reconcile failed", controller=self.name, key=key, again_in=round(delay, 2))
            result = "error"
        else:
            self.queue.forget(key)
            result = "done"
        self._count_reconcile(result, clock.monotonic() - started)

    def _count_reconcile(self, result: str, seconds: float) -> None:
        counter = self._reconciles.get(result)
        if counter is None:
            counter = self._reconciles[result] = self.metrics.reconciles.labels(self.name, result)
        counter.inc()
        self._reconcile_seconds.observe(seconds)

    @cached_property
    def _reconcile_seconds(self) -> Histogram:
        return self.metrics.reconcile_seconds.labels(self.name)

    def subscribe_to(self, cluster: Cluster, watch: Watch[Any]) -> None:
        informer = cluster.informer(watch.kind, namespace=watch.namespace, labels=watch.labels, fields=watch.fields)
        if watch.keys is not None:
            informer.subscribe(self._waker(watch.keys), watch.facts)

    def _waker(self, keys: Callable[[O], Iterable[str]]) -> Handler[O]:
        if keys is by_key:
            return self._wake_itself

        def wake(old: O | None, new: O | None) -> None:
            if old is not None:
                for key in keys(old):
                    self.queue.add(key)
            if new is not None:
                for key in keys(new):
                    self.queue.add(key)

        return wake

    def _wake_itself(self, old: Object | None, new: Object | None) -> None:
        """Wake an object by its own key, which no change alters."""
        if (changed := new or old) is not None:
            self.queue.add(changed.key)


def by_key(obj: Any) -> Iterable[str]:
    """Wake the object itself."""
    return (obj.key,)
