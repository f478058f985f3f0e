"""Run a fleetqueue command and note how long the callbacks of its loop take, in CPU time.

Usage: measured.py <file> <command> [<argument>...]

At SIGUSR1 the longest since the last time are written into the file. CPU time is what other processes on the machine
cannot lengthen; a callback that takes it keeps everything else in the loop waiting, also the renewal of the lease.
"""

import asyncio
import heapq
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from fleetqueue.cli.main import main

MOST = 5


class Callbacks:
    def __init__(self) -> None:
        self.longest: list[tuple[float, int, str]] = []
        self.count = 0

    def watch(self) -> None:
        run = asyncio.Handle._run  # type: ignore[attr-defined]

        def timed(handle: Any) -> None:
            began = time.thread_time()
            run(handle)
            seconds = time.thread_time() - began
            self.count += 1
            if len(self.longest) < MOST or seconds > self.longest[0][0]:
                heapq.heappush(self.longest, (seconds, self.count, repr(handle)))
                del self.longest[: max(0, len(self.longest) - MOST)]
                heapq.heapify(self.longest)

        asyncio.Handle._run = timed  # type: ignore[attr-defined]

    def write(self, path: Path) -> None:
        found = [{"ms": 1000 * seconds, "what": what} for seconds, _, what in sorted(self.longest, reverse=True)]
        path.with_suffix(".new").write_text(json.dumps(found))
        path.with_suffix(".new").rename(path)
        self.longest.clear()


if __name__ == "__main__":
    callbacks, target = Callbacks(), Path(sys.argv.pop(1))
    callbacks.watch()
    signal.signal(signal.SIGUSR1, lambda number, frame: callbacks.write(target))
    main()
