"""A program in its container: it starts, becomes ready, ends, and is started again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes.crash_back_off import BackOff
from fleetqueue.embedded.nodes.pod_environment import NotThere
from fleetqueue.embedded.nodes.programs import Program, ProgramContext
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log, tagged

PROBE_SECONDS: Final = 10
LOOK_AGAIN: Final = 10.0
"""Seconds until a kubelet tries again to start a container for which something is missing."""
UNREADY_AFTER: Final = 3
"""So many looks in a row have to fail until a container that was ready is not; as kubelets do it by default."""

log = Log("programs")


@dataclass(frozen=True, slots=True)
class End:
    code: int
    message: str
    started: datetime
    finished: datetime


@dataclass(slots=True)
class ProgramState:
    """All that is said of a container."""

    name: str
    image: str
    restarts: int = 0
    started: datetime | None = None
    """None while it does not run."""
    is_ready: bool = False
    last: End | None = None
    pause: float = 0.0
    """For how many seconds it waits until it is started again."""
    lacks: str = ""
    """What is missing so that it cannot be started again."""
    has_ended: bool = False
    """Whether it will not be started again."""


class ProgramLife:
    def __init__(
        self,
        pod: Pod,
        spec: Manifest,
        program: Program,
        context: ProgramContext,
        *,
        restarts: int,
        events: Recorder,
        renew: Callable[[], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """Take what a container needs.

        Args:
            renew: looks up anew what it has from other objects, before each further start.
            changed: is called when there is something new to say.
        """
        self.pod = pod
        self.program = program
        self.context = context
        self.events = events
        self.state = ProgramState(spec["name"], spec["image"], restarts)
        self._probe: Manifest | None = spec.get("readinessProbe")
        self._renew = renew
        self._changed = changed

    async def run(self) -> None:
        """Run until there is no next start, or until cancelled."""
        back_off = BackOff()
        while True:
            end = await self._run_once()
            self.state.last, self.state.started, self.state.is_ready = end, None, False
            log.info("program has ended", pod=self.pod.key, container=self.state.name, code=end.code)
            if not restarts(self.pod.spec.restart_policy, end.code):
                self.state.has_ended = True
                self._changed()
                return
            await self._wait(back_off.pause_after(clock.monotonic()))
            await self._prepare()
            self.state.restarts += 1
            back_off.starts(clock.monotonic())

    async def _run_once(self) -> End:
        started = self.state.started = clock.now()
        await self._say("Created", "Container created")
        await self._say("Started", "Container started")
        # A task of its own: so what the program ends by is never taken for our own cancellation.
        working = asyncio.create_task(self._work(), name=f"{self.pod.key} {self.state.name}")
        looking: list[asyncio.Task[None]] = []
        try:
            await asyncio.sleep(0)
            if not working.done():  # what cannot even begin is never ready
                looking.append(asyncio.create_task(self._look()))
            self._changed()
            await asyncio.wait({working})
        finally:
            for task in (*looking, working):
                task.cancel()
                await asyncio.wait({task})
        try:
            code, message = working.result()
        except asyncio.CancelledError as error:  # nobody told it to stop: a cancellation of its own got loose
            code, message = 1, explained(error)
        return End(code, message, started, clock.now())

    async def _work(self) -> tuple[int, str]:
        """Run the program; return its exit code and what went wrong: whatever it raises, it has failed."""
        try:
            with tagged(pod=self.pod.key):
                await self.program(self.context)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            log.exception("program failed", pod=self.pod.key, container=self.state.name)
            return 1, explained(error)
        return 0, ""

    async def _look(self) -> None:
        """Ask now and then whether the program does its work; without a probe it does while it runs."""
        probe = self._probe
        if probe is None:
            self.state.is_ready = True
            self._changed()
            return
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        failures = 0
        while True:
            why_not = self._why_not_ready()
            failures = failures + 1 if why_not else 0
            is_ready = failures == 0 or (self.state.is_ready and failures < UNREADY_AFTER)
            if is_ready != self.state.is_ready:
                self.state.is_ready = is_ready
                self._changed()
            if why_not:
                note = f"Readiness probe failed: {why_not}"
                await self.events.warning(self.pod, "Unhealthy", note, part=self._part)
            await asyncio.sleep(probe.get("periodSeconds") or PROBE_SECONDS)

    def _why_not_ready(self) -> str:
        try:
            return self.context.why_not_ready()
        except Exception as error:  # a probe that raises has failed, and the next one is made all the same
            return explained(error)

    async def _wait(self, pause: float) -> None:
        if not pause:
            return
        self.state.pause = pause
        self._changed()
        name = f"{self.pod.name}_{self.pod.namespace}({self.pod.uid})"
        note = f"Back-off restarting failed container {self.state.name} in pod {name}"
        await self.events.warning(self.pod, "BackOff", note, part=self._part)
        await asyncio.sleep(pause)
        self.state.pause = 0.0

    async def _prepare(self) -> None:
        """Look up what the container is started with; wait for what is not there."""
        while True:
            try:
                await self._renew()
                break
            except NotThere as error:
                self.state.lacks = str(error.__cause__ or error)
                self._changed()
                await self.events.warning(self.pod, error.reason, str(error), part=self._part)
            except (errors.ApiError, errors.Unreachable) as error:
                log.warning("environment not read", pod=self.pod.key, container=self.state.name, error=error)
            await asyncio.sleep(LOOK_AGAIN)
        self.state.lacks = ""

    async def _say(self, reason: str, note: str) -> None:
        await self.events.normal(self.pod, reason, note, part=self._part)

    @property
    def _part(self) -> str:
        return f"spec.containers{{{self.state.name}}}"


def restarts(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def explained(error: BaseException) -> str:
    """Say what went wrong; of several things the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:4096]
