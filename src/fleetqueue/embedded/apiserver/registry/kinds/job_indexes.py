"""Sets of indexes as a Job's status writes them: `0,2-5`."""

from collections.abc import Iterator


class BadIndexes(Exception):
    """Not a set of indexes, or one with an index that the Job does not have; the text is Kubernetes'."""


def count(text: str, completions: int) -> int:
    """Return how many indexes a text names; raises BadIndexes."""
    return sum(last - first + 1 for first, last in intervals(text, completions))


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """Return the first index that is in both sets; None where there is none before a part that cannot be read."""
    done, lost = _readable(completed, completions), _readable(failed, completions)
    common = [max(a, c) for a, b in done for c, d in lost if max(a, c) <= min(b, d)]
    return min(common, default=None)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    try:
        for interval in intervals(text, completions):
            ranges.append(interval)
    except BadIndexes:
        pass  # reported elsewhere, with the text
    return ranges


def intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each part."""
    previous: int | None = None
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if previous is not None and previous >= first:
            raise BadIndexes(f"non-increasing order, previous: {previous}, current: {first}")
        yield first, last
        previous = last


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise BadIndexes(f'the fragment "{part}" {why}')
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _index(limits[1], completions)
    if first >= last:
        raise BadIndexes(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise BadIndexes(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise BadIndexes(f'too large index: "{text}"')
    return int(text)
