"""Faults of custom objects, with every value written exactly as the real server writes it."""

from typing import Any

from fleetqueue.apiserver.kinds.causes import Cause
from fleetqueue.apiserver.kinds.go_text import json_text
from fleetqueue.apiserver.validation.cel import numbers
from fleetqueue.apiserver.validation.cel.string_format import ESCAPES

NOWHERE = "<nil>"
"""The field of a fault that belongs to the whole object."""


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def invalid_omitted(field: str, detail: str) -> Cause:
    """A fault of an object or list, which would be too long to show."""
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", field)


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}", field)


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", "Required value" + (f": {detail}" if detail else ""), field)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", "Forbidden" + (f": {detail}" if detail else ""), field)


def not_supported(field: str, value: Any, supported: list[Any]) -> Cause:
    values = ", ".join(quoted(one if isinstance(one, str) else json_text(one)) for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {values}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} byte{'s' if limit != 1 else ''}", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    detail = f"must have at most {limit} item{'s' if limit != 1 else ''}"
    return Cause("FieldValueTooMany", f"Too many: {actual}: {detail}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def internal(field: str, detail: str) -> Cause:
    return Cause("InternalError", f"Internal error: {detail}", field)


def shown(value: Any) -> str:
    """Write a bad value: numbers plainly, strings in quotes, all else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    return numbers.shown(value) if isinstance(value, float) else json_text(value)


def quoted(text: str) -> str:
    """Return what Go's `%q` prints."""
    return '"' + "".join(ESCAPES.get(char) or _visible(char) for char in text) + '"'


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def text(value: Any) -> str:
    """Return what Go's `%v` prints of a number."""
    return numbers.shown(value) if isinstance(value, float) else str(value)
