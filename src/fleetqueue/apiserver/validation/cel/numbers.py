"""Arithmetic that stays inside 64 bits, conversions between numbers, and numbers as Go writes them."""

import math

from fleetqueue.apiserver.validation.cel.errors import CelError
from fleetqueue.apiserver.validation.cel.values import Uint

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


def shown(value: float, exponent_from: int = 21) -> str:
    """Write a double as Go does: the shortest digits that give it back, with an exponent if very large or small."""
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    mantissa, _, power = f"{value!r}".partition("e")
    digits, exponent = _decimal(mantissa, int(power or 0))
    sign = "-" if value < 0 else ""
    if exponent < -4 or exponent >= exponent_from:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}" + (f".{digits[exponent + 1 :]}" if len(digits) > exponent + 1 else "")


def _decimal(mantissa: str, power: int) -> tuple[str, int]:
    """Return the digits without leading and trailing zeros, and the power of ten of the first."""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    exponent = len(whole) - 1 + power + len(digits.lstrip("0")) - len(digits)
    return digits.strip("0") or "0", exponent
