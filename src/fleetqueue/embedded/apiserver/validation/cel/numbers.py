"""Arithmetic that stays inside 64 bits, and conversions between numbers."""

import math

from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.values import Uint

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


def checked_int(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= MAX_UINT:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def quotient(one: int, other: int) -> int:
    """Divide, dropping the remainder toward zero."""
    if other == 0:
        raise CelError("division by zero")
    result = abs(one) // abs(other)
    return checked_int(result if (one < 0) == (other < 0) else -result)


def uint_quotient(one: Uint, other: Uint) -> Uint:
    if other == 0:
        raise CelError("division by zero")
    return Uint(one // other)


def remainder(one: int, other: int) -> int:
    """The remainder has the sign of the dividend."""
    if other == 0:
        raise CelError("modulus by zero")
    result = abs(one) % abs(other)
    return -result if one < 0 else result


def divided(one: float, other: float) -> float:
    if other:
        return one / other
    return math.nan if one == 0 or one != one else math.copysign(math.inf, one) * math.copysign(1, other)


def int_of_double(value: float) -> int:
    if value != value or not MIN_INT < value < MAX_INT:
        raise CelError("integer overflow")
    return int(value)


def uint_of_double(value: float) -> Uint:
    if value != value or not 0 <= value < MAX_UINT:
        raise CelError("unsigned integer overflow")
    return Uint(int(value))
