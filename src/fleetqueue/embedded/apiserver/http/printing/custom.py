"""The columns of custom kinds, which their definitions name: a title, a type, and the path of the value."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from fleetqueue.api import json_paths
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age
from fleetqueue.embedded.apiserver.http.printing.columns import Column, Printer
from fleetqueue.embedded.apiserver.http.printing.wording import name_of

AGE: Final[Sequence[Mapping[str, Any]]] = ({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},)
"""What a kind shows that names no columns."""
DESCRIBED: Final = "Custom resource definition column (in JSONPath format)"


def printer(given: Sequence[Mapping[str, Any]]) -> Printer:
    wanted = given or AGE
    shown = [(str(one.get("jsonPath", "")), str(one.get("type", "string"))) for one in wanted]

    def cells(obj: Manifest, now: datetime) -> list[Any]:
        return [name_of(obj), *(_cell(path, kind, obj, now) for path, kind in shown)]

    columns = [_column(one) for one in given] if given else [Column("Age", "date")]
    return Printer([Column("Name", format="name"), *columns], cells)


def _column(given: Mapping[str, Any]) -> Column:
    return Column(
        str(given.get("name", "")),
        str(given.get("type", "string")),
        str(given.get("format", "")),
        int(given.get("priority", 0)),
        str(given.get("description") or f"{DESCRIBED}: {given.get('jsonPath', '')}"),
    )


def _cell(path: str, kind: str, obj: Manifest, now: datetime) -> Any:
    try:
        value = json_paths.first(path, obj)
    except json_paths.BadPath:
        return None
    if value is None:
        return None
    if kind == "date":
        return age(value, now) if isinstance(value, str) else None
    convert = _CELLS.get(kind)
    return None if convert is None else convert(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _integer(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_CELLS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}
