"""Amounts of a resource as whole numbers, and as the quantities that people read.

cpu is counted in thousandths, everything else in units; what is less than one is one.

Mirrors: Kueue pkg/resources
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.quantity import Amounts, Quantity

CPU: Final = "cpu"
PODS: Final = "pods"
LARGEST: Final = 2**63 - 1
"""What a 64 bit number holds; more counts as so much."""
_BINARY: Final = ("memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
_DECIMAL_SUFFIXES: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

Requests = dict[str, int]
"""How much of each resource, by its name."""


def amount(resource: str, value: Quantity | Decimal) -> int:
    """Return a quantity as a whole number."""
    exact = value if isinstance(value, Decimal) else quantity.parse(value)
    return min(math.ceil(exact * 1000 if resource == CPU else exact), LARGEST)


def requests(amounts: Amounts, *, times: int = 1) -> Requests:
    """Return what each pod asks for, so many times; less than nothing counts as nothing."""
    return {name: min(max(amount(name, value), 0) * times, LARGEST) for name, value in amounts.items()}


def written(resource: str, value: int) -> str:
    """Return an amount as the quantity that Kueue writes for this resource."""
    if resource == CPU:
        return _decimal(value, -3)
    if resource in _BINARY or resource.startswith(_HUGE_PAGES):
        return _binary(value)
    return _decimal(value, 0)


def written_exactly(value: Decimal) -> str:
    """Return an amount in units, of which nothing is less than a billionth, as a quantity."""
    return _decimal(int(value * 10**9), -9)


def as_float(resource: str, value: float) -> float:
    """Return an amount, which may have no end, as the number that metrics tell: of cpu in whole cores."""
    return value / 1000 if resource == CPU else float(value)


def all_written(quantities: Mapping[str, int]) -> dict[str, str]:
    return {name: written(name, value) for name, value in sorted(quantities.items())}


def _decimal(value: int, exponent: int) -> str:
    if value == 0:
        return "0"
    while value % 1000 == 0 and exponent < 18:
        value //= 1000
        exponent += 3
    return f"{value}{_DECIMAL_SUFFIXES[exponent]}"


def _binary(value: int) -> str:
    if abs(value) < 1024 or value % 1024:
        return _decimal(value, 0)
    power = 0
    while value % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIXES[power]}"
