"""A log whose disk is full for as long as the test says."""

import asyncio
from errno import ENOSPC

from fleetqueue.embedded.apiserver.storage.interface import Change
from fleetqueue.embedded.apiserver.storage.log import Kept, Listener, MemoryLog


class FullDisk(MemoryLog):
    is_full = False

    async def open(self, listener: Listener) -> Kept:
        self._listener = listener
        return await super().open(listener)

    def append(self, change: Change) -> None:
        if self.is_full:
            asyncio.get_running_loop().call_soon(self._listener.failed, OSError(ENOSPC, "No space left on device"))
        else:
            super().append(change)
