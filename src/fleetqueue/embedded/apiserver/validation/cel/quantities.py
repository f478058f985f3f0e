"""Quantities such as `500m` in expressions."""

import math

from fleetqueue.api import canonical_quantities
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, DOUBLE, INT, STRING, opaque

library = Library()
QUANTITY = opaque("kubernetes.Quantity")


class Quantity:
    """`value` times ten to the power of `scale`."""

    type_name = "kubernetes.Quantity"

    def __init__(self, value: int, scale: int = 0, *, is_small: bool = True) -> None:
        self.value = value
        self.scale = scale
        self.is_small = is_small and -(2**63) <= value < 2**63
        """Whether the real server holds it in 64 bits, as the numbers that it came with."""

    def at(self, scale: int) -> int:
        """Return the value on a finer scale."""
        return self.value * int(10 ** (self.scale - scale))

    def plus(self, other: "Quantity", sign: int = 1) -> "Quantity":
        if not other.value:
            return self
        if not self.value:
            return Quantity(sign * other.value, other.scale, is_small=self.is_small and other.is_small)
        scale = min(self.scale, other.scale)
        total = self.at(scale) + sign * other.at(scale)
        return Quantity(total, scale, is_small=self.is_small and other.is_small)

    def compared(self, other: "Quantity") -> int:
        scale = min(self.scale, other.scale)
        one, two = self.at(scale), other.at(scale)
        return (one > two) - (one < two)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and not self.compared(other)

    def __hash__(self) -> int:
        return hash(self.at(-9))

    @property
    def is_integer(self) -> bool:
        return self.is_small and self.scale >= 0 and -(2**63) <= self.at(0) < 2**63

    @property
    def as_double(self) -> float:
        try:
            return float(self.at(0)) if self.scale >= 0 else self.value / int(10**-self.scale)
        except OverflowError:
            return math.copysign(math.inf, self.value)


@library.function("quantity", STRING, result=QUANTITY)
def quantity(text: str) -> Quantity:
    try:
        amount = canonical_quantities.parsed(text)
    except ValueError as error:
        raise CelError(str(error)) from None
    return Quantity(amount.mantissa, amount.exponent, is_small=amount.is_short)


@library.function("isQuantity", STRING, result=BOOL)
def is_quantity(text: str) -> bool:
    try:
        canonical_quantities.canonical(text)
    except ValueError:
        return False
    return True


def _as_int(value: Quantity) -> int:
    if not value.is_integer:
        raise CelError("cannot convert value to integer")
    return value.at(0)


library.function("sign", QUANTITY, result=INT)(lambda value: value.compared(Quantity(0)))
library.method("isGreaterThan", QUANTITY, QUANTITY, result=BOOL)(lambda one, other: one.compared(other) > 0)
library.method("isLessThan", QUANTITY, QUANTITY, result=BOOL)(lambda one, other: one.compared(other) < 0)
library.method("compareTo", QUANTITY, QUANTITY, result=INT)(Quantity.compared)
library.method("asApproximateFloat", QUANTITY, result=DOUBLE)(lambda value: value.as_double)
library.method("asInteger", QUANTITY, result=INT)(_as_int)
library.method("isInteger", QUANTITY, result=BOOL)(lambda value: value.is_integer)
library.method("add", QUANTITY, QUANTITY, result=QUANTITY)(Quantity.plus)
library.method("add", QUANTITY, INT, result=QUANTITY)(lambda one, other: one.plus(Quantity(other)))
library.method("sub", QUANTITY, QUANTITY, result=QUANTITY)(lambda one, other: one.plus(other, -1))
library.method("sub", QUANTITY, INT, result=QUANTITY)(lambda one, other: one.plus(Quantity(other), -1))
