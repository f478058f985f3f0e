"""Lengths of time as Go writes them: `8640h0m0s`, `1.5h`, `500ms`."""

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"[+-]?({_PART.pattern})+")


def parsed(text: str) -> float:
    """Return seconds; raises ValueError with Go's own words where the text is no duration."""
    if text in ("0", "+0", "-0"):
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    length = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return -length if text.startswith("-") else length
