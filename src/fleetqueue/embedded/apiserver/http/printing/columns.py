"""The columns of a table, and how a kind fills them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from fleetqueue.api.scheme import Manifest


class Column(NamedTuple):
    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    """Above 0 it is shown in wide output only."""
    description: str = ""

    @property
    def definition(self) -> Manifest:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


NAMES: Final = ("Name", "Attacher")
"""The columns that hold the name of something, and say so."""
Cells = Callable[[Manifest, datetime], list[Any]]
"""From an object and the time of day to its row."""


class Printer(NamedTuple):
    columns: Sequence[Column]
    cells: Cells
    conditions: Callable[[Manifest], list[Manifest]] | None = None
    """What kubectl should know of a row: that it is over, for example."""


def columns(text: str) -> tuple[Column, ...]:
    """Read columns from their short form: `Name|Desired:integer|IP*`, where a star marks what only wide output has."""
    return tuple(_column(part) for part in text.split("|"))


def _column(part: str) -> Column:
    is_wide = part.endswith("*")
    name, _, kind = part.removesuffix("*").partition(":")
    return Column(name, kind or "string", "name" if name in NAMES else "", 1 if is_wide else 0)
