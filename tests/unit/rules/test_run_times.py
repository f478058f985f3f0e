"""How long that runs which only pretends to."""

import pytest

from fleetqueue.rules.run_times import FAILS, RUN_FOR, asked_seconds, duration, fails


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("1.5s", 1.5), ("", None), ("5", None), ("5s ", None)])
def test_durations(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("annotations", "args", "seconds"),
    [
        pytest.param({RUN_FOR: "1m"}, ["30s"], 60, id="the annotation comes first"),
        pytest.param({}, ["30s"], 30, id="the first argument"),
        pytest.param({}, ["python train.py && sleep 5m"], 300, id="a sleep"),
        pytest.param({}, ["python train.py"], 2, id="nothing said"),
    ],
)
def test_how_long_something_runs(annotations, args, seconds):
    assert asked_seconds(annotations, args=args) == seconds


def test_it_fails_where_it_says_so():
    assert fails({FAILS: "true"})
    assert not fails({})
