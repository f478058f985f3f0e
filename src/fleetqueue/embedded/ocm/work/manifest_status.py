"""How the objects of a work are, and the work with them: the lists of conditions that are written into its status.

Mirrors: OCM work/helper/helpers.go (merging), work/spoke/conditions/helpers.go (aggregating)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from fleetqueue.api import work_v1 as work
from fleetqueue.api.condition_lists import with_conditions, without_condition
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition
from fleetqueue.api.scheme import Manifest

BY_RULE: Final = "ConditionRule"
"""How the reasons of conditions begin that come of rules."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one manifest."""

    meta: work.ResourceMeta
    live: Manifest | None = None
    error: str = ""


def applied(results: Sequence[Result], live: Sequence[Manifest], generation: int, now: datetime) -> list[Manifest]:
    """Return how each object is, in the order of the manifests; what is known of an object otherwise is kept."""
    return [_applied(result, _known(result.meta, live), generation, now) for result in results]


def work_applied(results: Sequence[Result], generation: int) -> Condition | None:
    """Say whether all was applied; of a work without manifests there is nothing to say."""
    if not results:
        return None
    if any(result.error for result in results):
        verdict = (FALSE, "AppliedManifestWorkFailed", "Failed to apply manifest work")
    else:
        verdict = (TRUE, "AppliedManifestWorkComplete", "Apply manifest work complete")
    return _condition(work.APPLIED, *verdict, generation)


def is_complete(meta: work.ResourceMeta, live: Sequence[work.ManifestCondition]) -> bool:
    """Tell whether an object has done its work, and is not to be applied again."""
    known = next((item for item in live if _same_object(item.resource_meta.written(), meta.written())), None)
    return known is not None and any(item.type == work.COMPLETE and item.is_true for item in known.conditions)


def _applied(result: Result, known: Manifest | None, generation: int, now: datetime) -> Manifest:
    before = list(known["conditions"]) if known else []
    if any(
        condition["type"] == work.APPLIED and condition.get("observedGeneration", 0) != generation
        for condition in before
    ):
        before = without_condition(before, work.APPLIED)  # what was said of another generation is not continued
    return {
        "resourceMeta": result.meta.written(),
        "statusFeedback": (known or {}).get("statusFeedback") or {},
        "conditions": with_conditions(before, [_manifest_applied(result, generation)], now),
    }


def _manifest_applied(result: Result, generation: int) -> Condition:
    if result.error:
        verdict = (FALSE, "AppliedManifestFailed", f"Failed to apply manifest: {result.error}")
    else:
        verdict = (TRUE, "AppliedManifestComplete", "Apply manifest complete")
    return _condition(work.APPLIED, *verdict, generation)


def _known(meta: work.ResourceMeta, live: Sequence[Manifest]) -> Manifest | None:
    """Find what was said of an object: at its place, or, if its place has changed, of the only one like it."""
    wanted = meta.written()
    same = [manifest for manifest in live if _same_object(manifest["resourceMeta"], wanted)]
    exact = [manifest for manifest in same if manifest["resourceMeta"]["ordinal"] == meta.ordinal]
    if exact:
        return exact[-1]
    return same[0] if len(same) == 1 else None


def _same_object(one: Manifest, other: Manifest) -> bool:
    return {**one, "ordinal": 0} == {**other, "ordinal": 0}


# Availability


@dataclass(slots=True)
class _Tally:
    counts: dict[str, int] = field(default_factory=lambda: {TRUE: 0, FALSE: 0, UNKNOWN: 0})
    message: str = ""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def aggregated(manifests: Sequence[Manifest], generation: int) -> list[Condition]:
    """Say of the whole work what is said of its objects: Available always, and what rules gave, in order of type."""
    tallies = {work.AVAILABLE: _Tally()}
    for manifest in manifests:
        for raw in manifest["conditions"]:
            condition = msgspec.convert(raw, Condition)
            if condition.type == work.AVAILABLE or is_by_rule(condition.reason):
                tally = tallies.setdefault(condition.type, _Tally())
                tally.counts[condition.status] += 1
                tally.message = condition.message or tally.message
    return [
        _work_available(tallies[kind], generation, len(manifests))
        if kind == work.AVAILABLE
        else _by_rules(kind, tallies[kind], generation)
        for kind in sorted(tallies)
    ]


def pruned(conditions: Iterable[Manifest], generation: int) -> list[Manifest]:
    """Drop what rules said of another generation."""
    return [
        condition
        for condition in conditions
        if not is_by_rule(condition.get("reason", "")) or condition.get("observedGeneration", 0) == generation
    ]


def is_by_rule(reason: str) -> bool:
    return reason.startswith(BY_RULE)


def _work_available(tally: _Tally, generation: int, total: int) -> Condition:
    if missing := tally.counts[FALSE]:
        verdict = (FALSE, "ResourcesNotAvailable", f"{missing} of {total} resources are not available")
    elif unknown := tally.counts[UNKNOWN]:
        verdict = (UNKNOWN, "ResourcesStatusUnknown", f"{unknown} of {total} resources have unknown status")
    elif not tally.counts[TRUE]:
        verdict = (UNKNOWN, "ResourcesStatusUnknown", "cannot get any available resource ")
    else:
        verdict = (TRUE, "ResourcesAvailable", "All resources are available")
    return _condition(work.AVAILABLE, *verdict, generation)


def _by_rules(kind: str, tally: _Tally, generation: int) -> Condition:
    """False outweighs Unknown outweighs True; that something progresses is true if it is true of one."""
    order = (TRUE, UNKNOWN) if kind == work.PROGRESSING else (FALSE, UNKNOWN)
    rest = FALSE if kind == work.PROGRESSING else TRUE
    status = next((candidate for candidate in order if tally.counts[candidate]), rest)
    is_alone = tally.total == 1 and tally.message
    message = tally.message if is_alone else f"Aggregated from {tally.total} manifest conditions"
    return _condition(kind, status, "ConditionRulesAggregated", message, generation)


def _condition(kind: str, status: str, reason: str, message: str, generation: int) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
