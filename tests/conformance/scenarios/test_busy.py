"""Quiet seconds count for less while the processes of a fleet are busy."""

import pytest

from .busy import busy_seconds, quiet_share


@pytest.mark.parametrize(
    ("seconds", "busy", "counted"),
    [
        pytest.param(0.5, 0.0, 0.5, id="nobody works"),
        pytest.param(0.5, 0.5, 0.25, id="as much as one processor is wanted"),
        pytest.param(0.5, 1.5, 0.125, id="three are wanted"),
        pytest.param(0.5, -0.5, 0.5, id="a thread has ended"),
        pytest.param(0.0, 0.0, 0.0, id="no time has passed"),
    ],
)
def test_quiet_share(seconds, busy, counted):
    assert quiet_share(seconds, busy) == counted


def test_work_and_waiting_of_all_threads_of_children_is_counted(tmp_path):
    threads = {"7/task/7": "1000000000 500000000 3", "7/task/8": "250000000 0 1", "9/task/9": "9000000000 0 1"}
    for thread, text in threads.items():
        (tmp_path / thread).mkdir(parents=True)
        (tmp_path / thread / "schedstat").write_text(f"{text}\n")
    (tmp_path / "self/task/1").mkdir(parents=True)
    (tmp_path / "self/task/1/children").write_text("7 ")

    assert busy_seconds(tmp_path) == 1.75


def test_where_nothing_is_counted_nobody_is_busy(tmp_path):
    assert busy_seconds(tmp_path) == 0.0
