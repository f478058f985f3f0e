"""Rules that many kinds share: numbers, ports, names, label selectors, references to others."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from fleetqueue.api import quantity
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.go_text import json_text
from fleetqueue.embedded.apiserver.kinds.names import NameRule, label_value, percent, port_name, qualified_name

Faults = Iterator[Cause]

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
LARGEST_PORT: Final = 65535
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PERCENT: Final = re.compile(r"[0-9]+%")


def not_found(field: str, value: Any) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {json_text(value)}", field)


@lru_cache(maxsize=4096)
def amount(text: str) -> Decimal:
    return quantity.parse(text)


def non_negative(obj: Manifest, field: str, *names: str) -> Faults:
    """Demand of these numbers, where they are there, that they are not below zero."""
    for name in names:
        value = obj.get(name)
        if value is not None and value < 0:
            yield invalid_value(f"{field}.{name}", value, NEGATIVE)


def port_number(value: Any, field: str) -> Faults:
    if not 1 <= value <= LARGEST_PORT:
        yield invalid_value(field, value, PORT_RANGE)


def port_number_or_name(value: Any, field: str) -> Faults:
    if isinstance(value, int):
        yield from port_number(value, field)
    else:
        yield from (invalid_value(field, value, why) for why in port_name(value))


def named(obj: Manifest, name: str, field: str, rule: NameRule) -> Faults:
    """Apply the rule for names to a field, where it is there."""
    value = obj.get(name)
    if value:
        yield from (invalid_value(f"{field}.{name}", value, why) for why in rule(value))


def one_of(obj: Manifest, name: str, field: str, supported: Sequence[str]) -> Faults:
    """Demand of a field, where it is there, that it has one of some values."""
    value = obj.get(name)
    if value is not None and value not in supported:
        yield not_supported(f"{field}.{name}", value, supported)


def demanded(obj: Manifest, name: str, field: str, supported: Sequence[str]) -> Faults:
    """Demand of a field that it is there, with one of some values."""
    if not obj.get(name):
        yield required(f"{field}.{name}")
    else:
        yield from one_of(obj, name, field, supported)


def unchanged(new: Manifest, old: Manifest, field: str, *names: str) -> Faults:
    for name in names:
        if new.get(name) != old.get(name):
            yield invalid_value(f"{field}.{name}" if field else name, new.get(name), IMMUTABLE)


def label_faults(labels: Mapping[str, str], field: str) -> Faults:
    for key, value in labels.items():
        yield from (invalid_value(field, key, why) for why in qualified_name(key))
        yield from (invalid_value(field, value, why) for why in label_value(value))


def annotation_faults(annotations: Mapping[str, str], field: str) -> Faults:
    for key in annotations:
        yield from (invalid_value(field, key, why) for why in qualified_name(key.lower()))


def selector_faults(selector: Manifest, field: str) -> Faults:
    """Return what is wrong with a label selector."""
    yield from label_faults(selector.get("matchLabels") or {}, f"{field}.matchLabels")
    for position, term in enumerate(selector.get("matchExpressions") or ()):
        yield from expression_faults(term, f"{field}.matchExpressions[{position}]")


def expression_faults(term: Manifest, field: str, *, compares: bool = False) -> Faults:
    """Return what is wrong with one term of a selector; those of nodes may also compare numbers."""
    operator, values = term.get("operator"), term.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif compares and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid_value(f"{field}.operator", operator or "", "not a valid selector operator")
    yield from (invalid_value(f"{field}.key", term.get("key", ""), why) for why in qualified_name(term.get("key", "")))
    for position, value in enumerate(values):
        yield from (invalid_value(f"{field}.values[{position}]", value, why) for why in label_value(value))


def selects(selector: Manifest | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a selector is right and selects these labels; none selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    terms = selector.get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _holds(term, labels) for term in terms
    )


def _holds(term: Manifest, labels: Mapping[str, str]) -> bool:
    key, values = term.get("key", ""), term.get("values") or ()
    operator = term.get("operator")
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return (key in labels) is (operator == "Exists")


def is_empty_selector(selector: Manifest) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def count_or_percent(value: Any, field: str) -> Faults:
    """Demand a number that is not below zero, or a percentage."""
    if isinstance(value, int):
        if value < 0:
            yield invalid_value(field, value, NEGATIVE)
    else:
        yield from (invalid_value(field, value, why) for why in percent(value))


def at_most_all(value: Any, field: str) -> Faults:
    """Refuse a percentage above a hundred."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield invalid_value(field, value, "must not be greater than 100%")


def is_zero(value: Any) -> bool:
    """Tell whether a number or percentage is none; to Go, also a text that is neither."""
    if not isinstance(value, str):
        return not value
    digits = value.removesuffix("%")
    return not digits.isdecimal() or int(digits) == 0


def address(value: str, field: str) -> Faults:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid_value(field, value, detail)


def all_of(*fault_lists: Iterable[Cause]) -> list[Cause]:
    return [cause for faults in fault_lists for cause in faults]


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None
