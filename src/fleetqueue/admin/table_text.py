"""Listings as text: columns for people, JSON or YAML for programs."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

Row = Mapping[str, Any]
"""One line of a listing, from each column's name (`hub_accepted`) to its value."""

TABLE = "table"
GAP = "   "
NARROW_GAP = "  "
"""Between the columns of a table that would be too wide otherwise."""
NARROWEST = 10
"""No column is made narrower than this to let a table fit."""


def written(
    rows: Sequence[Row], columns: Sequence[str], output: str, *, empty: str = "nothing found", endless: bool = False
) -> str:
    """Write rows as `table`, `json` or `yaml`; programs get every field, people the named columns.

    Where more comes later without an end, programs get each row for itself.
    """
    if endless and output != "table":
        return "\n".join(document(row, output) for row in rows)
    if output == "json":
        return json.dumps([dict(row) for row in rows], indent=2, default=plain)
    if output == "yaml":
        import yaml

        readable = json.loads(json.dumps([dict(row) for row in rows], default=plain))
        return str(yaml.safe_dump(readable, sort_keys=False)).rstrip("\n")
    return "\n".join(lines(rows, columns)) if rows else empty


def told(rows: Sequence[Row], output: str, sentences: str) -> str:
    """Write what was done: people read sentences, programs every field."""
    return sentences if output == TABLE else written(rows, (), output)


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


def lines(rows: Sequence[Row], columns: Sequence[str], at_least: Sequence[int] = (), *, width: int = 0) -> list[str]:
    """Lay rows out under headings, as kubectl does; columns may have to be as wide as those of an earlier table.

    A table wider than `width` gets narrower columns, whose texts go on below; 0 lets it be as wide as it is.
    """
    cells = _cells(rows, columns)
    found = [max(pair) for pair in zip(_widths(cells), at_least or [0] * len(columns), strict=True)]
    fitted, gap = _fitted(found, cells, width)
    return [line for row in cells for line in _laid_out(row, fitted, gap)]


def _fitted(found: list[int], cells: Sequence[Sequence[str]], width: int) -> tuple[list[int], str]:
    """Return how wide columns are and what is between them: words stay whole if that suffices to let a table fit."""
    gaps = len(found) - 1
    if not width or sum(found) + len(GAP) * gaps <= width:
        return found, GAP
    words = [max(map(_longest_word, column)) for column in zip(*cells, strict=True)]
    for least in ([max(word, NARROWEST) for word in words], [NARROWEST] * len(found)):
        narrowed = _narrowed(found, least, width - len(NARROW_GAP) * gaps)
        if narrowed is not None:
            return narrowed, NARROW_GAP
    return found, GAP


def _narrowed(found: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """Take from the widest columns until all fit; None where none may be narrower before that."""
    narrowed = list(found)
    while sum(narrowed) > room:
        spare = [number for number, width in enumerate(narrowed) if width > least[number]]
        if not spare:
            return None
        narrowed[max(reversed(spare), key=narrowed.__getitem__)] -= 1  # of equal ones the last: texts stand there
    return narrowed


def _laid_out(cells: Sequence[str], found: Sequence[int], gap: str) -> list[str]:
    folded = [_folded(cell, width) for cell, width in zip(cells, found, strict=True)]
    return [
        gap.join(part.ljust(width) for part, width in zip(parts, found, strict=True)).rstrip()
        for parts in zip_longest(*folded, fillvalue="")
    ]


def _folded(cell: str, width: int) -> list[str]:
    """Break a text between its words, and a name only where it is wider than its column."""
    return textwrap.wrap(cell, width, break_on_hyphens=_longest_word(cell) > width)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def widths(rows: Sequence[Row], columns: Sequence[str]) -> list[int]:
    return _widths(_cells(rows, columns))


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*cells, strict=True)]


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
