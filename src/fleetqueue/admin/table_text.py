"""Listings as text: columns for people, JSON or YAML for programs."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Row = Mapping[str, Any]
"""One line of a listing, from each column's name (`hub_accepted`) to its value."""

GAP = "   "


def written(rows: Sequence[Row], columns: Sequence[str], output: str, *, empty: str = "nothing found") -> str:
    """Write rows as `table`, `json` or `yaml`; programs get every field, people the named columns."""
    if output == "json":
        return json.dumps([dict(row) for row in rows], indent=2, default=plain)
    if output == "yaml":
        import yaml

        readable = json.loads(json.dumps([dict(row) for row in rows], default=plain))
        return str(yaml.safe_dump(readable, sort_keys=False)).rstrip("\n")
    return "\n".join(lines(rows, columns)) if rows else empty


def plain(value: Any) -> str:
    """Write what JSON has no form for; times as Kubernetes does."""
    from fleetqueue.api import conditions  # late: `--help` needs none of it

    return conditions.timestamp(value) if isinstance(value, datetime) else str(value)


def document(row: Row, output: str) -> str:
    """Write one row of a list without an end: a line of JSON, or a document of YAML."""
    whole = json.dumps(dict(row), default=plain)
    if output == "json":
        return whole
    import yaml

    return "---\n" + str(yaml.safe_dump(json.loads(whole), sort_keys=False)).rstrip("\n")


def lines(rows: Sequence[Row], columns: Sequence[str], at_least: Sequence[int] = ()) -> list[str]:
    """Lay rows out under headings, as kubectl does; columns may have to be as wide as those of an earlier table."""
    found = [max(pair) for pair in zip(widths(rows, columns), at_least or [0] * len(columns), strict=True)]
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(line, found, strict=True)).rstrip()
        for line in _cells(rows, columns)
    ]


def widths(rows: Sequence[Row], columns: Sequence[str]) -> list[int]:
    return [max(map(len, column)) for column in zip(*_cells(rows, columns), strict=True)]


def _cells(rows: Sequence[Row], columns: Sequence[str]) -> list[list[str]]:
    return [[heading(column) for column in columns], *([text(row.get(column)) for column in columns] for row in rows)]


def heading(column: str) -> str:
    return column.upper().replace("_", " ")


def text(value: Any) -> str:
    """Write one cell."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, list | tuple):
        return ",".join(text(part) for part in value) or "-"
    return str(value)


def age(since: datetime | None, now: datetime) -> str:
    """Write how long ago something was, as kubectl does: 45s, 9m13s, 22m, 5h2m, 3d."""
    return duration(None if since is None else max(int((now - since).total_seconds()), 0))


def duration(seconds: int | None) -> str:
    """Write a time in the same way."""
    if seconds is None:
        return ""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{days}d"
