"""Quantities such as `500m` and versions such as `1.2.3` in expressions."""

import re
from decimal import Decimal
from functools import total_ordering
from typing import Any

from fleetqueue.apiserver.validation.cel.errors import CelError
from fleetqueue.apiserver.validation.cel.functions import Library
from fleetqueue.apiserver.validation.cel.types import BOOL, DOUBLE, INT, STRING, opaque

library = Library()
QUANTITY = opaque("kubernetes.Quantity")
SEMVER = opaque("kubernetes.Semver")
_SUFFIXES = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal(10**3),
    "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12), "P": Decimal(10**15), "E": Decimal(10**18),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?")
_BAD_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Quantity:
    type_name = "kubernetes.Quantity"

    def __init__(self, amount: Decimal) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    @property
    def is_integer(self) -> bool:
        return self.amount == self.amount.to_integral_value() and abs(self.amount) < 2**63


@library.function("quantity", STRING, result=QUANTITY)
def quantity(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise CelError(_BAD_QUANTITY)
    return Quantity(Decimal(match[1]) * (Decimal(10) ** int(match[3]) if match[3] else _SUFFIXES[match[2] or ""]))


def _compared(one: Quantity, other: Quantity) -> int:
    return (one.amount > other.amount) - (one.amount < other.amount)


def _as_int(value: Quantity) -> int:
    if not value.is_integer:
        raise CelError("cannot convert value to integer")
    return int(value.amount)


library.function("isQuantity", STRING, result=BOOL)(lambda text: _QUANTITY.fullmatch(text) is not None)
library.function("sign", QUANTITY, result=INT)(lambda value: _compared(value, Quantity(Decimal(0))))
library.method("isGreaterThan", QUANTITY, QUANTITY, result=BOOL)(lambda one, other: one.amount > other.amount)
library.method("isLessThan", QUANTITY, QUANTITY, result=BOOL)(lambda one, other: one.amount < other.amount)
library.method("compareTo", QUANTITY, QUANTITY, result=INT)(_compared)
library.method("asApproximateFloat", QUANTITY, result=DOUBLE)(lambda value: float(value.amount))
library.method("asInteger", QUANTITY, result=INT)(_as_int)
library.method("isInteger", QUANTITY, result=BOOL)(lambda value: value.is_integer)
library.method("add", QUANTITY, QUANTITY, result=QUANTITY)(lambda one, other: Quantity(one.amount + other.amount))
library.method("add", QUANTITY, INT, result=QUANTITY)(lambda one, other: Quantity(one.amount + other))
library.method("sub", QUANTITY, QUANTITY, result=QUANTITY)(lambda one, other: Quantity(one.amount - other.amount))
library.method("sub", QUANTITY, INT, result=QUANTITY)(lambda one, other: Quantity(one.amount - other))


_NUMBER = r"(0|[1-9][0-9]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


@total_ordering
class Semver:
    type_name = "kubernetes.Semver"

    def __init__(self, match: "re.Match[str]") -> None:
        self.numbers = tuple(int(part) for part in match.groups()[:3])
        self.pre = [
            (0, int(part), "") if part.isdigit() else (1, 0, part) for part in (match[4] or "").split(".") if part
        ]

    @property
    def key(self) -> tuple[Any, ...]:
        return self.numbers, not self.pre, self.pre  # a version without a pre-release part comes after those with one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: "Semver") -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.numbers)


@library.function("semver", STRING, result=SEMVER)
@library.function("semver", STRING, BOOL, result=SEMVER)
def semver(text: str, normalize: bool = False) -> Semver:
    match = _SEMVER.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        raise CelError(
            "No Major.Minor.Patch elements found"
            if text.count(".") < 2
            else f'Invalid character(s) found in version "{text}"'
        )
    return Semver(match)


def _normalized(text: str) -> str:
    """Drop a leading v, leading zeros, and fill up missing numbers."""
    text = text.removeprefix("v")
    end = next((at for at, char in enumerate(text) if char in "-+"), len(text))
    parts = [part.lstrip("0") or "0" for part in text[:end].split(".")]
    return ".".join([*parts, "0", "0"][: max(3, len(parts))]) + text[end:]


@library.function("isSemver", STRING, result=BOOL)
@library.function("isSemver", STRING, BOOL, result=BOOL)
def is_semver(text: str, normalize: bool = False) -> bool:
    return _SEMVER.fullmatch(_normalized(text) if normalize else text) is not None


library.method("isGreaterThan", SEMVER, SEMVER, result=BOOL)(lambda one, other: one > other)
library.method("isLessThan", SEMVER, SEMVER, result=BOOL)(lambda one, other: one < other)
library.method("compareTo", SEMVER, SEMVER, result=INT)(lambda one, other: (one > other) - (one < other))
library.method("major", SEMVER, result=INT)(lambda version: version.numbers[0])
library.method("minor", SEMVER, result=INT)(lambda version: version.numbers[1])
library.method("patch", SEMVER, result=INT)(lambda version: version.numbers[2])
