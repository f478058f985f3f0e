"""Events are forgotten an hour after their last write, as a real server forgets them."""

import logging
from collections import OrderedDict
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry.kinds.events import PLACE
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.embedded.apiserver.storage.interface import Storage

LIFETIME_SECONDS: Final = 3600.0

_logger = logging.getLogger(__name__)


class Expiring:
    """Follows the events; what a restart finds begins its hour anew."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.prefix = keys.prefix_of(*PLACE)
        self._ends: OrderedDict[str, float] = OrderedDict()
        """By key, in the order of their ends."""

    async def run(self) -> None:
        """Delete events whose time is over, until cancelled."""
        page = self.storage.list(self.prefix)
        watch = self.storage.watch(self.prefix, since=page.revision)
        for entry in page.entries:
            self._written(entry.key)
        while True:
            for change in await watch.read(until=next(iter(self._ends.values()), None)):
                self._ends.pop(change.key, None)
                if change.type != "DELETED":
                    self._written(change.key)
            await self._delete_ended()

    def _written(self, key: str) -> None:
        self._ends[key] = clock.monotonic() + LIFETIME_SECONDS

    async def _delete_ended(self) -> None:
        now = clock.monotonic()
        while self._ends and next(iter(self._ends.values())) <= now:
            key, _ = self._ends.popitem(last=False)
            head = self.storage.head(key)
            if head is not None:
                await self._delete(key, head.revision)

    async def _delete(self, key: str, revision: int) -> None:
        try:
            await self.storage.delete(key, expected=revision)
        except (errors.NotFound, errors.Conflict):
            pass  # another client was faster, and the watch shows its change
        except errors.ApiError as error:
            _logger.warning("event %s stays for another hour: %s", key, error)
            self._written(key)
