"""Lengths of time, read and written as Go does both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import durations


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (90, "1m30s"),
        (86400, "24h0m0s"),
        (600, "10m0s"),
        (5400, "1h30m0s"),
        (3601, "1h0m1s"),
        (-90, "-1m30s"),
        (1.5, "1.5s"),
        (60.25, "1m0.25s"),
        (0.5, "500ms"),
        (0.0015, "1.5ms"),
        (-0.00002, "-20µs"),
        (3e-9, "3ns"),
        (1e-12, "0s"),
    ],
)
def test_a_length_is_written_as_go_writes_it(seconds, text):
    assert durations.written(seconds) == text


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_is_read_as_the_same(nanoseconds):
    text = durations.written(nanoseconds / 1e9)

    assert round(durations.parsed(text) * 1e9) == pytest.approx(nanoseconds, abs=1000)
