"""Whether a cluster that has admitted a Workload refuses its job.

Kueue records the winner after it has created the job there. Where the worker does not let it, because of a webhook of
its own or something that the job needs, Kueue tries again without end, and says so in its log alone. The copy then
stays without an owner: the worker's Kueue gives it one as soon as there is a job.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from fleetqueue.controllers.placement_admission.workers import WorkloadCopy

KUEUE_PATIENCE: Final = 5
"""How many nomination timeouts Kueue may need to bring a copy, or the job. It asks each worker at most five times a
second, so that a burst of jobs takes minutes; but a namespace that is missing there, or a refusal, would hold a job up
for ever."""


class Admission(Enum):
    """How far a cluster has come with a copy."""

    OPEN = "it has not admitted it"
    BEING_RECORDED = "it has, and Kueue is about to record that"
    LATE = "it has, and its job is not there"
    REFUSED = "it has, and its job will not come"


@dataclass(frozen=True, slots=True)
class RefusedJob:
    member: str
    note: str
    """What is known of it, for people."""


def admission_of(
    copy: WorkloadCopy | None, *, is_connected: bool, seen_for: float, nominated_for: float, timeout: float
) -> Admission:
    """Judge a copy by how long it was seen admitted and without a job, and how long ago it was nominated.

    Of a cluster that Kueue is not connected to nobody can say that it refuses anything.
    """
    if copy is None or not copy.is_admitted:
        return Admission.OPEN
    if copy.has_job or not is_connected or seen_for < timeout:
        return Admission.BEING_RECORDED
    return Admission.REFUSED if nominated_for >= timeout * KUEUE_PATIENCE else Admission.LATE
