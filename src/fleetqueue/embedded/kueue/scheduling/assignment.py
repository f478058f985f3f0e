"""What the search for flavors found: for each pod set its flavors, how well they fit, and what is missing.

Mirrors: Kueue pkg/scheduler/flavorassigner (Assignment, FlavorAssignmentAttempt)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.amounts import Requests, all_written
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried
from fleetqueue.embedded.kueue.topology.placement import Placement


class Mode(IntEnum):
    """How well something fits; the more the better."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2

    def __str__(self) -> str:
        return ("NoFit", "Preempt", "Fit")[self]


class GranularMode(IntEnum):
    """The same, told apart by who would have to go."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """Preemption is allowed, but there is no candidate."""
    PREEMPT = 2
    RECLAIM = 3
    """Only others who borrow would have to go."""
    FIT = 4

    @property
    def mode(self) -> Mode:
        if self in (GranularMode.NO_FIT, GranularMode.FIT):
            return Mode.FIT if self is GranularMode.FIT else Mode.NO_FIT
        return Mode.PREEMPT

    @property
    def possibility(self) -> str:
        """How events tell of it; nothing where preemption is no question."""
        return ("", "NoCandidates", "Preempt", "Reclaim", "")[self]


@dataclass(frozen=True, slots=True)
class Given:
    """A flavor for one resource of one pod set."""

    flavor: str
    mode: Mode
    borrows: int
    """How high up in the tree it must borrow; 0 is not at all."""
    tried: int = -1


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one flavor did for a pod set, for the event."""

    flavor: str
    granular_mode: GranularMode
    borrows: int = 0
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        possibility = self.granular_mode.possibility
        details = [f"preemptionMode={possibility}" if possibility else str(self.granular_mode.mode)]
        if self.borrows:
            details.append(f"borrow={self.borrows}")
        return f"{self.flavor}({';'.join((*details, *self.reasons))})"

    def merged(self, other: "Attempt") -> "Attempt":
        """Return how the flavor did for two resources: as badly as for the worse."""
        return Attempt(
            self.flavor,
            min(self.granular_mode, other.granular_mode),
            max(self.borrows, other.borrows),
            tuple(sorted({*self.reasons, *other.reasons})),
        )


@dataclass(frozen=True, slots=True)
class PartAssignment:
    name: str
    count: int
    requests: Requests
    given: Mapping[str, Given] = field(default_factory=dict)
    """By resource; empty where no flavor was found for something."""
    reasons: Sequence[str] = ()
    """Why it does not fit."""
    attempts: Sequence[Attempt] = ()
    placement: Placement | None = None
    """Where its pods are, in a topology-aware flavor."""
    delayed: str = ""
    """`Pending` where its pods are placed later or elsewhere; then `Ready`."""
    error: str = ""
    """Why its pods cannot be placed at all."""

    @property
    def mode(self) -> Mode:
        if self.error:
            return Mode.NO_FIT
        if not self.reasons:
            return Mode.FIT
        return min((given.mode for given in self.given.values()), default=Mode.NO_FIT)

    @property
    def manifest(self) -> Manifest:
        """As it is written into a Workload's admission."""
        topology: Manifest = {}
        if self.placement is not None:
            topology["topologyAssignment"] = self.placement.manifest
        if self.delayed:
            topology["delayedTopologyRequest"] = self.delayed
        if not self.given:
            return {"name": self.name, "count": self.count, **topology}
        used = {name: value for name, value in self.requests.items() if name in self.given}
        flavors = {name: self.given[name].flavor for name in sorted(self.given)}
        usage = all_written(used)
        return {"name": self.name, "flavors": flavors, "resourceUsage": usage, "count": self.count, **topology}


@dataclass(slots=True)
class Assignment:
    parts: list[PartAssignment]
    usage: Quantities
    """What it would hold of each flavor."""
    borrows: int
    tried: Tried
    _mode: Mode | None = None
    """What placing the pods has made of it."""

    @property
    def mode(self) -> Mode:
        if self._mode is not None and not any(part.error for part in self.parts):
            return self._mode
        return min((part.mode for part in self.parts), default=Mode.NO_FIT)

    def set_mode(self, mode: Mode, *pod_sets: str) -> None:
        """Note how well all of it fits, since some pod sets are to be placed, and fit as well as this."""
        if pod_sets:
            self._mode = mode
        for number, part in enumerate(self.parts):
            if part.name in pod_sets:
                given = {resource: replace(one, mode=mode) for resource, one in part.given.items()}
                self.parts[number] = replace(part, given=given)

    def change(
        self,
        pod_set: str,
        *,
        placement: Placement | None = None,
        delayed: str | None = None,
        reason: str = "",
        error: str = "",
    ) -> None:
        """Note what came of placing a pod set."""
        for number, part in enumerate(self.parts):
            if part.name == pod_set:
                self.parts[number] = replace(
                    part,
                    placement=placement if placement is not None else part.placement,
                    delayed=part.delayed if delayed is None else delayed,
                    reasons=[*part.reasons, reason] if reason else part.reasons,
                    error=error or part.error,
                )

    @property
    def message(self) -> str:
        for part in self.parts:
            if part.error:
                return f"failed to assign flavors to pod set {part.name}: {part.error}"
        return "; ".join(
            f"couldn't assign flavors to pod set {part.name}: {', '.join(sorted(part.reasons))}"
            for part in self.parts
            if part.reasons
        )

    @property
    def needing_preemption(self) -> set[FlavorResource]:
        return {
            FlavorResource(given.flavor, resource)
            for part in self.parts
            for resource, given in part.given.items()
            if given.mode is Mode.PREEMPT
        }

    @property
    def considered(self) -> str:
        """Say how the flavors did, for the event; nothing where all went well at once."""
        part_attempts = ((part.name, [a for a in part.attempts if not _is_plain(a)]) for part in self.parts)
        return " | ".join(f"{name}: {', '.join(map(str, attempts))}" for name, attempts in part_attempts if attempts)


def merged_attempts(groups: Iterable[tuple[str, Sequence[str], Sequence[Attempt]]]) -> list[Attempt]:
    """Bring together how flavors did for each resource of a pod set, given with the flavors that have the resource."""
    by_flavor: dict[str, Attempt] = {}
    for resource, flavors, attempts in groups:
        for attempt in attempts:
            known = by_flavor.get(attempt.flavor)
            by_flavor[attempt.flavor] = attempt if known is None else known.merged(attempt)
        tried = {attempt.flavor for attempt in attempts}
        for name in [*by_flavor] if attempts else ():
            if name in flavors and name not in tried:
                reason = f"flavor {name} does not provide resource {resource}"
                by_flavor[name] = by_flavor[name].merged(Attempt(name, GranularMode.NO_FIT, 0, (reason,)))
    return [by_flavor[name] for name in sorted(by_flavor)]


def _is_plain(attempt: Attempt) -> bool:
    return attempt.granular_mode is GranularMode.FIT and not attempt.borrows
