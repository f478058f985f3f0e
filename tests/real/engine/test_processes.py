"""Processes start, stop, freeze and never outlive the one who started them. Needs no built engine."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from fleetqueue.lab import pids
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.lab.probes import accepts
from fleetqueue.lab.processes import Command, Processes, Tier
from fleetqueue.lab.state import read_json, write_json

SLEEPER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
PARENT = """
import asyncio, sys
from pathlib import Path
from fleetqueue.lab.processes import Command, Processes
folder = Path(sys.argv[1])
processes = Processes(folder / "processes.json")
for name in ("a/one", "a/two"):
    processes.start(Command(name, (sys.executable, "-c", "import time; time.sleep(600)"), folder / "log"))
print("started", flush=True)
asyncio.run(asyncio.sleep(600))
"""


@pytest.fixture
async def processes(tmp_path):
    running = Processes(tmp_path / "processes.json")
    yield running
    running.kill_all()


def python(name, code, folder, **more):
    return Command(name, (sys.executable, "-c", code), folder / f"{name.replace('/', '-')}.log", **more)


async def test_a_process_logs_to_its_file_and_stops(processes, tmp_path):
    processes.start(python("a/talker", "print('hello', flush=True);" + SLEEPER, tmp_path))
    await eventually(lambda: "hello" in (tmp_path / "a-talker.log").read_text())

    await processes.stop("a/talker")

    assert [status.state for status in processes.status()] == ["down (exit code -15)"]


async def test_an_early_exit_shows_the_end_of_the_log(processes, tmp_path):
    processes.start(python("a/broken", "raise SystemExit('no such flag')", tmp_path, probe=accepts(1)))

    with pytest.raises(EngineError, match=r'process "a/broken" ended with exit code 1; .*\nno such flag'):
        await processes.ready("a/broken")


async def test_a_process_that_never_gets_ready_is_an_error(processes, tmp_path):
    processes.start(python("a/slow", SLEEPER, tmp_path, probe=accepts(1)))

    with pytest.raises(EngineError, match='process "a/slow" was not ready after 0 s'):
        await processes.ready("a/slow", limit=0.1)


async def test_a_process_that_does_not_listen_is_ended_after_its_time(processes, tmp_path):
    processes.start(python("a/deaf", DEAF, tmp_path, stop_seconds=0.2))
    await eventually(lambda: "deaf" in (tmp_path / "a-deaf.log").read_text())

    await processes.stop("a/deaf")

    assert processes.status()[0].state == "down (exit code -9)"


async def test_a_frozen_process_can_be_stopped(processes, tmp_path):
    processes.start(python("a/frozen", SLEEPER, tmp_path))
    processes.pause("a/frozen")
    assert processes.status()[0].state == "paused"

    await processes.stop("a/frozen")

    assert processes.status()[0].state == "down (exit code -15)"


async def test_restart_gives_a_new_process(processes, tmp_path):
    processes.start(python("a/one", SLEEPER, tmp_path))
    before = processes.status()[0].pid

    await processes.restart("a/one")

    assert processes.status()[0].pid not in (None, before)


async def test_the_same_name_starts_only_once(processes, tmp_path):
    processes.start(python("a/one", SLEEPER, tmp_path))

    with pytest.raises(EngineError, match='"a/one" is already up'):
        processes.start(python("a/one", SLEEPER, tmp_path))


async def test_an_unknown_name_is_told_the_known_ones(processes, tmp_path):
    processes.start(python("a/one", SLEEPER, tmp_path))

    with pytest.raises(NoProcess, match='no process "a/two"; there are: a/one'):
        await processes.restart("a/two")


async def test_higher_tiers_stop_first(processes, tmp_path):
    code = (
        "import signal, sys, time;"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'a').write(sys.argv[2]), sys.exit()));"
        "print('set', flush=True); time.sleep(600)"
    )
    for tier in Tier:
        log = tmp_path / f"{tier.name}.log"
        arguments = (sys.executable, "-c", code, str(tmp_path / "order"), str(int(tier)))
        processes.start(Command(f"a/{tier.name}", arguments, log, tier=tier))
        await eventually(lambda log=log: "set" in log.read_text())

    await processes.stop_all()

    assert (tmp_path / "order").read_text() == "210"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start ends what was left behind")
async def test_nothing_outlives_a_parent_that_is_killed(tmp_path):
    parent = spawn_parent(tmp_path)
    children = recorded(tmp_path)
    assert len(children) == 2

    parent.kill()
    parent.wait()

    await eventually(lambda: not any(pids.is_same(*child) for child in children))


async def test_the_next_run_ends_what_was_left_behind(tmp_path):
    left = leave_behind(tmp_path)
    earlier = Processes(tmp_path / "processes.json")
    reaper = asyncio.create_task(asyncio.to_thread(left.wait))

    assert await earlier.end_leftovers() == ["a/left"]
    assert await reaper == -signal.SIGTERM


async def test_a_stranger_with_a_remembered_number_is_left_alone(tmp_path):
    (tmp_path / "processes.json").write_text(f'{{"a/old": {{"pid": {os.getpid()}, "started": "long ago"}}}}')

    assert await Processes(tmp_path / "processes.json").end_leftovers() == []


def leave_behind(folder):
    """A recorded process that was not launched as ours are: as on a system whose kernel does not end children."""
    left = subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=True)
    write_json(folder / "processes.json", {"a/left": {"pid": left.pid, "started": pids.started(left.pid)}})
    return left


def spawn_parent(folder):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE)
    with parent.stdout:
        assert parent.stdout.readline() == b"started\n"
    return parent


def recorded(folder):
    return [(entry["pid"], entry["started"]) for entry in read_json(folder / "processes.json", {}).values()]


async def eventually(condition, limit=10.0):
    until = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        await asyncio.sleep(0.02)
