"""Nominations that the API server, or a webhook of Kueue's, refused: which were refused again for the same cause.

One refusal may be a cache that is a moment old. The same one again will not pass by waiting, and somebody must know.
"""

from dataclasses import dataclass
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue


@dataclass(frozen=True, slots=True)
class Refusal:
    uid: str
    cause: tuple[Any, ...]
    message: str
    """As it was said the first time: the same cause may be told with other addresses of Go's pointers in it."""


class Refusals:
    def __init__(self) -> None:
        self._last: dict[str, Refusal] = {}
        """By the keys of Workloads that were refused, and not nominated since."""

    def note(self, workload: kueue.Workload, error: errors.ApiError) -> str:
        """Remember a refusal; return what was said where it is for the same cause as the one before, else nothing."""
        last = self._last.get(workload.key)
        refusal = Refusal(workload.uid, _cause(error), error.message)
        if last is not None and (last.uid, last.cause) == (refusal.uid, refusal.cause):
            return last.message
        self._last[workload.key] = refusal
        return ""

    def forget(self, key: str) -> None:
        self._last.pop(key, None)


def _cause(error: errors.ApiError) -> tuple[Any, ...]:
    """Return what makes two refusals the same: the fields that are named, else all that was said."""
    fields = tuple((cause.get("reason"), cause.get("field")) for cause in error.details.get("causes") or ())
    return error.code, error.reason, fields or error.message
