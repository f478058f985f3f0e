"""Objects as few bytes: compressed JSON, with another object of their kind as the pattern.

Most objects of a cluster are versions that have been replaced, Events, and what belongs to jobs that are over: they are
kept for a while and hardly ever read. As dictionaries they take about 10 kB each. Objects of one kind are much alike,
so that one that is compressed by the pattern of others takes 200 to 400 bytes; that takes 10 µs, and the way back 3 µs.

Nobody waits for it: what is due is packed some seconds later, and a little at a time.
"""

import asyncio
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final

LEVEL: Final = 3
"""Level 1 leaves twice as much, level 6 takes twice as long for a tenth less."""
WINDOW_BITS: Final = -14
"""Without a header, and with 16 kB of what came before: some objects of a kind in all their states."""
PREPARED: Final = 16
"""Of so many patterns what zlib makes of them is kept: 100 kB each, which another time take 30 µs."""
MOST_PATTERN: Final = 12 * 1024
RENEWED: Final = 128
"""A pattern is kept for at least so many objects, so that a kind without likeness does not cost a pattern for each."""
LIKE: Final = 8
"""A pattern fits where it makes an object so many times smaller."""
MEMORY_LEVEL: Final = 6
"""How much zlib prepares for each object: with its default it would take twice as long."""
DELAY_SECONDS: Final = 10.0
"""Until the first of what is due is packed: most bursts are over then."""
AT_ONCE: Final = 100
"""How many objects are packed in one go: others in this loop wait some 4 ms for it."""
PAUSE_SECONDS: Final = 0.5
"""Between two goes: of a busy processor packing takes a hundredth."""


class Pattern:
    """The JSON of some objects, by which others are packed. Never changed, since they can be read by no other."""

    __slots__ = ("json",)

    def __init__(self, json: bytes) -> None:
        self.json = json

    def unpack(self, packed: bytes) -> bytes:
        return zlib.decompressobj(WINDOW_BITS, self.json).decompress(packed)


class Packer:
    """Packs the objects of one kind. Its pattern grows by what did not fit it, up to what zlib looks at."""

    def __init__(self) -> None:
        self._pattern = Pattern(b"")
        self._since_renewal = RENEWED

    def pack(self, json: bytes) -> tuple[Pattern, bytes]:
        """Return an object as bytes, and the pattern by which they are to be unpacked."""
        packed = self._pack(json)
        self._since_renewal += 1
        if self._since_renewal > RENEWED and len(packed) * LIKE > len(json):
            self._pattern = Pattern((self._pattern.json + json)[-MOST_PATTERN:])
            self._since_renewal = 0
            packed = self._pack(json)
        return self._pattern, packed

    def _pack(self, json: bytes) -> bytes:
        packer = _prepared(self._pattern).copy()
        return packer.compress(json) + packer.flush()


@lru_cache(maxsize=PREPARED)
def _prepared(pattern: Pattern) -> "zlib._Compress":
    return zlib.compressobj(LEVEL, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, pattern.json)


class PackingTimer:
    """Has what is due packed a little at a time, as long as there is any."""

    def __init__(self, pack: Callable[[int], bool]) -> None:
        """Take what packs up to so many objects, and says whether more are due."""
        self._pack = pack
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._go)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _go(self) -> None:
        self._timer = None
        if self._pack(AT_ONCE):
            self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._go)
