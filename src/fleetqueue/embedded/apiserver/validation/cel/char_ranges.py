"""Sets of characters as sorted ranges: those that patterns can name, and how to combine them."""

import unicodedata
from collections.abc import Iterable
from functools import cache

Ranges = tuple[tuple[int, int], ...]
MAX_CHAR = 0x10FFFF

_DIGIT: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 10), (12, 13), (32, 32))
PERL: dict[str, Ranges] = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)), "cntrl": ((0, 31), (127, 127)), "digit": _DIGIT, "graph": ((33, 126),),
    "lower": ((97, 122),), "print": ((32, 126),), "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)), "upper": ((65, 90),), "word": _WORD, "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort ranges and join those that touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def inverted(ranges: Ranges) -> Ranges:
    gaps, start = [], 0
    for low, high in joined(ranges):
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX_CHAR:
        gaps.append((start, MAX_CHAR))
    return tuple(gaps)


@cache
def category(name: str) -> Ranges:
    """Return the characters of a general category such as L or Lu; scripts such as Greek are not known here."""
    if name == "Any":
        return ((0, MAX_CHAR),)
    if len(name) > 2 or not name[:1].isupper():
        return ()
    return joined((code, code) for code in range(MAX_CHAR + 1) if unicodedata.category(chr(code)).startswith(name))
