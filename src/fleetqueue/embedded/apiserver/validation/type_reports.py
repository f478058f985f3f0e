"""Does a value have the type that its schema wants? With the corners of the real server."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.embedded.apiserver.validation import number_reports, string_reports

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
    return named if kind in ("", "string") and string_reports.check_of(named) is not None else ""


def type_mismatch(value: Any, openapi: Openapi) -> tuple[str, str] | None:
    """Return the type that is wanted and the one that is there, if they do not fit."""
    wanted, named = types_of(openapi), format_of(openapi)
    if value is None:
        return (",".join(wanted), "null") if wanted and not openapi.get("nullable") else None
    found = _NAMES[type(value)]
    fits = found in wanted or (found == "integer" and "number" in wanted)
    fits = fits or (found == "number" and "integer" in wanted and number_reports.is_whole(value))
    found_format = {"integer": "int64", "number": "float64"}.get(found, "")
    if named and found not in ("string", "array") and not fits and found_format != named:
        return named, found_format
    if named and found in ("string", "array") and not {"number", "integer"} & set(wanted):
        return None  # the real server leaves it to the format, which only looks at strings
    return None if fits else (",".join(wanted), found)


def is_listed(value: Any, allowed: list[Any]) -> bool:
    """Whether a value is one of an enum; null never is, and truth values are no numbers."""
    if value is None:
        return False
    return any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in allowed)
