"""Decide quickly whether a value fits its schema: yes means yes, no means that the slow report has to look.

Each node of a schema becomes a function when a value first reaches it: of the thousands of nodes of a pod template
only those in use are ever built. It gets the value, and one that fits and of which the value may have kept parts, or
None: parts that are the very same are not looked at.
"""

from collections.abc import Callable, Mapping
from itertools import chain, repeat
from typing import Any, Final

from msgspec import UNSET

from fleetqueue.embedded.apiserver.validation import type_reports
from fleetqueue.embedded.apiserver.validation.cel import re2
from fleetqueue.embedded.apiserver.validation.reports import Reporter
from fleetqueue.embedded.apiserver.validation.type_reports import format_of

Openapi = Mapping[str, Any]
Check = Callable[[Any, Any], bool]
Limits = Callable[[Any], bool]
"""Whether a value is neither too small nor too large."""

_NO_FIELDS: Final[Mapping[str, Any]] = {}
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "": (-(2**63), 2**63 - 1)}


def compiled(openapi: Openapi) -> Check:
    """Return the check of a node."""
    own = _own(openapi)
    combined = _combinations(openapi)
    listed = _listed(openapi)
    nullable = bool(openapi.get("nullable")) and not openapi.get("enum")
    parts = [part for part in (own, combined, listed) if part is not None]
    if len(parts) == 1 and not nullable:
        return parts[0]

    def check(value: Any, before: Any) -> bool:
        if value is None:
            return nullable
        return all(part(value, before) for part in parts)

    return check


def _own(openapi: Openapi) -> Check | None:
    if openapi.get("x-kubernetes-int-or-string"):
        return _int_or_string(openapi)
    match openapi.get("type"):
        case "object":
            return _object(openapi)
        case "array":
            return _array(openapi)
        case "string":
            return _string(openapi)
        case "integer":
            return _integer(openapi)
        case "number":
            return _number(openapi)
        case "boolean":
            return lambda value, before: value is True or value is False
    return _nested(openapi)


def _nested(openapi: Openapi) -> Check | None:
    """A part of anyOf and its like has no type of its own; let the report decide what its words mean for a value."""
    words = openapi.keys() - {"anyOf", "oneOf", "allOf", "not", "enum", "nullable", "description", "default"}
    if not words - {"x-kubernetes-preserve-unknown-fields"}:
        return None
    return lambda value, before: Reporter().report(value, {**openapi, "enum": None}, "").is_valid


def _object(openapi: Openapi) -> Check:
    properties = openapi.get("properties") or {}
    required = tuple(openapi.get("required") or ())
    children = _Lazy(properties)
    additional = openapi.get("additionalProperties")
    sized = _sized(openapi, "minProperties", "maxProperties")
    if additional is not None and additional is not True:
        return _map(additional, children, required, sized)

    def check(value: Any, before: Any) -> bool:
        if type(value) is not dict or (sized and not sized(value)):
            return False
        for name in required:
            if name not in value:
                return False
        before = before if type(before) is dict else _NO_FIELDS
        for name, item in value.items():
            if name in properties and not (item is (old := before.get(name, UNSET)) or children[name](item, old)):
                return False
        return True

    return check


def _map(additional: Any, children: "_Lazy", required: tuple[str, ...], sized: Limits | None) -> Check:
    value_check = _Lazy({"": additional}) if additional is not False else None

    def check(value: Any, before: Any) -> bool:
        if type(value) is not dict or (sized and not sized(value)) or any(name not in value for name in required):
            return False
        before = before if type(before) is dict else _NO_FIELDS
        for name, item in value.items():
            old = before.get(name, UNSET)
            if item is old:
                continue
            if name in children.nodes:
                if not children[name](item, old):
                    return False
            elif value_check is None or not value_check[""](item, old):
                return False
        return True

    return check


class _Lazy(dict[str, Check]):
    """Checks by field name, each built when it is first needed."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: Mapping[str, Openapi]) -> None:
        super().__init__()
        self.nodes = nodes

    def __missing__(self, name: str) -> Check:
        check = self[name] = compiled(self.nodes[name])
        return check


def _sized(openapi: Openapi, least_word: str, most_word: str) -> Limits | None:
    least, most = openapi.get(least_word), openapi.get(most_word)
    if least is None and most is None:
        return None
    low, high = least or 0, most if most is not None else 2**62
    return lambda value: low <= len(value) <= high


def _array(openapi: Openapi) -> Check:
    items = openapi.get("items")
    item_check = _Lazy({"": items}) if isinstance(items, dict) else None
    sized = _sized(openapi, "minItems", "maxItems")
    if openapi.get("uniqueItems"):
        return lambda value, before: False

    def check(value: Any, before: Any) -> bool:
        if type(value) is not list or (sized and not sized(value)):
            return False
        if item_check is None or not value:
            return True
        before = before if type(before) is list else ()
        fits = item_check[""]
        return all(
            item is old or fits(item, old) for item, old in zip(value, chain(before, repeat(UNSET)), strict=False)
        )

    return check


def _string(openapi: Openapi) -> Check:
    sized = _sized(openapi, "minLength", "maxLength")
    pattern = re2.compiled(openapi["pattern"]).matches if openapi.get("pattern") else None
    formatted = type_reports.format_check(format_of(openapi))
    extra = [check for check in (sized, pattern, formatted) if check is not None]
    if not extra:
        return lambda value, before: type(value) is str
    if len(extra) == 1:
        only = extra[0]
        return lambda value, before: type(value) is str and only(value)
    return lambda value, before: type(value) is str and all(check(value) for check in extra)


def _bounded(openapi: Openapi, low: float, high: float) -> Limits:
    least, most = openapi.get("minimum"), openapi.get("maximum")
    if any(bound is not None and not float(bound).is_integer() for bound in (least, most)):
        return lambda value: False  # such a bound is itself a fault for integers
    low = low if least is None else max(low, least + bool(openapi.get("exclusiveMinimum")))
    high = high if most is None else min(high, most - bool(openapi.get("exclusiveMaximum")))
    factor = openapi.get("multipleOf")
    if factor is None:
        return lambda value: low <= value <= high
    return lambda value: low <= value <= high and isinstance(factor, int) and factor > 0 and value % factor == 0


def _integer(openapi: Openapi) -> Check:
    bounded = _bounded(openapi, *_RANGES[format_of(openapi)])
    return lambda value, before: type(value) is int and bounded(value)


def _number(openapi: Openapi) -> Check:
    if openapi.keys() & {"minimum", "maximum", "multipleOf"} or format_of(openapi) == "float":
        return lambda value, before: False
    return lambda value, before: type(value) is int or type(value) is float


def _int_or_string(openapi: Openapi) -> Check:
    string = _string(openapi)
    bounded = _bounded(openapi, *_RANGES["int64"]) if openapi.keys() & {"minimum", "maximum", "multipleOf"} else None

    def check(value: Any, before: Any) -> bool:
        if type(value) is int:
            return bounded is None or bounded(value)
        return string(value, before)

    return check


def _listed(openapi: Openapi) -> Check | None:
    allowed = openapi.get("enum")
    if not allowed:
        return None
    if all(isinstance(one, str) for one in allowed):
        known = frozenset(allowed)
        return lambda value, before: type(value) is str and value in known
    return lambda value, before: any(type(one) is type(value) and one == value for one in allowed)


def _combinations(openapi: Openapi) -> Check | None:
    if openapi.get("oneOf") or openapi.get("not") is not None:
        kept = {word: openapi[word] for word in ("anyOf", "oneOf", "allOf", "not") if word in openapi}
        return lambda value, before: Reporter().report(value, kept, "").is_valid
    parts: list[Check] = []
    if openapi.get("anyOf") and not _is_int_or_string(openapi):
        choices = [compiled(choice) for choice in openapi["anyOf"]]
        parts.append(lambda value, before: any(choice(value, None) for choice in choices))
    parts.extend(compiled(choice) for choice in openapi.get("allOf") or ())
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else lambda value, before: all(part(value, before) for part in parts)


def _is_int_or_string(openapi: Openapi) -> bool:
    """Whether anyOf only repeats what x-kubernetes-int-or-string says."""
    return bool(openapi.get("x-kubernetes-int-or-string")) and openapi["anyOf"] == [
        {"type": "integer"},
        {"type": "string"},
    ]
