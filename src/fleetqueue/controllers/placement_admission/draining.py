"""Which clusters a MultiKueueConfig lists: the selected ones, and dropped ones until nothing of ours is left on them.

On Kueue 0.19 unlisting a cluster evicts what runs there at once, starts it elsewhere, and leaves the old copy
running. So a dropped cluster is first marked as draining and stays listed; it is unlisted only in a later look, when
the mark was seen by everybody, no nomination to it is under way, no Workload of the hub points at it, and the cluster
itself, asked live, holds nothing of ours. A cluster that cannot be asked stays.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fleetqueue.controllers.placement_admission.messages import CANNOT_BE_ASKED


@dataclass(frozen=True, slots=True)
class Holdings:
    """What still stands on a dropped cluster."""

    workloads: frozenset[str] = frozenset()
    unreachable: str = ""
    """Why it could not be asked; empty where it answered."""
    is_running: bool = False
    """Whether the hub still has live Workloads there, or only copies are left that Kueue is about to remove."""
    others: frozenset[str] = frozenset()
    """Copies that came through other configs: they do not keep it listed here."""

    @property
    def is_empty(self) -> bool:
        return not self.workloads and not self.unreachable

    def __str__(self) -> str:
        count = f"{len(self.workloads)} workload{'s' if len(self.workloads) != 1 else ''}"
        return f"{count}, {CANNOT_BE_ASKED}{self.unreachable}" if self.unreachable else count


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    listed: tuple[str, ...]
    """The MultiKueueClusters that the config lists, in the order in which they are written."""
    marks: Mapping[str, datetime]
    """When the drain of each draining one began."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Selected, but not listed, and why."""
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Selected and still listed, since work may run there, but it cannot be used now, and why."""

    @property
    def serving(self) -> tuple[str, ...]:
        """Listed and open to new work."""
        return tuple(member for member in self.listed if member not in self.marks)

    @property
    def draining(self) -> tuple[str, ...]:
        return tuple(member for member in self.listed if member in self.marks)


def decide(
    wanted: Sequence[str],
    *,
    is_decided: bool,
    listed: Sequence[str],
    marks: Mapping[str, datetime],
    held: Mapping[str, Holdings],
    unusable: Mapping[str, str],
    limit: int,
    by_score: bool,
    now: datetime,
) -> ConfigPlan:
    """Choose what the config lists. No I/O: every branch is one row of a test table.

    `wanted` is best first; `held` answers for the dropped clusters that were already marked; `unusable` says why a
    wanted cluster cannot be listed yet (one that is listed already stays). Never more than `limit`: clusters that are
    listed and must stay come first, then the best of the others.
    """
    if not is_decided:
        wanted = [member for member in listed if member not in marks]
    usable = _usable(wanted, listed, unusable)
    chosen = usable[:limit]
    staying = [m for m in listed if m not in chosen and not (m in marks and m in held and held[m].is_empty)]
    room = limit - len(staying)
    newcomers = [member for member in chosen if member not in listed]
    for member in reversed(newcomers):
        if len(chosen) > room:
            chosen.remove(member)
    left_out = {member: unusable[member] for member in wanted if member in unusable and member not in usable}
    left_out |= {member: f"beyond the limit of {limit}" for member in usable if member not in chosen}
    ordered = [*chosen, *sorted(staying)] if by_score else sorted({*chosen, *staying})
    return ConfigPlan(
        tuple(ordered),
        {member: marks.get(member, now) for member in staying},
        left_out,
        {member: unusable[member] for member in chosen if member in unusable},
    )


def to_ask(
    wanted: Sequence[str], *, listed: Sequence[str], marks: Container[str], unusable: Container[str], limit: int
) -> list[str]:
    """Return the dropped clusters that were already marked: only they may be unlisted, so only they are asked."""
    chosen = _usable(wanted, listed, unusable)[:limit]
    return [member for member in listed if member not in chosen and member in marks]


def _usable(wanted: Sequence[str], listed: Sequence[str], unusable: Container[str]) -> list[str]:
    return [member for member in wanted if member in listed or member not in unusable]
