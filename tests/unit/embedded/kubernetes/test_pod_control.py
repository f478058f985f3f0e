"""Many things at once: all are waited for, and little is tried in vain."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.kubernetes.pod_control import at_once, slow_start


class Doing:
    """Does a thing by waiting a moment; remembers what was begun together."""

    def __init__(self, fails_at=None, error=None):
        self.batches = []
        self._open = []
        self.done = []
        self.fails_at = fails_at
        self.error = error or errors.Forbidden("exceeded quota")

    async def __call__(self, thing):
        if not self._open:
            self.batches.append(self._open)
        self._open.append(thing)
        await asyncio.sleep(0)
        self._open = []
        if thing == self.fails_at:
            raise self.error
        self.done.append(thing)


async def test_a_slow_start_takes_one_two_four():
    doing = Doing()

    assert await slow_start(range(10), doing) == (10, None)
    assert [len(batch) for batch in doing.batches] == [1, 2, 4, 3]


async def test_after_a_failure_nothing_more_is_begun():
    doing = Doing(fails_at=1)

    done, failure = await slow_start(range(10), doing)

    assert (done, doing.done) == (2, [0, 2])
    assert failure is doing.error


async def test_no_answer_is_no_failure_of_the_things():
    doing = Doing(fails_at=1, error=errors.Unreachable("cut"))

    with pytest.raises(errors.Unreachable):
        await slow_start(range(10), doing)

    assert doing.done == [0, 2]


async def test_all_are_waited_for_also_where_one_fails():
    doing = Doing(fails_at=0)

    with pytest.raises(errors.Forbidden):
        await at_once(range(5), doing)

    assert (len(doing.batches), doing.done) == (1, [1, 2, 3, 4])


async def test_nothing_is_nothing():
    doing = Doing()

    await at_once([], doing)

    assert await slow_start([], doing) == (0, None)
