"""Sums of quantities, written as Kubernetes writes them: the largest suffix that leaves a whole number."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from fleetqueue.api.quantity import Quantity, parse

BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIX: Final = re.compile(r"[KMGTPE]i$")


def totals(resources: Iterable[Mapping[str, Quantity]]) -> dict[str, str]:
    """Add up the resources of nodes, each under its name."""
    found: dict[str, list[Quantity]] = {}
    for each in resources:
        for name, quantity in each.items():
            found.setdefault(name, []).append(quantity)
    return {name: total(quantities) for name, quantities in found.items()}


def total(quantities: Iterable[Quantity]) -> str:
    """Add up quantities; the sum is written in the way of the first that is not zero."""
    amounts = [(str(quantity), parse(quantity)) for quantity in quantities]
    way = next((text for text, amount in amounts if amount), "")
    whole = sum((amount for _, amount in amounts), Decimal(0))
    return _binary(whole) if _BINARY_SUFFIX.search(way) and whole == int(whole) else _decimal(whole)


def _binary(amount: Decimal) -> str:
    value, suffix = int(amount), 0
    while value and value % 1024 == 0 and suffix < len(BINARY) - 1:
        value, suffix = value // 1024, suffix + 1
    return f"{value}{BINARY[suffix]}"


def _decimal(amount: Decimal) -> str:
    value, suffix = int(amount * 10**9), 0
    while value and value % 1000 == 0 and suffix < len(DECIMAL) - 1:
        value, suffix = value // 1000, suffix + 1
    return f"{value}{DECIMAL[suffix]}" if value else "0"
