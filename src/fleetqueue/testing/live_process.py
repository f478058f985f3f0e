"""The process in which the clusters of a live fleet are, for as long as the test that owns it.

Usage: python -m fleetqueue.testing.live_process <folder> <settings as JSON>

It says a line when all is up, and then answers each line of its standard input with one. When that input ends, so does
the process, and its folder is gone: a test that is killed, and cannot say that it has ended, leaves nothing behind.
"""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import orjson

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets import embedded_log
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings
from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.supervisor import Supervisor


async def work(lab: EmbeddedLab) -> None:
    """Keep a fleet up until nobody is left who could ask for anything, even if that is while it starts."""
    questions = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(questions)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    starting, asked = asyncio.create_task(lab.start()), asyncio.create_task(questions.readline())
    await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():  # nobody asks for anything before all is up: the test has ended
        starting.cancel()
        await asyncio.wait({starting})
        return
    starting.result()
    try:
        _say("up")
        supervisor = FaultySupervisor(lab)
        line = await asked
        while line:
            _say(await supervisor.answer(line))
            line = await questions.readline()
    finally:
        await lab.stop()


class FaultySupervisor(Supervisor):
    """Puts faults on the ways to the clusters of a fleet, as nobody can who only has it running."""

    def __init__(self, lab: EmbeddedLab) -> None:
        super().__init__(lab)
        self.endpoints = lab.endpoints

    async def do(self, verb: str, arguments: list[Any]) -> Any:
        match verb:
            case "slow":
                name, seconds = arguments
                self.endpoints[name].way.slow = seconds
            case "fail":
                name, pattern, error, times, happens = arguments
                self.endpoints[name].way.fail_on(pattern, _error(error), times=times, happens=happens)
            case "end_watches":
                name, error = arguments
                self.endpoints[name].end_watches(error and errors.from_status(error["code"], error))
            case "compact":
                await self.endpoints[arguments[0]].compact()
            case "heal":
                await self.endpoints[arguments[0]].heal()
            case _:
                return await super().do(verb, arguments)
        return None


def _error(told: Manifest | str) -> errors.ApiError | errors.Unreachable:
    """Build an error from its Status; a text is that of an answer that never comes."""
    return errors.Unreachable(told) if isinstance(told, str) else errors.from_status(told["code"], told)


def _say(what: object) -> None:
    sys.stdout.buffer.write(orjson.dumps(what) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    folder, settings = Path(sys.argv[1]), EmbeddedSettings(**orjson.loads(sys.argv[2]))
    embedded_log.keep(folder)
    try:
        asyncio.run(work(EmbeddedLab(folder, settings)))
    except EngineError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except BrokenPipeError:
        return 0  # the test has ended while it was told something
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
