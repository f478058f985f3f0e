"""Quantities as a real server writes them: `0.5` becomes `500m`, `1024Ki` becomes `1Mi`, and `1.500` stays.

A quantity keeps the sort of suffix that it came with (decimal, binary, exponent) where that loses nothing. Text that
needs no change by a quick look is kept letter by letter, odd as it may be (`+5`): clients compare these texts.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

_TEXT: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _BINARY.items()}

SMALLEST: Final = -9
"""The exponent of ten below which a quantity is rounded up."""
LARGEST: Final = 2**63 - 1
MOST_DIGITS: Final = 18
"""What surely fits into 64 bits."""


class Amount(NamedTuple):
    """`mantissa` times ten to the power of `exponent`, to be written in one of three forms."""

    mantissa: int
    exponent: int
    form: str


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return the text that a real server shows for a quantity; raises ValueError, worded as there, if it is none."""
    match = _match(text)
    number, fraction = match[2].lstrip("0") or "0", match[3] or ""
    form, exponent = _suffix(match[4])
    is_short = _is_short(number, fraction, form, exponent)
    if is_short and _is_kept(number + fraction, exponent - len(fraction), form):
        return text
    if not is_short and not match[2] and not fraction:
        raise ValueError("unable to parse numeric part of quantity")
    amount = _rounded(int(number + fraction), -len(fraction), form, exponent)
    return ("-" if match[1] == "-" and amount.mantissa else "") + _written(amount)


class Parsed(NamedTuple):
    """`mantissa` times ten to the power of `exponent`."""

    mantissa: int
    exponent: int
    is_short: bool
    """Whether a real server holds it in 64 bits; others are never integers to it."""


def parsed(text: str) -> Parsed:
    """Return how much a quantity is; raises ValueError, worded as by `canonical`."""
    canonical(text)
    match = _match(text)
    number, fraction = match[2], match[3] or ""
    form, exponent = _suffix(match[4])
    is_short = _is_short(number.lstrip("0") or "0", fraction, form, exponent)
    amount = _rounded(int(number + fraction or "0"), -len(fraction), form, exponent)
    return Parsed(-amount.mantissa if match[1] == "-" else amount.mantissa, amount.exponent, is_short)


def _match(text: str) -> re.Match[str]:
    match = _TEXT.fullmatch(text)
    if match is None or not text:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return match


def _suffix(suffix: str) -> tuple[str, int]:
    """Return the form that a suffix means, and its exponent: of two if binary, of ten otherwise."""
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or abs(int(match[1])) >= 2**31:
        raise ValueError("unable to parse quantity's suffix")
    return "exponent", int(match[1])


def _is_short(number: str, fraction: str, form: str, exponent: int) -> bool:
    """Tell whether a real server, by its estimate, reads it without large numbers."""
    if form == "binary":
        return not fraction and len(number) + exponent * 3 // 10 < 15
    return len(number + fraction) <= MOST_DIGITS and exponent - len(fraction) >= SMALLEST


def _is_kept(digits: str, scale: int, form: str) -> bool:
    if form == "binary":
        return int(digits) % 8 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _rounded(mantissa: int, scale: int, form: str, exponent: int) -> Amount:
    """Bring a number and its suffix together; what is too small to be written is rounded up, away from zero."""
    if form == "binary":
        mantissa <<= exponent
    else:
        scale += exponent
    if mantissa and scale < SMALLEST:
        lost = SMALLEST - scale
        mantissa = 1 if lost > len(str(mantissa)) else -(-mantissa // 10**lost)
        scale = SMALLEST
    if form == "binary" and mantissa > LARGEST * 10**-scale:
        mantissa, scale = LARGEST, 0
    return Amount(mantissa, scale, form)


def _written(amount: Amount) -> str:
    mantissa, exponent, form = amount
    if not mantissa:
        return "0"
    if form == "binary":
        whole, rest = divmod(mantissa, 10**-exponent)
        if whole >= 1024 and not rest:
            return _binary(whole)
        form = "decimal"  # a small or broken number keeps its precision this way
    return _decimal(mantissa, exponent, form)


def _binary(whole: int) -> str:
    exponent = 0
    while whole % 1024 == 0:
        whole //= 1024
        exponent += 10
    return f"{whole}{_BINARY_SUFFIXES.get(exponent, '')}"


def _decimal(mantissa: int, exponent: int, form: str) -> str:
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    mantissa *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    if form == "decimal":
        return f"{mantissa}{_DECIMAL_SUFFIXES.get(exponent, '')}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)
