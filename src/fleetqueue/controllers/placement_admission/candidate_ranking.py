"""Whom to nominate for a Workload, in pure functions.

A cluster whose queue is stopped, or could not hold the job even if it were empty, is out of the question. The order of
the others is: clusters whose queue has room for the job before those where that is not known before those without;
then the higher score, less what was placed there and does not show in it yet; then, among equals, the strategy; then
the name.

`spread` gives each of the equals its fair share of the job's scarcest resource, by the size of its queue: of those
that have less than that, it takes the one that is least used with the job on it. So a burst of equal jobs is divided
in proportion to the sizes, and nobody is ever a whole job off. The least used one alone would not do: a large cluster
among many small ones would get everything until each of the small ones, with one job, is as full as it. `pack` takes
the one that is used most and has room.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from fleetqueue.api.quantity import Amounts, text

SPREAD: Final = "spread"
PACK: Final = "pack"
STRATEGIES: Final = (SPREAD, PACK)

NO_ROOM: Final = "no room now"
JOB_NEEDS: Final = "and the job needs"
"""Parts by which `explain` knows what was said of a candidate."""

ROOM_FIRST: Final = {True: 0, None: 1, False: 2}
NOTHING: Final = Decimal(0)
COUNTED_WHERE_DECLARED: Final = "pods"
"""The one resource that no job asks for: Kueue counts it in the queues that have a quota for it, and nowhere else."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member that a config lists, as one Workload sees it."""

    member: str
    excluded: str = ""
    """Why it is out of the question now; empty where it is not."""
    score: int = 0
    quota: Amounts | None = None
    """What its queue has in all; None where that is not known."""
    used: Amounts = field(default_factory=dict)
    """What of it is used, with all that was sent there; only what we sent there, where the quota is not known."""
    can_borrow: bool = False
    """Whether others may lend it more than its quota: then that is the worker's to decide."""
    is_too_small: bool = False
    """Whether it is excluded because its queue could not hold the job even if it were empty."""
    is_stopped: bool = False
    """Whether it is excluded because its queue is stopped, or not there."""

    @property
    def waits_for_queue(self) -> bool:
        """Whether nothing but a change of its queue can make it a candidate."""
        return self.is_too_small or self.is_stopped

    def has_room(self, requests: Amounts) -> bool | None:
        if self.quota is None or self.can_borrow:
            return None
        return all(self.free(name) >= amount for name, amount in requests.items())

    def free(self, resource: str) -> Decimal:
        return (self.quota or {}).get(resource, NOTHING) - self.used.get(resource, NOTHING)


def ranked(candidates: Sequence[Candidate], requests: Amounts, strategy: str = SPREAD) -> list[Candidate]:
    """Return who may be nominated, best first."""
    able = [candidate for candidate in candidates if not candidate.excluded]
    resource = scarcest(able, requests)
    equals: dict[tuple[int, int], list[Candidate]] = defaultdict(list)
    for candidate in able:
        equals[ROOM_FIRST[candidate.has_room(requests)], -candidate.score].append(candidate)
    order = _packed if strategy == PACK else _spread
    return [
        candidate
        for room, score in sorted(equals)
        # Where there is no room, the job waits: packed, all would wait in the longest queue.
        for candidate in (_spread if room == ROOM_FIRST[False] else order)(
            equals[room, score], resource, requests.get(resource, NOTHING)
        )
    ]


def scarcest(candidates: Sequence[Candidate], requests: Amounts) -> str:
    """Return the resource of which a job takes most of what all candidates have left; empty where it asks for none."""
    wanted = [name for name, amount in requests.items() if amount]
    free = {name: sum((c.free(name) for c in candidates if c.quota), NOTHING) for name in wanted}
    if any(free.values()):
        return max(wanted, key=lambda name: (_part(requests[name], free[name]), name))
    return max(wanted, key=lambda name: ("/" in name, name), default="")  # a device is scarcer than what all have


def explain(candidates: Sequence[Candidate], requests: Amounts, strategy: str = SPREAD) -> str:
    """Say of every candidate why it stands where it stands."""
    resource = scarcest([candidate for candidate in candidates if not candidate.excluded], requests)
    lines = [f"{c.member}: {_standing(c, requests, resource)}" for c in ranked(candidates, requests, strategy)]
    lines += [f"{c.member}: {c.excluded}" for c in sorted(candidates, key=lambda c: c.member) if c.excluded]
    if candidates and all(candidate.is_too_small for candidate in candidates):
        lines.insert(0, "no selected cluster's quota holds this job")
    return "; ".join(lines) or "the config lists no cluster"


def shortage(quota: Amounts, limits: Amounts, least: Amounts) -> str:
    """Say of what a queue can never hold as much as a job needs; empty where it could.

    `limits`: its quota with what it may borrow; `least`: what the job cannot do without.
    """
    for name, amount in sorted(least.items()):
        if name == COUNTED_WHERE_DECLARED and name not in limits:
            continue
        own, most = quota.get(name, NOTHING), limits.get(name, NOTHING)
        if amount > most:
            borrowed = f" and may borrow {text(most - own)}" if most > own else ""
            return f"has {text(own)} {name}{borrowed}, {JOB_NEEDS} {text(amount)}"
    return ""


_STANDING: Final = re.compile(
    rf"score -?\d+, (?P<room>has room|room unknown|{NO_ROOM})(, (?P<used>\d+)% of its (?P<of>\S+) used)?"
)
_SHORTAGE: Final = re.compile(
    rf"has (?P<quota>\S+) (?P<resource>\S+)( and may borrow (?P<borrowable>\S+))?, {JOB_NEEDS} (?P<needed>\S+)"
)


def facts_of(said: str) -> dict[str, Any]:
    """Return what `explain` said of a candidate as fields: its room, what of its queue is used, and what it lacks."""
    standing, lacking = _STANDING.fullmatch(said), _SHORTAGE.fullmatch(said)
    used = {standing["of"]: int(standing["used"])} if standing is not None and standing["used"] else {}
    return {
        "room": standing["room"] if standing is not None else "",
        "used_percent": used,
        "missing": [lacking.groupdict()] if lacking is not None else [],
    }


def _spread(equals: Sequence[Candidate], resource: str, amount: Decimal) -> list[Candidate]:
    sizes = _sizes(equals, resource)
    everything = sum(sizes.values(), NOTHING)
    all_used = sum((c.used.get(resource, NOTHING) for c in equals), amount)

    def key(candidate: Candidate) -> tuple[bool, Decimal, str]:
        size, used = sizes[candidate.member], candidate.used.get(resource, NOTHING)
        has_fair_share = used * everything >= size * all_used
        return has_fair_share, (used + amount) / size, candidate.member

    return sorted(equals, key=key)


def _packed(equals: Sequence[Candidate], resource: str, amount: Decimal) -> list[Candidate]:
    sizes = _sizes(equals, resource)
    return sorted(equals, key=lambda c: (-c.used.get(resource, NOTHING) / sizes[c.member], c.member))


def _sizes(equals: Sequence[Candidate], resource: str) -> Amounts:
    """Return how large each queue is, by member; all count alike where that is not known of everybody."""
    sizes = {c.member: (c.quota or {}).get(resource, NOTHING) for c in equals}
    return sizes if all(size > 0 for size in sizes.values()) else dict.fromkeys(sizes, Decimal(1))


def _part(amount: Decimal, free: Decimal) -> Decimal:
    return amount / free if free > 0 else Decimal("Infinity")


def _standing(candidate: Candidate, requests: Amounts, resource: str) -> str:
    room = {True: "has room", None: "room unknown", False: NO_ROOM}[candidate.has_room(requests)]
    quota = (candidate.quota or {}).get(resource)
    if not quota:
        return f"score {candidate.score}, {room}"
    used = round(100 * candidate.used.get(resource, NOTHING) / quota)
    return f"score {candidate.score}, {room}, {used}% of its {resource} used"
