"""Objects as kubectl's tables.

The cells are those that an embedded server answers when it is asked for a table, made by the same printers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kinds import Kind
from fleetqueue.embedded.apiserver.http.printing import custom
from fleetqueue.embedded.apiserver.http.printing.clusters import PLAIN
from fleetqueue.embedded.apiserver.http.printing.columns import Printer
from fleetqueue.embedded.apiserver.http.tables import BUILT_IN

NARROWEST: Final = 6
GAP: Final = 3
"""Characters: how narrow a column may be, and what stands between two; both as kubectl has them."""
_BREAK: Final = re.compile(r"[\f\n\r]")


@dataclass(frozen=True, slots=True)
class Style:
    is_wide: bool = False
    has_headers: bool = True
    has_namespaces: bool = False
    has_kinds: bool = False


async def table(client: Client, kind: Kind, objects: Sequence[Manifest], style: Style) -> str:
    """Lay objects of one kind out under their headings; nothing where there are none."""
    if not objects:
        return ""
    printer, now = await _printer(client, kind.resource), clock.now()
    shown = [index for index, column in enumerate(printer.columns) if style.is_wide or not column.priority]
    has_namespaces = style.has_namespaces and kind.resource.namespaced
    rows = []
    if style.has_headers:
        rows.append([*(["NAMESPACE"] * has_namespaces), *(printer.columns[index].name.upper() for index in shown)])
    for obj in objects:
        name, *more = _cells(printer, obj, now, shown)
        named = f"{kind.name}/{name}" if style.has_kinds else name
        rows.append([*([obj["metadata"]["namespace"]] if has_namespaces else []), named, *more])
    return "".join(f"{line}\n" for line in _aligned(rows))


def _cells(printer: Printer, obj: Manifest, now: datetime, shown: Sequence[int]) -> list[str]:
    cells = printer.cells(obj, now)
    return [_cell(cells[index]) for index in shown]


async def _printer(client: Client, resource: Resource) -> Printer:
    """Return who fills the columns of a kind: of a custom one, its definition names them."""
    built_in = BUILT_IN.get((resource.group, resource.plural))
    if built_in is not None:
        return built_in
    try:
        raw = await client.get(CustomResourceDefinition.resource, f"{resource.plural}.{resource.group}")
    except errors.NotFound:
        return PLAIN
    versions = CustomResourceDefinition.view(raw).spec["versions"]
    served = next(one for one in versions if one["name"] == resource.version)
    return custom.printer(served.get("additionalPrinterColumns") or ())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    first, *more = _BREAK.split(text, maxsplit=1)
    return f"{first}..." if more else first


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Pad every cell but the last of a row, as Go's tabwriter does."""
    columns = list(zip(*rows, strict=True))
    widths = [max(NARROWEST, *(len(cell) + GAP for cell in column)) for column in columns]
    for row in rows:
        yield "".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)) + row[-1]
