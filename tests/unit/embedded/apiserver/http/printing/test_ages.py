"""How long ago something was, as kubectl says it."""

from datetime import UTC, datetime

import pytest

from fleetqueue.embedded.apiserver.http.printing.ages import age, human

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR + DAY, "8y"),
    ],
)
def test_human(seconds, text):
    assert human(seconds) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (None, "<unknown>"),
        ("2026-01-01T23:59:00Z", "60s"),
        ("2026-01-01T23:59:00.5Z", "59s"),
        ("soon", "<invalid>"),
        (7, "<invalid>"),
    ],
)
def test_age(moment, text):
    assert age(moment, NOW) == text
