"""Times as Go reads them: a little more generous than RFC 3339, and with its own error messages."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"

_PARTS: Final = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00")
_RANGES: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}
_FRACTION: Final = re.compile(r"[.,]([0-9]+)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
_DAYS_OF_400_YEARS: Final = 146_097


class BadTime(ValueError):
    """A text that is no time; the words are Go's."""


class Moment(NamedTuple):
    """Seconds since 1970, and nanoseconds after that."""

    seconds: int
    nanos: int
    offset: int = 0
    """The seconds by which the clock was ahead of UTC that showed it."""

    @property
    def as_datetime(self) -> datetime:
        return _EPOCH + timedelta(seconds=self.seconds, microseconds=self.nanos // 1000)


def parsed(text: str, layout: str = RFC3339) -> Moment:
    """Read a time; raises BadTime."""
    return _Reader(text, layout).read()


class _Reader:
    """One pass over a text, part by part of the layout."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text
        self.found: dict[str, int] = {}
        self.nanos = 0
        self.offset = 0

    def read(self) -> Moment:
        for between, part in _chunks(self.layout):
            for sign in between:
                if not self.rest.startswith(sign):
                    raise self.unlike(self.rest, between)
                self.rest = self.rest[1:]
            before = self.rest
            if not self.part(part):
                raise self.unlike(before, part)
        if self.rest:
            raise self.told(f": extra text: {_quoted(self.rest)}")
        return self.moment()

    def part(self, part: str) -> bool:
        """Read one part; tells whether it was there."""
        read: dict[str, Callable[[], bool]] = {"2006": self.year, ".000000": self.micros, "Z07:00": self.zone}
        if part in read:
            return read[part]()
        number = re.match("[0-9]{2}" if part != "15" else "[0-9]{1,2}", self.rest)
        if number is None:
            return False
        self.found[part] = int(number[0])
        self.rest = self.rest[number.end() :]
        if part in _RANGES:
            what, least, most = _RANGES[part]
            if not least <= self.found[part] <= most:
                raise self.told(f": {what} out of range")
        if part == "05" and ".0" not in self.layout:
            self.fraction()
        return True

    def year(self) -> bool:
        if re.match("[0-9]{4}", self.rest) is None:
            return False
        self.found["2006"], self.rest = int(self.rest[:4]), self.rest[4:]
        return True

    def fraction(self) -> None:
        """Read a fraction of a second that the layout does not contain."""
        digits = _FRACTION.match(self.rest)
        if digits is not None:
            self.nanos = int(digits[1][:9].ljust(9, "0"))
            self.rest = self.rest[digits.end() :]

    def micros(self) -> bool:
        if re.match("[.,][0-9]{6}", self.rest) is None:
            return False
        self.nanos, self.rest = int(self.rest[1:7]) * 1000, self.rest[7:]
        return True

    def zone(self) -> bool:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return True
        match = re.match(r"([\x00-\x7f])([0-9]{2}):([0-9]{2})", self.rest)
        if match is None:
            return False
        hours, minutes = int(match[2]), int(match[3])
        self.rest = self.rest[6:]
        for what, number, most in (("hour", hours, 24), ("minute", minutes, 60)):
            if number > most:
                raise self.told(f": time zone offset {what} out of range")
        self.offset = (hours * 60 + minutes) * (-60 if match[1] == "-" else 60)
        return match[1] in "+-"

    def moment(self) -> Moment:
        year, month, day, hour, minute, second = (self.found[part] for part in ("2006", "01", "02", "15", "04", "05"))
        try:
            # Python knows no year 0; 400 years later the calendar is the same.
            days = date(year or 400, month, day).toordinal() - _FIRST_DAY - (0 if year else _DAYS_OF_400_YEARS)
        except ValueError:
            raise self.told(": day out of range") from None
        clock = (days * 24 + hour) * 3600 + minute * 60 + second
        return Moment(clock - self.offset, self.nanos, self.offset)

    def unlike(self, rest: str, part: str) -> BadTime:
        shown = f"as {_quoted(self.layout)}: cannot parse {_quoted(rest)} as {_quoted(part)}"
        return BadTime(f"parsing time {_quoted(self.text)} {shown}")

    def told(self, message: str) -> BadTime:
        return BadTime(f"parsing time {_quoted(self.text)}{message}")


def _chunks(layout: str) -> Iterator[tuple[str, str]]:
    """Cut a layout into what stands between its parts, and the parts."""
    at = 0
    for part in _PARTS.finditer(layout):
        yield layout[at : part.start()], part[0]
        at = part.end()


def _quoted(text: str) -> str:
    """Quote as Go's package for times does, which is not how Go quotes otherwise."""
    shown = "".join(f"\\{char}" if char in '"\\' else char if " " <= char < "\x80" else _bytes(char) for char in text)
    return f'"{shown}"'


def _bytes(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode())
