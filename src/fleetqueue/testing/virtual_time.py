"""Time that jumps: an event loop that never waits for a timer.

While something is ready to run, time stands still. When nothing is, it jumps to the next timer, so that an hour of
timeouts costs milliseconds and every run is the same. Threads (`asyncio.to_thread`) are waited for, and time stands
still meanwhile. Sockets and child processes are not for this loop: it cannot know that an answer is on its way, and
would jump over it; unless whoever waits for one says so (`expect`), as `real_server` does.

Those who wake each other without end let no time pass at all. That is said (`Stuck`), and by whom, before the test's
own timeout would strike: that one raises into whatever runs just then, perhaps a part of the fleet, and the test would
go on without it.

    async def test_something():          # a test in virtual time: see tests/unit/conftest.py
        await settle()                   # let everything happen that needs no time
        await advance(60)                # a minute later
"""

import asyncio
import errno
import random
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar, TypeVarTuple

from fleetqueue import clock
from fleetqueue.clock import SystemClock

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""What a virtual clock shows when its loop begins."""
PATIENCE: Final = 20.0
"""Real seconds that something from outside may take."""
MOST_TURNS: Final = 20_000
"""So often the loop may turn without rest. A fleet with faults needs 330 at the most, and to create a thousand jobs one
after the other 20."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Stuck(RuntimeError):
    """Everything waits for something that will never come, or has no end."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        self._turns = 0
        self._threads = 0
        self._expected: dict[object, str] = {}
        self._settling: list[asyncio.Future[None]] = []
        self._last: list[Callable[[], Coroutine[Any, Any, None]]] = []
        super().__init__(_IdleSelector(self._jump, self._turn, self._give_up))
        # Timers within it of now are due. The default is less than the steps of a float after some months.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._now

    def expect(self, what: object, why: str) -> None:
        """Let no time pass until something from outside of this process has arrived."""
        self._expected[what] = why

    def arrived(self, what: object) -> None:
        self._expected.pop(what, None)

    async def subprocess_exec(self, protocol_factory: Any, *args: Any, **kwargs: Any) -> Any:
        """Start no process: time would jump over its answer."""
        raise OSError(errno.ENOTSUP, "no process can be started in virtual time")

    def at_close(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something as the last thing of all."""
        self._last.append(work)

    def close(self) -> None:
        while self._last:
            self.run_until_complete(self._last.pop()())
        super().close()

    async def settle(self) -> None:
        """Wait until nothing is left to do without time passing."""
        settled = self.create_future()
        self._settling.append(settled)
        await settled

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        # A timer is due a little before its time; whoever then waits for the rest must get it, or it never passes.
        soonest = self._now + 2 * self._clock_resolution
        return super().call_at(soonest if self._now < when < soonest else when, callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        self._threads += 1  # it waits for its threads in a thread of its own
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._threads -= 1

    def _jump(self, timeout: float | None) -> bool:
        """Do what an idle loop does instead of waiting; False where it must really wait."""
        self._turns = 0
        if self._threads or self._expected:
            return False
        if self._settling:
            for settled in self._settling:
                if not settled.done():
                    settled.set_result(None)
            self._settling.clear()
        elif timeout is None:
            raise Stuck("every task waits, and no timer is left that could wake one")
        else:
            self._now += timeout
        return True

    def _turn(self) -> None:
        """Count a turn in which somebody had something to do."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            self._turns = 0  # whoever is stopped now may need some turns to end
            raise Stuck(f"time stands still at {self._now:g} s, since these never rest: {', '.join(self._busy())}")

    def _busy(self) -> list[str]:
        """Name the tasks that are about to run; asyncio shows them to nobody."""
        ready = (getattr(handle._callback, "__self__", None) for handle in getattr(self, "_ready", ()))
        return sorted({task.get_name() for task in ready if isinstance(task, asyncio.Task)})

    def _give_up(self) -> None:
        """Say what did not come, and expect it no more, so that all can end."""
        missing = "; ".join(self._expected.values())
        self._expected.clear()
        if missing:
            raise Stuck(f"not within {PATIENCE:g} s: {missing}")

    def _thread_ended(self, _: asyncio.Future[Any]) -> None:
        self._threads -= 1


class _IdleSelector(selectors.DefaultSelector):
    """Asks what to do instead of waiting."""

    def __init__(
        self, when_idle: Callable[[float | None], bool], when_busy: Callable[[], None], give_up: Callable[[], None]
    ) -> None:
        super().__init__()
        self._when_idle = when_idle
        self._when_busy = when_busy
        self._give_up = give_up

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if timeout is not None and timeout <= 0:
            self._when_busy()
            return ready
        if ready or self._when_idle(timeout):
            return ready
        while not (ready := super().select(PATIENCE)):
            self._give_up()
        return ready


class VirtualClock:
    """A wall clock that follows the loop, with chance from a seed."""

    def __init__(self, seed: int = 0, start: datetime = START) -> None:
        self.chance = random.Random(seed)
        self.start = start

    def now(self) -> datetime:
        return self.start + timedelta(seconds=clock.monotonic())

    def since_boot(self) -> float:
        return clock.monotonic()

    def boot(self) -> str:
        return "virtual"


def run(test: Coroutine[Any, Any, T], *, seed: int = 0) -> T:
    """Run a coroutine from beginning to end in virtual time."""
    with clock.use(VirtualClock(seed)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(test)


async def settle() -> None:
    """Let everything happen that needs no time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop), "settle() needs virtual time: mark the test with virtual_time"
    await loop.settle()


async def advance(seconds: float) -> None:
    """Let so much time pass, with all that happens in it."""
    await asyncio.sleep(seconds)
    await settle()


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Run something beside the body and stop it afterwards; if it failed, so does the body's end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


class ShiftedClock(SystemClock):
    def __init__(self, by: timedelta = timedelta()) -> None:
        super().__init__()
        self.by = by

    def now(self) -> datetime:
        return super().now() + self.by
