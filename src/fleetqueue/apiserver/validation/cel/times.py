"""Times and durations: read as Go reads them, exact to the nanosecond, and their parts."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fleetqueue.apiserver.validation.cel.errors import CelError
from fleetqueue.apiserver.validation.cel.values import Duration, Timestamp

SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_NANOS = -62135596800 * SECOND
_MAX_NANOS = 253402300800 * SECOND - 1
_MAX_DURATION = 2**63 - 1
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
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
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def parsed_timestamp(text: str) -> Timestamp:
    """Read an RFC 3339 time."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise CelError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"')
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone_of(match))
    except ValueError:
        raise CelError(f'parsing time "{text}": day out of range') from None
    fraction = int((match[7] or "0")[:9].ljust(9, "0"))
    return checked_timestamp(_seconds(moment) * SECOND + fraction)


def _zone_of(match: "re.Match[str]") -> tzinfo:
    if match[8]:
        return UTC
    offset = timedelta(hours=int(match[10]), minutes=int(match[11]))
    return timezone(-offset if match[9] == "-" else offset)


def _seconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)


def checked_timestamp(nanos: int) -> Timestamp:
    if not _MIN_NANOS <= nanos <= _MAX_NANOS:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


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


def shown_timestamp(moment: Timestamp) -> str:
    seconds, nanos = divmod(moment.nanos, SECOND)
    whole = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{whole.year:04d}-{whole:%m-%dT%H:%M:%S}{fraction}Z"


def shown_duration(length: Duration) -> str:
    """A duration in seconds, with as many digits as needed."""
    sign = "-" if length.nanos < 0 else ""
    seconds, nanos = divmod(abs(length.nanos), SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{sign}{seconds}{fraction}s"


def in_zone(moment: Timestamp, name: str = "UTC") -> datetime:
    """Return the wall clock of a zone, given by name or as an offset such as `+02:00`."""
    match = _OFFSET.fullmatch(name)
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        zone: tzinfo = timezone(-offset if match[1] == "-" else offset)
    else:
        try:
            zone = UTC if name in ("", "UTC") else ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise CelError(f"unknown time zone {name}") from None
    return (_EPOCH + timedelta(seconds=moment.nanos // SECOND)).astimezone(zone)


def milliseconds(moment: Timestamp) -> int:
    return moment.nanos % SECOND // 10**6
