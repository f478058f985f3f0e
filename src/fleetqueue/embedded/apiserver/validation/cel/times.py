"""Times and durations: read as Go reads them, exact to the nanosecond, and their parts."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetqueue.embedded.apiserver.kinds import go_time
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.values import Duration, Timestamp

SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_NANOS = -62135596800 * SECOND
_MAX_NANOS = 253402300800 * SECOND - 1
_MAX_DURATION = 2**63 - 1
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile(r"(?=\.?\d)(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]+")


class TimeOverflow(CelError):
    """A time before the year 1 or after the year 9999."""


def parsed_timestamp(text: str) -> Timestamp:
    """Read an RFC 3339 time."""
    try:
        moment = go_time.parsed(text)
    except go_time.BadTime as error:
        raise CelError(str(error)) from None
    return checked_timestamp(moment.seconds * SECOND + moment.nanos, moment.offset)


def checked_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    if not _MIN_NANOS <= nanos <= _MAX_NANOS:
        raise TimeOverflow("timestamp overflow")
    return Timestamp(nanos, offset)


def parsed_duration(text: str) -> Duration:
    """Read a duration such as `1h30m`, `-1.5s` or `0`."""
    negative = text[:1] == "-"
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None:
            break
        unit = _UNITS[match[3]]
        fraction = match[2] or ""
        total += int(match[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        at = match.end()
    if not rest or at < len(rest) or total > _MAX_DURATION:
        raise CelError(f'time: invalid duration "{text}"')
    return Duration(-total if negative else total)


def checked_duration(nanos: int) -> Duration:
    if not -_MAX_DURATION - 1 <= nanos <= _MAX_DURATION:
        raise CelError("duration overflow")
    return Duration(nanos)


def timestamp_of(seconds: int) -> Timestamp:
    return checked_timestamp(seconds * SECOND)


def duration_of(number: int) -> Duration:
    """Fail as the real server does: that numbers are durations is declared but not true."""
    raise CelError("type conversion error from 'int' to 'google.protobuf.Duration'")


def shown_timestamp(moment: Timestamp) -> str:
    seconds, nanos = divmod(moment.nanos, SECOND)
    whole = _EPOCH + timedelta(seconds=seconds + moment.offset)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{whole.year:04d}-{whole:%m-%dT%H:%M:%S}{fraction}{_shown_offset(moment.offset)}"


def _shown_offset(offset: int) -> str:
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}" if offset else "Z"


def shown_duration(length: Duration) -> str:
    """A duration in seconds, with as many digits as a double has."""
    return f"{Decimal(repr(length.nanos / SECOND)):f}".removesuffix(".0") + "s"


def in_zone(moment: Timestamp, name: str = "UTC") -> datetime:
    """Return the wall clock of a zone, given by name or as an offset such as `+02:00`."""
    zone = zone_of(name)
    there = _EPOCH + timedelta(seconds=moment.nanos // SECOND)
    return there + zone if isinstance(zone, timedelta) else there.astimezone(zone)


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo | timedelta:
    hours, colon, minutes = name.partition(":")
    if colon:
        return timedelta(hours=_number(hours), minutes=_number(minutes) * (-1 if name.startswith("-") else 1))
    if name in ("", "UTC"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise CelError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise CelError(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    return int(text)


def milliseconds(moment: Timestamp, zone: str = "UTC") -> int:
    zone_of(zone)
    return moment.nanos % SECOND // 10**6
