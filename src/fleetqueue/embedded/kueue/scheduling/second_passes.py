"""Workloads that hold quota and are looked at again for their topology: each after a while, and then later and later.

That is so where a node of theirs failed, and where their pods could be placed only after their checks were ready.

Mirrors: Kueue pkg/cache/queue/second_pass_queue.go
"""

from typing import Final

FIRST_DELAY: Final = 1.0
LAST_DELAY: Final = 30.0


class SecondPasses:
    def __init__(self) -> None:
        self._waiting: dict[str, int] = {}
        """How often each was looked at before; its time has not come yet."""
        self._ready: dict[str, int] = {}

    def put(self, key: str, passes: int = 0) -> float | None:
        """Note that a Workload is to be looked at; return after how many seconds, or None where that is known."""
        if key in self._waiting or key in self._ready:
            return None
        self._waiting[key] = passes
        return min(FIRST_DELAY * 2.0 ** min(passes, 10), LAST_DELAY)

    def ripen(self, key: str) -> bool:
        """Note that the time of one has come; return whether it still is to be looked at."""
        if key not in self._waiting:
            return False
        self._ready[key] = self._waiting.pop(key)
        return True

    def take(self) -> dict[str, int]:
        """Take all whose time has come, with how often each was looked at before."""
        ready, self._ready = self._ready, {}
        return ready

    def drop(self, key: str) -> None:
        self._waiting.pop(key, None)
        self._ready.pop(key, None)
