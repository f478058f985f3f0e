"""Objects as few bytes, and back."""

import os

import orjson
import pytest

from fleetqueue.api import packing
from fleetqueue.api.packing import AT_ONCE, DELAY_SECONDS, PAUSE_SECONDS, Packer, PackingTimer
from fleetqueue.testing.virtual_time import advance


def job(number: int, **status: int) -> bytes:
    labels = {f"label-{name}": f"value-{name}" for name in range(40)}
    return orjson.dumps({"metadata": {"name": f"job-{number}", "labels": labels}, "status": status})


@pytest.mark.parametrize(
    "json",
    [
        pytest.param(b"{}", id="nothing in it"),
        pytest.param('{"note":"快速"}'.encode(), id="text that is not ASCII"),
        pytest.param(orjson.dumps({"data": "x" * 100_000}), id="larger than what zlib looks at"),
    ],
)
def test_what_was_packed_is_unpacked(json):
    packer = Packer()

    pattern, packed = packer.pack(json)

    assert pattern.unpack(packed) == json


def test_an_object_like_those_before_takes_few_bytes():
    packer = Packer()
    packer.pack(job(1))

    _, packed = packer.pack(job(2, active=1))

    assert len(packed) < len(job(2)) / 20


def test_a_pattern_is_kept_for_some_objects_at_least(monkeypatch):
    monkeypatch.setattr(packing, "RENEWED", 3)
    packer = Packer()

    patterns = [packer.pack(os.urandom(100).hex().encode())[0] for _ in range(8)]

    assert len({id(pattern) for pattern in patterns}) == 2


def test_what_was_packed_by_an_older_pattern_is_still_read(monkeypatch):
    monkeypatch.setattr(packing, "RENEWED", 0)
    packer = Packer()
    objects = [os.urandom(100).hex().encode() for _ in range(5)]

    packed = [packer.pack(json) for json in objects]

    assert [pattern.unpack(data) for pattern, data in packed] == objects


def test_a_pattern_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(packing, "RENEWED", 0)
    packer = Packer()

    patterns = [packer.pack(os.urandom(2000).hex().encode())[0] for _ in range(10)]

    assert max(len(pattern.json) for pattern in patterns) == packing.MOST_PATTERN


@pytest.mark.virtual_time
async def test_a_timer_has_what_is_due_packed_a_little_at_a_time():
    due, asked = AT_ONCE + 1, []

    def pack(most: int) -> bool:
        nonlocal due
        asked.append(most)
        due -= most
        return due > 0

    timer = PackingTimer(pack)
    timer.start()
    timer.start()
    await advance(DELAY_SECONDS)
    assert asked == [AT_ONCE]

    await advance(10 * PAUSE_SECONDS)
    assert asked == [AT_ONCE, AT_ONCE]


@pytest.mark.virtual_time
async def test_a_timer_that_was_stopped_asks_no_more():
    asked = []
    timer = PackingTimer(asked.append)
    timer.start()

    timer.stop()

    await advance(10 * DELAY_SECONDS)
    assert not asked
