"""The columns of a custom kind, and where its scale stands: what definitions of them are refused for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required

TYPES: Final = "boolean,date,integer,number,string"
FORMATS: Final = "byte,date,date-time,double,float,int32,int64,password"


def column_faults(columns: Sequence[Mapping[str, Any]], path: str) -> Iterator[Cause]:
    for index, column in enumerate(columns):
        where, kind, shape = f"{path}[{index}]", column.get("type") or "", column.get("format") or ""
        if not column.get("name"):
            yield required(f"{where}.name")
        if not kind:
            yield required(f"{where}.type", f"must be one of {TYPES}")
        elif kind not in TYPES.split(","):
            yield invalid_value(f"{where}.type", kind, f"must be one of {TYPES}")
        if shape and shape not in FORMATS.split(","):
            yield invalid_value(f"{where}.format", shape, f"must be one of {FORMATS}")
        if not column.get("jsonPath"):
            yield required(f"{where}.JSONPath")
        else:
            yield from _path_faults(f"{where}.JSONPath", column["jsonPath"])


def scale_faults(subresources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for name, under in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        where, value = f"{path}.scale.{name}", scale.get(name) or ""
        if not value:
            yield required(where)
        elif found := list(_path_faults(where, value)):
            yield from found
        elif not value.startswith(f"{under}."):
            yield invalid_value(where, value, f"should be a json path under {under}")
    where, value = f"{path}.scale.labelSelectorPath", scale.get("labelSelectorPath") or ""
    if value and (found := list(_path_faults(where, value))):
        yield from found
    elif value and not value.startswith((".spec.", ".status.")):
        yield invalid_value(where, value, "should be a json path under either .spec or .status")


def _path_faults(where: str, path: str) -> Iterator[Cause]:
    if not path.startswith("."):
        yield invalid_value(where, path, "must be a simple json path starting with .")
