"""Schedules read as the Go library reads them: what is expected here is what it said."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from fleetqueue.api import cron_schedules
from fleetqueue.api.conditions import timestamp


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        pytest.param(
            "* * * * *",
            "UTC",
            "2026-01-01T10:00:30Z",
            "2026-01-01T10:01:00Z 2026-01-01T10:02:00Z 2026-01-01T10:03:00Z",
            id="every minute",
        ),
        pytest.param(
            "*/15 * * * *",
            "UTC",
            "2026-01-01T10:50:00Z",
            "2026-01-01T11:00:00Z 2026-01-01T11:15:00Z 2026-01-01T11:30:00Z",
            id="steps",
        ),
        pytest.param(
            "0 12 * * *",
            "UTC",
            "2026-01-01T12:00:00Z",
            "2026-01-02T12:00:00Z 2026-01-03T12:00:00Z 2026-01-04T12:00:00Z",
            id="a moment that fits is not after itself",
        ),
        pytest.param(
            "5,50 8-9 * * *",
            "UTC",
            "2026-01-01T08:30:00Z",
            "2026-01-01T08:50:00Z 2026-01-01T09:05:00Z 2026-01-01T09:50:00Z",
            id="ranges and lists",
        ),
        pytest.param(
            "0 8-17/4 * * *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-01T08:00:00Z 2026-01-01T12:00:00Z 2026-01-01T16:00:00Z",
            id="a range with a step",
        ),
        pytest.param(
            "40/10 23 * * *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-01T23:40:00Z 2026-01-01T23:50:00Z 2026-01-02T23:40:00Z",
            id="a start with a step goes on to the end",
        ),
        pytest.param(
            "0 0 * FEB-apr Mon",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-02-02T00:00:00Z 2026-02-09T00:00:00Z 2026-02-16T00:00:00Z",
            id="names in any case",
        ),
        pytest.param(
            "0 0 * * 0",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-04T00:00:00Z 2026-01-11T00:00:00Z 2026-01-18T00:00:00Z",
            id="Sunday is 0",
        ),
        pytest.param(
            "0 0 13 * fri",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00Z 2026-01-09T00:00:00Z 2026-01-13T00:00:00Z",
            id="both days restricted: one is enough",
        ),
        pytest.param(
            "0 0 13 * *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-13T00:00:00Z 2026-02-13T00:00:00Z 2026-03-13T00:00:00Z",
            id="a star lets the other decide",
        ),
        pytest.param(
            "0 0 ? * 5",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00Z 2026-01-09T00:00:00Z 2026-01-16T00:00:00Z",
            id="a question mark is a star",
        ),
        pytest.param(
            "0 0 */10 * mon",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-05T00:00:00Z 2026-01-11T00:00:00Z 2026-01-12T00:00:00Z",
            id="a star with a step restricts",
        ),
        pytest.param(
            "0 0 */1 * mon",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2026-01-05T00:00:00Z 2026-01-12T00:00:00Z 2026-01-19T00:00:00Z",
            id="a step of one does not",
        ),
        pytest.param(
            "0 0 31 * *",
            "UTC",
            "2026-01-31T00:00:00Z",
            "2026-03-31T00:00:00Z 2026-05-31T00:00:00Z 2026-07-31T00:00:00Z",
            id="the end of a month",
        ),
        pytest.param(
            "0 0 29 2 *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2028-02-29T00:00:00Z 2032-02-29T00:00:00Z 2036-02-29T00:00:00Z",
            id="a leap day",
        ),
        pytest.param("0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", "never", id="a day that never comes"),
        pytest.param(", * * * *", "UTC", "2026-01-01T00:00:00Z", "never", id="an empty list never comes"),
        pytest.param(
            "0 0 1 1 *",
            "UTC",
            "2026-12-31T23:59:59Z",
            "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z 2029-01-01T00:00:00Z",
            id="the end of a year",
        ),
        pytest.param(
            "@hourly",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-01T11:00:00Z 2026-01-01T12:00:00Z 2026-01-01T13:00:00Z",
            id="hourly",
        ),
        pytest.param(
            "@daily",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
            id="daily",
        ),
        pytest.param(
            "@midnight",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z 2026-01-04T00:00:00Z",
            id="midnight",
        ),
        pytest.param(
            "@weekly",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-04T00:00:00Z 2026-01-11T00:00:00Z 2026-01-18T00:00:00Z",
            id="weekly",
        ),
        pytest.param(
            "@monthly",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z 2026-04-01T00:00:00Z",
            id="monthly",
        ),
        pytest.param(
            "@yearly",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z 2029-01-01T00:00:00Z",
            id="yearly",
        ),
        pytest.param(
            "@annually",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2027-01-01T00:00:00Z 2028-01-01T00:00:00Z 2029-01-01T00:00:00Z",
            id="annually",
        ),
        pytest.param(
            "@every 1h30m",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-01T12:00:00Z 2026-01-01T13:30:00Z 2026-01-01T15:00:00Z",
            id="an interval",
        ),
        pytest.param(
            "@every 10ms",
            "UTC",
            "2026-01-01T10:30:00Z",
            "2026-01-01T10:30:01Z 2026-01-01T10:30:02Z 2026-01-01T10:30:03Z",
            id="a short interval is a second",
        ),
        pytest.param(
            "0 9 * * *",
            "Asia/Shanghai",
            "2026-01-01T00:00:00Z",
            "2026-01-01T01:00:00Z 2026-01-02T01:00:00Z 2026-01-03T01:00:00Z",
            id="another zone",
        ),
        pytest.param(
            "0 9 * * *",
            "Asia/Kolkata",
            "2026-01-01T00:00:00Z",
            "2026-01-01T03:30:00Z 2026-01-02T03:30:00Z 2026-01-03T03:30:00Z",
            id="a zone with half hours",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-27T12:00:00Z",
            "2026-03-28T01:30:00Z 2026-03-30T00:30:00Z 2026-03-31T00:30:00Z",
            id="an hour that does not exist is left out",
        ),
        pytest.param(
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-26T01:30:00Z",
            id="an hour that exists twice comes twice",
        ),
        pytest.param(
            "0 */2 * * *",
            "America/New_York",
            "2026-03-08T04:30:00Z",
            "2026-03-08T05:00:00Z 2026-03-08T08:00:00Z 2026-03-08T10:00:00Z",
            id="hours go on while clocks are turned",
        ),
        pytest.param(
            "0 9 * * *",
            "America/New_York",
            "2026-03-07T00:00:00Z",
            "2026-03-07T14:00:00Z 2026-03-08T13:00:00Z 2026-03-09T13:00:00Z",
            id="the day keeps its time of day",
        ),
    ],
)
def test_the_next_times(text, zone, after, expected):
    schedule = cron_schedules.parse(text, ZoneInfo(zone))

    assert times(schedule, datetime.fromisoformat(after)) == expected


def times(schedule, after):
    found = []
    while len(found) < 3 and after is not None:
        after = schedule.next(after)
        found.append(timestamp(after) if after is not None else "never")
    return " ".join(found)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("* * * * funday", 'failed to parse int from funday: strconv.Atoi: parsing "funday": invalid syntax'),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("-5 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("1_0 * * * *", 'failed to parse int from 1_0: strconv.Atoi: parsing "1_0": invalid syntax'),
        (
            "99999999999999999999 * * * *",
            "failed to parse int from 99999999999999999999: "
            'strconv.Atoi: parsing "99999999999999999999": value out of range',
        ),
        ("@odd", "unrecognized descriptor: @odd"),
        ("@every", "unrecognized descriptor: @every"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
    ],
)
def test_what_is_no_schedule_is_refused_in_the_words_of_the_library(text, problem):
    with pytest.raises(ValueError) as error:
        cron_schedules.parse(text)

    assert str(error.value) == problem


def test_fractions_of_a_second_do_not_count():
    after = datetime.fromisoformat("2026-01-01T10:00:00.900Z")

    assert timestamp(cron_schedules.parse("@every 5s").next(after)) == "2026-01-01T10:00:05Z"
    assert timestamp(cron_schedules.parse("* * * * *").next(after)) == "2026-01-01T10:01:00Z"


def test_a_day_without_a_midnight_begins_later():
    """There the Go library leaves the whole day out where the zone is east of Greenwich, which helps nobody."""
    schedule = cron_schedules.parse("0 5 24 4 *", ZoneInfo("Africa/Cairo"))

    assert timestamp(schedule.next(datetime.fromisoformat("2026-01-01T00:00:00Z"))) == "2026-04-24T02:00:00Z"
