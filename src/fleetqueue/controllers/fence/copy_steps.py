"""How a copy is stopped: step by step, by Kueue as long as it does. No I/O.

Kueue honours `spec.active: false` for every kind of job. When it has stopped the job, or has had time enough, job and
copy are deleted: an evicted copy that Kueue finds again on the hub's side would end the run that has begun elsewhere.
"""

from enum import Enum, auto
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import STOPPED, sent_to

KUEUE_SECONDS: Final = 20.0
"""How long Kueue may take to stop a job; it needs a second or two."""


class Step(Enum):
    LEAVE = auto()
    DEACTIVATE = auto()
    WAIT = auto()
    DELETE = auto()


def is_promised(copy: kueue.Workload, lease: str) -> bool:
    """Tell whether a copy was sent in trust of a Lease."""
    return bool(lease) and lease in (sent_to(copy) or {}).values()


def next_step(copy: kueue.Workload, *, is_expired: bool, stopping_for: float) -> Step:
    """Choose what to do with a promised copy; what was begun is ended, also after the hub was reached again."""
    if copy.is_finished or copy.is_deleting:
        return Step.LEAVE
    if STOPPED not in copy.metadata.annotations:
        return Step.DEACTIVATE if is_expired else Step.LEAVE
    if not copy.is_true(kueue.QUOTA_RESERVED) or stopping_for >= KUEUE_SECONDS:
        return Step.DELETE
    return Step.WAIT
