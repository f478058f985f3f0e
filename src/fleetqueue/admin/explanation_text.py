"""What `explain` tells as text: for people within the width of their terminal, for programs as JSON or YAML."""

import textwrap
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.step_commands import commands_of
from fleetqueue.admin.table_text import age, lines, written
from fleetqueue.api.conditions import FALSE
from fleetqueue.api.scheme import Manifest

WIDTH: Final = 100
"""Of sentences where nobody knows how wide the terminal is."""
CHAIN_COLUMNS: Final = ("state", "kind", "name", "says")
CLUSTER_COLUMNS: Final = ("cluster", "rule", "rank", "scores", "connected", "said")
"""As few as fit into 80 columns; programs get more."""
_KEPT: Final = "\0"
"""Stands for a space at which no line ends."""


def as_text(explanations: Sequence[Explanation], output: str, width: int = 0, *, endless: bool = False) -> str:
    """Write explanations; `width` is the terminal's, and 0 where the output goes somewhere else."""
    if output != "table":
        return written([one.row() for one in explanations], (), output, endless=endless)
    return "\n\n".join(_for_reading(one, width) for one in explanations)


def _for_reading(explanation: Explanation, width: int) -> str:
    cause = explanation.cause
    sentence = f"{cause.sentence[:1].upper()}{cause.sentence[1:].removesuffix('.')}."
    parts = [_wrapped(f"{explanation.about}: {cause.code}", width), _wrapped(sentence, width)]
    if cause.step:
        parts.append(_step(cause.step, width))
    if explanation.chain:
        parts += ["", *lines([link.row() for link in explanation.chain], CHAIN_COLUMNS, width=width)]
    if explanation.clusters:
        rows = [_for_people(row, explanation) for row in explanation.clusters]
        columns = [column for column in CLUSTER_COLUMNS if any(row[column] not in ("", None, []) for row in rows)]
        parts += ["", *lines(rows, (*columns, "why"), width=width)]
    return "\n".join(parts)


def _for_people(row: Manifest, explanation: Explanation) -> Manifest:
    """Write beside each fact how old it is."""
    now, connected = explanation.now, row["connected"]
    if connected and row["connected_since"]:
        connected = f"{connected}, for {age(row['connected_since'], now)}"
    said = [
        f"{row[who]}, {age(row[when], now)} ago" if row[when] else row[who]
        for who, when in (("worker", "worker_said_at"), ("dispatcher", "dispatcher_said_at"))
        if row[who]
    ]
    parts = ", ".join(_score_text(part, now) for part in row["score_parts"])
    total = "" if row["score"] is None else str(row["score"])
    scores = f"{total}: {parts}" if parts else total
    return {**row, "connected": connected, "said": "; ".join(said), "scores": scores}


def _score_text(part: Manifest, now: datetime) -> str:
    """Write one score, and for how long it counts, or since when nobody measures it."""
    value = "none" if part["value"] is None else str(part["value"])
    weight = f" x {part['weight']}" if part["weight"] != 1 else ""
    return f"{part['name']} {value}{weight}{_score_age(part, now)}"


def _score_age(part: Manifest, now: datetime) -> str:
    if part["fresh"] == FALSE:
        return f" (not measured for {age(part['fresh_since'], now)})"
    until = part["valid_until"]
    if until is None:
        return ""
    return f" (good for {age(now, until)})" if until > now else " (expired)"


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, min(width or WIDTH, WIDTH), break_long_words=False, break_on_hyphens=False)


def _step(step: str, width: int) -> str:
    """Write what to do; no line ends within a command, so that it can be copied."""
    for command in commands_of(step):
        step = step.replace(command, command.replace(" ", _KEPT))
    return _wrapped(f"To do: {step}", width).replace(_KEPT, " ")
