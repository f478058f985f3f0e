"""How the pods of a Job are counted, and its pause after failures."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.kubernetes.job_tally import Failures, next_failures, tally
from fleetqueue.testing.virtual_time import START

from .job_objects import a_job, a_pod


@pytest.mark.parametrize(
    ("failures", "left"), [(0, 0), (1, 5), (2, 15), (3, 35), (7, 595), (50, 595)], ids=lambda value: str(value)
)
def test_the_pause_doubles_up_to_ten_minutes(failures, left):
    last = START + timedelta(seconds=95)

    assert Failures(failures, last).seconds_left(START + timedelta(seconds=100)) == left


def test_a_success_starts_the_count_of_failures_anew():
    pods = [a_pod("a", "Failed", ended=10), a_pod("b", "Succeeded", ended=20), a_pod("c", "Failed", ended=30)]
    counted = tally(a_job(parallelism=3, completions=3), pods)

    assert next_failures(Failures(4, START), counted) == Failures(1, START + timedelta(seconds=30))
