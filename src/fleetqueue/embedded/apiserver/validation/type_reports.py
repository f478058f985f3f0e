"""Whether a value has the type that its schema wants, and what is wrong with a string, as the real server reports."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, too_long
from fleetqueue.embedded.apiserver.validation import number_reports
from fleetqueue.embedded.apiserver.validation.cel import re2
from fleetqueue.embedded.apiserver.validation.cel.text_formats import FORMATS

Openapi = Mapping[str, Any]

_NAMES: dict[type, str] = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def types_of(openapi: Openapi) -> tuple[str, ...]:
    """Return the types that a value may have; none where anything goes."""
    if openapi.get("x-kubernetes-int-or-string"):
        return "integer", "string"
    return (openapi["type"],) if openapi.get("type") else ()


def format_of(openapi: Openapi) -> str:
    """Return the format that the server checks; empty for one that it does not know for this type."""
    named = openapi.get("format") or ""
    kinds = types_of(openapi)
    kind = kinds[0] if len(kinds) == 1 else ""
    if kind in _NUMBER_FORMATS:
        return named if named in _NUMBER_FORMATS[kind] else ""
    return named if kind in ("", "string") and format_check(named) is not None else ""


def type_mismatch(value: Any, openapi: Openapi) -> tuple[str, str] | None:
    """Return the type that is wanted and the one that is there, if they do not fit."""
    wanted, named = types_of(openapi), format_of(openapi)
    if value is None:
        return (",".join(wanted), "null") if wanted and not openapi.get("nullable") else None
    actual = _NAMES[type(value)]
    fits = actual in wanted or (actual == "integer" and "number" in wanted)
    fits = fits or (actual == "number" and "integer" in wanted and number_reports.is_whole(value))
    found_format = {"integer": "int64", "number": "float64"}.get(actual, "")
    if named and actual not in ("string", "array") and not fits and found_format != named:
        return named, found_format
    if named and actual in ("string", "array") and not {"number", "integer"} & set(wanted):
        return None  # the real server leaves it to the format, which only looks at strings
    return None if fits else (",".join(wanted), actual)


def is_listed(value: Any, allowed: list[Any]) -> bool:
    """Whether a value is one of an enum; null never is, and truth values are no numbers."""
    if value is None:
        return False
    return any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in allowed)


def format_check(named: str) -> Callable[[str], bool] | None:
    """Return what checks a format; None for a format that the server ignores."""
    return FORMATS.get(named.replace("-", "")) if named else None


def string_fault(value: str, openapi: Mapping[str, Any], path: str, field: str) -> tuple[str, Cause] | None:
    """Return the first thing that is wrong with a string."""
    most, least, pattern = openapi.get("maxLength"), openapi.get("minLength"), openapi.get("pattern")
    if most is not None and len(value) > most:
        return f"{path} in body should be at most {most} chars long", too_long(field, most)
    if least is not None and len(value) < least:
        text = f"{path} in body should be at least {least} chars long"
        return text, invalid_value(field, value, text)
    if pattern and not re2.compiled(pattern).matches(value):
        text = f"{path} in body should match '{pattern}'"
        return text, invalid_value(field, value, text)
    return None
