"""A log whose disk is full for as long as the test says."""

import asyncio
from errno import ENOSPC

from fleetqueue.embedded.apiserver.storage.interface import StorageChange
from fleetqueue.embedded.apiserver.storage.log import LogContent, LogObserver, MemoryLog


class FullDisk(MemoryLog):
    is_full = False

    async def open(self, listener: LogObserver) -> LogContent:
        self._listener = listener
        return await super().open(listener)

    def append(self, change: StorageChange) -> None:
        if self.is_full:
            asyncio.get_running_loop().call_soon(self._listener.failed, OSError(ENOSPC, "No space left on device"))
        else:
            super().append(change)
