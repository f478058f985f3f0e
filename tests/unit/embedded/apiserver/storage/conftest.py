"""A storage over each log, and a log that commits, or fails, when the test says so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.embedded.apiserver.storage.log import LogContent, MemoryLog
from fleetqueue.embedded.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage, Retention

MAPS = keys.prefix_of("", "configmaps")

OpenFile = Callable[..., Awaitable[ClusterStorage]]


def config_map(name: str, namespace: str = "ns", **data: str) -> Manifest:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def key(name: str, namespace: str = "ns") -> str:
    return keys.key_of("", "configmaps", namespace, name)


async def create(storage, name, namespace="ns", **data):
    return await storage.create(key(name, namespace), config_map(name, namespace, **data))


async def update(storage, name, **data):
    return await storage.update(key(name), config_map(name, **data), expected=storage.head(key(name)).revision)


async def delete(storage, name):
    return await storage.delete(key(name), expected=storage.head(key(name)).revision)


def names(page):
    return [entry.object["metadata"]["name"] for entry in page.entries]


def told(changes):
    """Say shortly what a watch has handed out."""
    return [(change.type, change.entry.object["metadata"]["name"]) for change in changes]


async def started(work):
    """Start something and let it come to where it waits."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


class HeldLog:
    """Holds changes until the test decides what becomes of them."""

    keeps = True

    def __init__(self) -> None:
        self.held = []
        self.compactions = []

    async def open(self, listener):
        self._listener = listener
        return LogContent()

    def append(self, change):
        self.held.append(change)

    def commit(self, count=None):
        done, self.held = self.held[:count], self.held[count:] if count else []
        self._listener.committed(done[-1].revision)

    def fail(self, error=None):
        self.held.clear()
        self._listener.failed(error or OSError("disk full"))

    async def compact(self, revision, unseen):
        self.compactions.append((revision, list(unseen)))

    async def close(self):
        pass


@pytest.fixture
def held() -> HeldLog:
    return HeldLog()


@pytest.fixture
async def held_storage(held: HeldLog) -> ClusterStorage:
    """A storage whose commits the test decides."""
    return await ClusterStorage.open(held)


@pytest.fixture
def writer() -> Iterator[Executor]:
    with writer_thread() as thread:
        yield thread


@pytest.fixture
async def open_file(tmp_path: Path, writer: Executor) -> AsyncIterator[OpenFile]:
    """`await open_file()` opens the storage in a file of the test; those still open are closed in the end."""
    async with AsyncExitStack() as stack:

        async def open_file(name: str = "cluster.db", **settings: Retention) -> ClusterStorage:
            storage = await ClusterStorage.open(SqliteLog(tmp_path / name, writer), **settings)
            stack.push_async_callback(storage.close)
            return storage

        yield open_file


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, open_file: OpenFile) -> ClusterStorage:
    """A storage over each log."""
    return await open_file() if request.param == "sqlite" else await ClusterStorage.open(MemoryLog())
