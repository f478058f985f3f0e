"""How long ago something was, as kubectl says it: two or three figures are enough for a person."""

from datetime import UTC, datetime
from typing import Any, Final

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"
MINUTE, HOUR, DAY, YEAR = 60, 3600, 24 * 3600, 365 * 24 * 3600


def age(moment: Any, now: datetime) -> str:
    """Return how long ago a time was, which stands in an object as text; it may be absent."""
    if not moment:
        return UNKNOWN
    then = parsed(moment)
    return INVALID if then is None else human((now - then).total_seconds())


def parsed(moment: Any) -> datetime | None:
    try:
        timestamp = datetime.fromisoformat(moment)
    except (TypeError, ValueError):
        return None
    return timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)


def human(seconds: float) -> str:
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s", 60)
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m", 60)
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h", 24)
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, YEAR, "y", DAY, "d", 365)
    return f"{whole // YEAR}y"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str, base: int) -> str:
    """Return two units, or one where nothing is left for the second."""
    rest = seconds // small % base
    return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
