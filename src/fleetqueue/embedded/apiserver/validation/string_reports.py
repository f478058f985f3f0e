"""Faults of strings: length, pattern, format."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, too_long
from fleetqueue.embedded.apiserver.validation.cel import re2
from fleetqueue.embedded.apiserver.validation.cel.text_formats import FORMATS


def check_of(named: str) -> Callable[[str], bool] | None:
    """Return what checks a format; None for a format that the server ignores."""
    return FORMATS.get(named.replace("-", "")) if named else None


def fault(value: str, openapi: Mapping[str, Any], path: str, field: str) -> tuple[str, Cause] | None:
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
