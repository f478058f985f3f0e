"""A server that is killed under sixteen writers loses nothing that it acknowledged, and gives no revision twice.

`make kill ROUNDS=40` asks for more kills than the few that an ordinary run has time for. Every run has a seed of its
own; FLEETQUEUE_KILL_SEED sets one that failed again.
"""

import os
import random
import shutil
from contextlib import asynccontextmanager

import pytest

from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.embedded_lab import EmbeddedLab, EmbeddedSettings
from fleetqueue.lab import control
from fleetqueue.real.fleet import HUB

from .writers import Watcher, Writers, found

ROUNDS = int(os.environ.get("FLEETQUEUE_KILL_ROUNDS", "2"))
SEED = int(os.environ.get("FLEETQUEUE_KILL_SEED", random.randrange(10**9)))
SETTINGS = EmbeddedSettings(workers=0)
MODULE = "fleetqueue.fleets.embedded_lab"


@asynccontextmanager
async def process_of(folder):
    """A server in a process of its own, which does not outlive the block."""
    log = folder / "server.log"
    process = control.spawn(MODULE, folder, SETTINGS, log)
    try:
        await control.wait_until_up(folder, process, log, lambda line: None)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.timeout(60 + 15 * ROUNDS)
@pytest.mark.parametrize("seed", [SEED], ids=["seed"])
async def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path, seed):
    kubeconfig = tmp_path / HUB / "kubeconfig"
    chance = random.Random(seed)
    writers = Writers(kubeconfig, chance)
    watcher = None
    for _ in range(ROUNDS):
        async with process_of(tmp_path) as process:
            left, revision = await found(kubeconfig)
            writers.ledger.settle(left)
            watcher = watcher or Watcher(kubeconfig, revision)
            async with watcher.watching():
                await writers.write(chance.randrange(50, 600), process.kill)

    lab = EmbeddedLab(tmp_path, SETTINGS)
    await lab.start()
    try:
        left, revision = await found(kubeconfig)
        async with watcher.watching():
            await watcher.caught_up()
    finally:
        await lab.stop()

    writers.ledger.settle(left)
    told = dict(watcher.events[:-1])
    assert {name: version for name, version in told.items() if version.step} == left
    assert writers.ledger.revisions <= {version.revision for _, version in watcher.events}
    assert revision >= max(version.revision for version in told.values())


async def test_a_torn_end_of_the_log_does_no_harm(tmp_path):
    """What follows the last commit in the file, whole or half or nonsense, changes nothing of what was committed."""
    path, torn = tmp_path / "store.db", tmp_path / "torn"
    tail = tmp_path / "store.db-wal"
    chance = random.Random(0)
    with writer_thread() as writer:
        storage = await ClusterStorage.open(SqliteLog(path, writer))
        states = []
        for step in range(60):
            await storage.create(keys.key_of("", "configmaps", "ns", f"c{step}"), {"metadata": {}, "n": step})
            states.append((tail.stat().st_size, storage.revision))
        whole = tail.read_bytes()
        shutil.copy(path, tmp_path / "copy.db")
        await storage.close()

        for _ in range(40):
            cut = chance.randrange(states[20][0], len(whole) + 1)
            torn.mkdir()
            shutil.copy(tmp_path / "copy.db", torn / "store.db")
            (torn / "store.db-wal").write_bytes(whole[:cut] + chance.randbytes(chance.randrange(6000)))
            storage = await ClusterStorage.open(SqliteLog(torn / "store.db", writer))
            assert storage.revision == max(revision for size, revision in states if size <= cut)
            assert len(storage.list("/").entries) == sum(size <= cut for size, _ in states)
            await storage.close()
            shutil.rmtree(torn)
