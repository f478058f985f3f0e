"""Faults of numbers: range of the type, bounds, multiples."""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value
from fleetqueue.embedded.apiserver.kinds.go_text import number

Fault = tuple[str, Cause]
_MAX_SAFE = 2**53 - 1
_MAX_FLOAT32 = 3.4028234663852886e38


def is_whole(value: float) -> bool:
    """Whether a double stands for an integer that it can hold exactly."""
    return abs(value) <= _MAX_SAFE and abs(value - round(value)) < 1e-9 if value == value else False


def faults_of(value: float, openapi: Mapping[str, Any], path: str, field: str, nowhere: str) -> Iterator[Fault]:
    """Return what is wrong with a number, in the order of the real server: range, multiple, minimum, maximum."""
    kind, named = _kind_and_format(openapi)
    yield from _out_of_range("Checked", value, kind, named, path, nowhere)
    factor, low, high = openapi.get("multipleOf"), openapi.get("minimum"), openapi.get("maximum")
    if factor is not None:
        unfit = list(_out_of_range("MultipleOf", factor, kind, named, path, nowhere))
        yield from unfit
        yield from _not_multiple(_native(value, bool(unfit)), factor, path, field)
    if low is not None:
        unfit = list(_out_of_range("Minimum boundary", low, kind, named, path, nowhere))
        yield from unfit
        yield from _below(_native(value, bool(unfit)), low, bool(openapi.get("exclusiveMinimum")), path, field)
    if high is not None:
        unfit = list(_out_of_range("Maximum boundary", high, kind, named, path, nowhere))
        yield from unfit
        yield from _above(_native(value, bool(unfit)), high, bool(openapi.get("exclusiveMaximum")), path, field)


def _kind_and_format(openapi: Mapping[str, Any]) -> tuple[str, str]:
    kind = "" if openapi.get("x-kubernetes-int-or-string") else openapi.get("type") or ""
    named = openapi.get("format") or ""
    if kind == "integer":
        return kind, named if named in ("int32", "int64") else ""
    return ("number", named if named in ("float", "double") else "") if kind == "number" else ("", "")


def _native(value: float, as_double: bool) -> float:
    return float(value) if as_double else value


def _out_of_range(prefix: str, value: float, kind: str, named: str, path: str, nowhere: str) -> Iterator[Fault]:
    if kind == "integer":
        limit = 2**31 if named == "int32" else 2**63
        is_fit = (isinstance(value, int) or value.is_integer()) and -limit <= value < limit
    else:
        is_fit = named != "float" or abs(value) <= _MAX_FLOAT32
    if not is_fit:
        wanted_format = f"with format {named}" if named else "(default format)"
        text = f"{prefix} value must be of type {kind} {wanted_format} in {path}"
        yield text, invalid_value(nowhere, "", text)


def _not_multiple(value: float, factor: float, path: str, field: str) -> Iterator[Fault]:
    factor = int(factor) if isinstance(value, int) else float(factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        yield text, invalid_value(field, factor, text)
        return
    if isinstance(value, int):
        is_multiple = value % factor == 0
    else:
        is_multiple = is_whole(1 / factor * value if factor < 1 else value / factor)
    if not is_multiple:
        text = f"{path} in body should be a multiple of {number(factor)}"
        yield text, invalid_value(field, value, text)


def _int64(bound: float) -> int:
    """Cut a bound to 64 bits as the real server does; what does not fit becomes the lowest number."""
    whole = int(bound)
    return whole if -(2**63) <= whole < 2**63 else -(2**63)


def _below(value: float, low: float, exclusive: bool, path: str, field: str) -> Iterator[Fault]:
    bound = _int64(low) if isinstance(value, int) else float(low)
    if value < bound or (exclusive and value == bound):
        relation = "greater than" if exclusive else "greater than or equal to"
        text = f"{path} in body should be {relation} {number(bound)}"
        yield text, invalid_value(field, value, text)


def _above(value: float, high: float, exclusive: bool, path: str, field: str) -> Iterator[Fault]:
    bound = _int64(high) if isinstance(value, int) else float(high)
    if value > bound or (exclusive and value == bound):
        relation = "less than" if exclusive else "less than or equal to"
        text = f"{path} in body should be {relation} {number(bound)}"
        yield text, invalid_value(field, value, text)
