"""The indexes of an Indexed Job: those that succeeded, as the status writes them (`1,3-5,7`), and those to come."""

from collections.abc import Iterable, Sequence, Set

from fleetqueue.api.batch_v1 import INDEX, Job
from fleetqueue.api.core_v1 import Pod


def index_of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def valid_index(pod: Pod, job: Job) -> bool:
    """Tell whether a pod has a place in its Job; without indexes every pod has."""
    if not job.is_indexed:
        return True
    index = index_of(pod)
    return index is not None and index < (job.completions or 0)


def parse(text: str, completions: int) -> frozenset[int]:
    """Read intervals; what is no interval, or beyond the last index, is left out."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            indexes.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return frozenset(indexes)


def render(indexes: Iterable[int]) -> str:
    """Write intervals; two neighbours stay apart, as Kubernetes writes them."""
    spans: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if spans and spans[-1][1] == index - 1:
            spans[-1] = (spans[-1][0], index)
        else:
            spans.append((index, index))
    return ",".join(_span(*span) for span in spans)


def first_pending(taken: Set[int], completions: int, count: int) -> Sequence[int]:
    """Return the lowest indexes that nobody has."""
    indexes: list[int] = []
    for index in range(completions):
        if len(indexes) == count:
            break
        if index not in taken:
            indexes.append(index)
    return indexes


def _span(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
