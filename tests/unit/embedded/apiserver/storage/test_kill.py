"""A process that is killed loses nothing that it acknowledged, and no revision is given twice.

`FLEETQUEUE_KILL_ROUNDS=500` asks for more kills than the few that an ordinary run has time for.
"""

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import fleetqueue
from fleetqueue.embedded.apiserver.storage.log import LogError

from .conftest import MAPS

ROUNDS = int(os.environ.get("FLEETQUEUE_KILL_ROUNDS", "3"))
WRITERS = 16

# Each writer goes round create, update, update, delete, each time with a new name, and says what was acknowledged.
WRITING = f"""
import asyncio, os, sys
from pathlib import Path
from fleetqueue.embedded.apiserver.storage.storage import Retention
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage

async def write(storage, writer):
    for step in range(10**9):
        name = f"{{sys.argv[2]}}-{{writer}}-{{step // 4}}"
        key, manifest = f"{MAPS}ns/{{name}}", {{"metadata": {{"name": name}}, "step": step}}
        if step % 4 == 0:
            entry = await storage.create(key, manifest)
        elif step % 4 == 3:
            entry = await storage.delete(key, expected=entry.revision)
        else:
            entry = await storage.update(key, manifest, expected=entry.revision)
        os.write(1, f"{{writer}} {{step}} {{entry.revision}}\\n".encode())

async def main():
    storage = await ClusterStorage.open(SqliteLog(Path(sys.argv[1]), writer_thread()), retention=Retention(events=200))
    await asyncio.gather(*(write(storage, writer) for writer in range({WRITERS})))

asyncio.run(main())
"""


def state_after(step):
    """Return the name's number and what a writer's object says after a step; None if it is deleted."""
    return None if step < 0 or step % 4 == 3 else (step // 4, step)


def writing(path, name):
    """Start a process that writes."""
    environment = {**os.environ, "PYTHONPATH": str(Path(fleetqueue.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-c", WRITING, path, name], stdout=subprocess.PIPE, env=environment)


def acknowledged(path, number, count):
    """Let a process write until it has acknowledged so many changes, kill it, and return what it said."""
    with writing(path, f"round{number}") as process:
        lines = [process.stdout.readline() for _ in range(count)]
        process.kill()
        lines += process.stdout.readlines()
    return [tuple(map(int, line.split())) for line in lines if line.endswith(b"\n")]


@pytest.mark.timeout(60 + 5 * ROUNDS)
async def test_a_killed_process_loses_nothing_that_it_acknowledged(open_file, tmp_path):
    given: set[int] = set()
    settled: dict[str, int] = {}
    for number in range(ROUNDS):
        count = random.randrange(50, 1500)
        said = await asyncio.to_thread(acknowledged, tmp_path / "cluster.db", number, count)
        assert len(said) >= count, "the process ended by itself"
        storage = await open_file()
        found = {entry.object["metadata"]["name"]: entry for entry in storage.list(MAPS).entries}

        revisions = [revision for _, _, revision in said]
        assert len(given | set(revisions)) == len(given) + len(revisions)
        given |= set(revisions)
        assert storage.revision >= max(given)
        assert {name: entry.revision for name, entry in found.items() if name in settled} == settled
        last = {writer: step for writer, step, _ in said}
        for writer in range(WRITERS):
            mine = {
                (int(name.split("-")[2]), entry.object["step"])
                for name, entry in found.items()
                if name.startswith(f"round{number}-{writer}-")
            }
            step = last.get(writer, -1)
            allowed = [state_after(step), state_after(step + 1)]  # the last one may have happened unheard
            assert mine in [{state} - {None} for state in allowed], (writer, step)
        settled = {name: entry.revision for name, entry in found.items()}
        await storage.close()


async def test_a_file_in_use_by_another_process_is_refused(open_file, tmp_path):
    with writing(tmp_path / "cluster.db", "other") as process:
        process.stdout.readline()

        with pytest.raises(LogError, match="does another process use it"):
            await open_file()

        process.kill()
