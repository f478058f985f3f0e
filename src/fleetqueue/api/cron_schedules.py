"""Cron schedules as CronJobs write them: five fields (`*/15 8-17 * * mon-fri`), or a descriptor such as `@hourly`.

Mirrors: github.com/robfig/cron v3, its standard parser

Where clocks are turned on, times that do not exist are left out; where they are turned back, those that exist twice
come twice. Sunday is 0, never 7. A day must fit both the day of the month and the day of the week; where both are
restricted, one of them is enough. A day that begins later than midnight, since clocks are turned on then, counts as
any other; the library leaves it out in zones east of Greenwich.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol

from fleetqueue.api import durations

YEARS: Final = 5
"""A schedule that has no time within so many years never comes, such as one for 30 February."""
NUMBER: Final = re.compile(r"[+-]?[0-9]+")
LARGEST: Final = 2**63 - 1
EVERY: Final = "@every "
DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class Schedule(Protocol):
    def next(self, after: datetime) -> datetime | None:
        """Return the first time after a moment, in UTC; None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    low: int
    high: int
    names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Field:
    values: frozenset[int]
    is_any: bool
    """Whether it was written as `*` or `?`."""


BOUNDS: Final = (
    Bounds(0, 59, {}),
    Bounds(0, 23, {}),
    Bounds(1, 31, {}),
    Bounds(1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    Bounds(0, 6, {name: number for number, name in enumerate(WEEKDAYS)}),
)
"""Of minutes, hours, days, months and days of the week."""


@dataclass(frozen=True, slots=True)
class FieldSchedule:
    minutes: Field
    hours: Field
    days: Field
    months: Field
    weekdays: Field
    zone: tzinfo

    def next(self, after: datetime) -> datetime | None:
        """Go on by the largest part that does not fit, until all fit."""
        moment = (after.replace(microsecond=0) + timedelta(seconds=1)).astimezone(self.zone)
        last_year = moment.year + YEARS
        while self.minutes.values and self.hours.values and moment.year <= last_year:
            if moment.month not in self.months.values:
                moment = self._midnight(moment.year + moment.month // 12, moment.month % 12 + 1, 1)
            elif not self._has_day(moment):
                tomorrow = moment.date() + timedelta(days=1)
                moment = self._midnight(tomorrow.year, tomorrow.month, tomorrow.day)
            elif moment.hour not in self.hours.values:
                moment = self._later(moment, 3600 - 60 * moment.minute - moment.second)
            elif moment.second or moment.minute not in self.minutes.values:
                moment = self._later(moment, 60 - moment.second)
            else:
                return moment.astimezone(UTC)
        return None

    def _has_day(self, moment: datetime) -> bool:
        is_day, is_weekday = moment.day in self.days.values, moment.isoweekday() % 7 in self.weekdays.values
        if self.days.is_any or self.weekdays.is_any:
            return is_day and is_weekday
        return is_day or is_weekday

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        """Return the beginning of a day, which is later than midnight where clocks are turned on then."""
        return datetime(year, month, day, tzinfo=self.zone).astimezone(UTC).astimezone(self.zone)

    def _later(self, moment: datetime, seconds: int) -> datetime:
        """Let time pass, however clocks are turned meanwhile."""
        return (moment.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(self.zone)


@dataclass(frozen=True, slots=True)
class IntervalSchedule:
    seconds: int

    def next(self, after: datetime) -> datetime | None:
        return after.replace(microsecond=0) + timedelta(seconds=self.seconds)


def parse(text: str, zone: tzinfo = UTC) -> Schedule:
    """Read a schedule; raises ValueError, with the words of the Go library, where it is none."""
    if not text:
        raise ValueError("empty spec string")
    if text.startswith(EVERY):
        return _interval(text)
    if text.startswith("@") and text not in DESCRIPTORS:
        raise ValueError(f"unrecognized descriptor: {text}")
    fields = DESCRIPTORS.get(text, text).split()
    if len(fields) != len(BOUNDS):
        raise ValueError(f"expected exactly {len(BOUNDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = map(_field, fields, BOUNDS)
    return FieldSchedule(minutes, hours, days, months, weekdays, zone)


def _interval(text: str) -> Schedule:
    try:
        seconds = durations.parsed(text.removeprefix(EVERY))
    except ValueError as error:
        raise ValueError(f"failed to parse duration {text}: {error}") from None
    return IntervalSchedule(max(int(seconds), 1))


def _field(text: str, bounds: Bounds) -> Field:
    ranges = [_range(part, bounds) for part in text.split(",") if part]
    values = frozenset(value for one in ranges for value in one.values)
    return Field(values, any(one.is_any for one in ranges))


def _range(text: str, bounds: Bounds) -> Field:
    """Read `a`, `a-b`, `*`, and each of these with a step; `a/step` goes on to the last value that there is."""
    span, *steps = text.split("/")
    low, *highs = span.split("-")
    is_any = low in ("*", "?")
    if is_any:
        start, end = bounds.low, bounds.high
    else:
        start = end = _value(low, bounds)
        if len(highs) > 1:
            raise ValueError(f"too many hyphens: {text}")
        end = _value(highs[0], bounds) if highs else end
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    step = _number(steps[0]) if steps else 1
    end = bounds.high if steps and not highs else end
    _check(text, start, end, step, bounds)
    return Field(frozenset(range(start, end + 1, step)), is_any and step == 1)


def _check(text: str, start: int, end: int, step: int, bounds: Bounds) -> None:
    if start < bounds.low:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {text}")


def _value(text: str, bounds: Bounds) -> int:
    number = bounds.names.get(text.lower())
    return _number(text) if number is None else number


def _number(text: str) -> int:
    problem = "" if NUMBER.fullmatch(text) else "invalid syntax"
    if not problem and abs(int(text)) > LARGEST:
        problem = "value out of range"
    if problem:
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": {problem}')
    if int(text) < 0:
        raise ValueError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
