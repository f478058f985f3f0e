"""The end of a demo: what held, what did not, what was not reached, and how long things took."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fleetqueue.demo.expectations import ExpectationOutcome, Record

GROUPS: Final = {
    "ENV": "the environment",
    "S1": "story 1, MultiKueue by hand",
    "S2": "story 2, placements choose",
    "S3": "story 3, scores choose",
    "": "promises of all stories",
}
"""What the expectations are about, by how their ids begin; what the environment shows counts there."""
MOMENTS: Final = {
    "S2-2": "two checks applied -> MultiKueueConfig written",
    "S2-6": "job created -> admitted on a worker",
    "S3-3": "Placement changed -> config follows, old cluster drains",
    "S3-4": "next job created -> admitted on the freer worker",
    "S2-8": "label removed -> cluster unlisted",
}
"""Waits that say how fast it is, in the order in which they are told."""

PAGE: Final = "docs/en/reference/stories.md"


def summary(record: "Record", expected: Sequence[str]) -> list[str]:
    """Write the summary, line by line."""
    groups = [group_line(record, prefix, title, expected) for prefix, title in GROUPS.items()]
    lines = [line for line in groups if line]
    lines += [f"did not hold: {o.id} {o.sentence}: {o.note}" for o in record.outcomes if not o.held]
    if missing := [one for one in expected if record.of(one) is None]:
        lines.append(f"not reached: {', '.join(missing)}")
    if moment_lines := moments(record.outcomes):
        lines += ["", *moment_lines]
    return [*lines, "", *not_shown(expected), "", verdict(record, expected)]


def group_line(record: "Record", prefix: str, title: str, expected: Sequence[str]) -> str:
    ids = [one for one in expected if group_of(one) == prefix]
    held = [one for one in ids if (outcome := record.of(one)) is not None and outcome.held]
    return f"{title:<28} {len(held):>2} of {len(ids):>2} expectations held" if ids else ""


def group_of(expectation: str) -> str:
    from fleetqueue.demo import environment_story

    prefix = "ENV" if expectation in environment_story.IDS else expectation.partition("-")[0]
    return prefix if prefix in GROUPS else ""


def moments(outcomes: Iterable["ExpectationOutcome"]) -> list[str]:
    """Tell how long the interesting waits took; a wait is the first part of its expectation."""
    first: dict[str, float] = {}
    for outcome in outcomes:
        first.setdefault(outcome.id, outcome.seconds)
    return [f"{text:<60} {first[one]:5.2f}s" for one, text in MOMENTS.items() if one in first]


def not_shown(expected: Sequence[str]) -> list[str]:
    """Tell what of the checklist the stories leave to others, and why."""
    from fleetqueue.demo.expectations import NOT_SHOWN, ONLY_WITH_PODS

    missing = {} if set(ONLY_WITH_PODS) <= set(expected) else ONLY_WITH_PODS
    lines = [f"not shown here: {one} ({reason})" for one, reason in missing.items()]
    return [*lines, f"not shown here: {len(NOT_SHOWN)} expectations of smaller pages; tests show them ({PAGE})"]


def verdict(record: "Record", expected: Sequence[str]) -> str:
    if record.all_held and all(record.of(one) for one in expected):
        return f"All {len(expected)} expectations held."
    return "Not every expectation held."
