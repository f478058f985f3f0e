"""Wait until the caches show what was written.

Balance makes every Placement look at what all others chose. So the next one is scheduled only when the cache shows what
was just decided; otherwise several would take the same idle cluster, one after the other, and later move away again.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from fleetqueue.api.cluster_v1 import Placement, PlacementDecision
from fleetqueue.api.meta import Object
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.logs import Log

PATIENCE: Final = 10.0
"""Seconds. A watch that shows nothing for so long is broken; work goes on, from what is known."""

log = Log("placement")


class CacheLag:
    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._stirred = asyncio.Event()

    def listen(self) -> None:
        """Follow what is written; before the hub runs."""
        for kind in (Placement, PlacementDecision):
            self._hub.informer(kind).subscribe(lambda old, new: self._stirred.set())

    async def heard(self, kept: Sequence[Object], deleted: Sequence[Object]) -> None:
        """Wait until some objects are shown as they were written, and others are gone."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (all(map(self._shows, kept)) and not any(map(self._still_shows, deleted))):
                    self._stirred.clear()
                    await self._stirred.wait()
        except TimeoutError:
            log.warning("the cache does not show what was written", objects=len(kept) + len(deleted))

    def _shows(self, written: Object) -> bool:
        shown = self._hub.get(type(written), written.name, written.namespace)
        return shown is not None and _version(shown) >= _version(written)

    def _still_shows(self, deleted: Object) -> bool:
        shown = self._hub.get(type(deleted), deleted.name, deleted.namespace)
        return shown is not None and shown.uid == deleted.uid and not shown.is_deleting


def _version(obj: Object) -> int:
    """Versions of one kind only grow."""
    return int(obj.metadata.resource_version)
