"""Lengths of time as Go writes them: `8640h0m0s`, `1.5h`, `500ms`."""

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"[+-]?({_PART.pattern})+")


_SMALL: Final = (("ms", 1_000_000), ("µs", 1_000), ("ns", 1))


def written(seconds: float) -> str:
    """Return a length as Go writes it."""
    left = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and left else ""
    if left < 1_000_000_000:
        unit, size = next(((unit, size) for unit, size in _SMALL if left >= size), ("s", 1))
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, left = divmod(left, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    whole = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{whole}{_decimal(left, 1_000_000_000)}s"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".") if rest else str(whole)


def parsed(text: str) -> float:
    """Return seconds; raises ValueError with Go's own words where the text is no duration."""
    if text in ("0", "+0", "-0"):
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    length = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return -length if text.startswith("-") else length
