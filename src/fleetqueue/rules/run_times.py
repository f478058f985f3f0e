"""How long that runs which only pretends to: what its annotations and its command line say of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

RUN_FOR: Final = "fleetqueue.dev/run-for"
"""Annotation: how long it runs, such as `90s`."""
FAILS: Final = "fleetqueue.dev/fails"
"""Annotation: "true" makes it fail instead of succeed."""
DEFAULT_SECONDS: Final = 2.0
"""How long it runs where nothing says so."""
UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_PART: Final = re.compile(r"([0-9]*\.?[0-9]+)(ms|s|m|h)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")
_SLEEP: Final = re.compile(r"\bsleep +([0-9.]+)([smh]?)")


def asked_seconds(annotations: Mapping[str, str], command: Sequence[str] = (), args: Sequence[str] = ()) -> float:
    """Return how long something runs: for as long as it says, or two seconds."""
    said = said_seconds(annotations, command, args)
    return DEFAULT_SECONDS if said is None else said


def said_seconds(annotations: Mapping[str, str], command: Sequence[str] = (), args: Sequence[str] = ()) -> float | None:
    """Return how long something says that it runs: by its annotation, its first argument (`30s`), or a `sleep 30`."""
    for text in (annotations.get(RUN_FOR, ""), *args[:1]):
        if (seconds := duration(text)) is not None:
            return seconds
    slept = _SLEEP.search(" ".join((*command, *args)))
    return float(slept[1]) * UNITS[slept[2] or "s"] if slept else None


def fails(annotations: Mapping[str, str]) -> bool:
    return annotations.get(FAILS) == "true"


def duration(text: str) -> float | None:
    """Read `1h30m`, `90s`, `500ms`; None where it is no duration."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))
