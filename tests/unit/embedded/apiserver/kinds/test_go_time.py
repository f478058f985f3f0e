"""Times, against what Go reads from the same texts."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds import go_time

REAL = json.loads(Path(__file__).with_name("real_times.json").read_text())


def outcome(text, layout):
    try:
        moment = go_time.parsed(text, layout)
    except go_time.BadTime as error:
        return str(error)
    return f"{moment.seconds} {moment.nanos}"


@pytest.mark.parametrize(("text", "seconds", "micros"), REAL, ids=lambda value: value[:30])
def test_a_text_is_read_or_refused_as_by_go(text, seconds, micros):
    assert outcome(text, go_time.RFC3339) == seconds
    assert outcome(text, go_time.RFC3339_MICRO) == micros
