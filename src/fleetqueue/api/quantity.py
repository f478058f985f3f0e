"""Quantities such as `500m`, `36Gi` or `1e3`: parsed exactly, compared and added as numbers."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_QUANTITY = re.compile(rf"(?P<number>{_NUMBER}(?:[eE][+-]?[0-9]+)?)|(?P<factor>{_NUMBER})(?P<suffix>[a-zA-Z]+)")
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}

Quantity = str | int | float
Amounts = dict[str, Decimal]
"""How much of each resource, by its name."""


def parse(text: Quantity) -> Decimal:
    """Return the amount; raises ValueError on anything that is no quantity."""
    match = _QUANTITY.fullmatch(str(text))
    if match and match["number"]:
        return Decimal(match["number"])
    if match and match["suffix"] in _SUFFIXES:
        return Decimal(match["factor"]) * _SUFFIXES[match["suffix"]]
    raise ValueError(f"not a quantity: {str(text)!r}")


def parse_all(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: parse(value) for name, value in quantities.items()}


def text(amount: Decimal) -> str:
    """Write an amount as people do: whole Mi, Gi or Ti as such, all else as a number."""
    for suffix in ("Ti", "Gi", "Mi"):
        if amount and amount % _SUFFIXES[suffix] == 0:
            return f"{amount / _SUFFIXES[suffix]:f}{suffix}"
    return f"{amount.normalize():f}"


def add(amounts: Iterable[Mapping[str, Decimal]]) -> Amounts:
    """Add up, resource by resource."""
    total: Amounts = {}
    for amount in amounts:
        for name, value in amount.items():
            total[name] = total.get(name, Decimal(0)) + value
    return total
