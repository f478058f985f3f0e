"""Admit with fewer pods, where a Workload allows it: as many as fit.

Mirrors: Kueue pkg/scheduler/flavorassigner/podset_reducer.go
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from fleetqueue.api.pod_templates import PodSet

R = TypeVar("R")


def can_shrink(pod_sets: Sequence[PodSet]) -> bool:
    return any(_spare(one) for one in pod_sets)


def largest(pod_sets: Sequence[PodSet], fits: Callable[[list[int]], R | None]) -> R | None:
    """Halve the way between all pods and the fewest until the most that fit are found."""
    spare = [_spare(one) for one in pod_sets]
    total = sum(spare)
    low, high, found, found_at = 0, total + 1, None, 0
    while low < high:
        middle = (low + high) // 2
        result = fits([one.count - each * middle // total for one, each in zip(pod_sets, spare, strict=True)])
        if result is None:
            low = middle + 1
        else:
            high, found, found_at = middle, result, middle
    return found if found_at == low else None


def _spare(one: PodSet) -> int:
    return one.count - (one.count if one.min_count is None else one.min_count)
