"""How busy the processes of a fleet are: the seconds in which they worked, or waited for a processor, as Linux counts.

On a machine that has more to do, a controller may pause between two writes for longer than it ever does alone. So
seconds without a change count for less while it is busy.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def busy_seconds(proc: Path = PROC) -> float:
    """Return what all threads of the processes that this one started have spent; nothing where nobody counts it."""
    return sum(_spent(path) for child in _children(proc) for path in (proc / child / "task").glob("*/schedstat"))


def quiet_share(seconds: float, busy: float) -> float:
    """Return how many of some seconds without a change count, in which processes were busy for so many.

    Where they wanted as much as one processor it is the half, and never nothing: no machine is ever all quiet. Less
    than nothing is what a thread took along that has ended.
    """
    return seconds * seconds / (seconds + max(busy, 0.0)) if seconds else 0.0


def _children(proc: Path) -> Iterator[str]:
    for path in (proc / "self" / "task").glob("*/children"):
        yield from path.read_text().split()


def _spent(path: Path) -> float:
    with suppress(OSError):  # a thread that has ended since it was listed
        worked, waited, _ = map(int, path.read_text().split())
        return (worked + waited) / 1e9
    return 0.0
