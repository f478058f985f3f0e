"""Clients of a server that may die at any moment: some that write without a pause, and one that watches them."""

import asyncio
from contextlib import asynccontextmanager

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.requests import MERGE_PATCH, Request
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect

from .ledger import GONE, Ledger, Version

WRITERS = 16
NAMESPACE = "default"
PATH = ConfigMap.resource.path(NAMESPACE)
LIMIT_SECONDS = 30.0


class Writers:
    """Each creates, replaces, patches and deletes objects of its own."""

    def __init__(self, kubeconfig, chance):
        self.kubeconfig = kubeconfig
        self.chance = chance
        self.ledger = Ledger()
        self.acknowledged = 0
        self._names = [f"writer-{number}" for number in range(WRITERS)]
        self._steps = 0

    async def write(self, count, kill):
        """Write until nobody answers any more; after so many answers the server is killed."""
        enough = self.acknowledged + count
        async with asyncio.TaskGroup() as group:
            for number in range(WRITERS):
                group.create_task(self._write(number, enough, kill))

    async def _write(self, number, enough, kill):
        client = connect(load(self.kubeconfig))
        try:
            while True:
                await self._step(client, number)
                self.acknowledged += 1
                if self.acknowledged == enough:
                    kill()
        except errors.Unreachable:
            pass
        finally:
            await client.close()

    async def _step(self, client, number):
        self._steps += 1
        known = self.ledger.known.get(self._names[number], GONE)
        if known == GONE:
            self._names[number] = f"writer-{number}-{self._steps}"
        name = self._names[number]
        request = self._request(name, known, self._steps)
        step = GONE.step if request.method == "DELETE" else self._steps
        self.ledger.doubts[name] = step
        answer = await client.door.request(request, timeout=LIMIT_SECONDS)
        assert answer.status in (200, 201), answer
        self.ledger.acknowledge(name, GONE if step == GONE.step else version_of(answer.body))

    def _request(self, name, known, step):
        whole = manifest(name, step)
        if known == GONE:
            return Request("POST", PATH, body=whole)
        where = f"{PATH}/{name}"
        whole["metadata"]["resourceVersion"] = str(known.revision)
        changes = [
            Request("PUT", where, body=whole),
            Request("PATCH", where, body={"data": {"step": str(step)}}, content_type=MERGE_PATCH),
            Request("DELETE", where),
        ]
        return self.chance.choice(changes)


class Watcher:
    """Sees all that is written, across all kills: each time it goes on from the last revision that it saw."""

    def __init__(self, kubeconfig, since):
        self.kubeconfig = kubeconfig
        self.revision = since
        self.events = []
        """Pairs of a name and what became of the object."""
        self._progress = asyncio.Condition()

    @asynccontextmanager
    async def watching(self):
        following = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait({following})
        if not following.cancelled():
            following.result()

    async def caught_up(self):
        """Write something, and wait until it is seen, and so all that was before it."""
        client = connect(load(self.kubeconfig))
        try:
            end = version_of(await client.create(ConfigMap.resource, manifest("end", 1)))
        finally:
            await client.close()
        async with asyncio.timeout(LIMIT_SECONDS):
            async with self._progress:
                await self._progress.wait_for(lambda: self.revision >= end.revision)

    async def _follow(self):
        client = connect(load(self.kubeconfig))
        query = {"resourceVersion": str(self.revision)}
        try:
            async with client.watch(ConfigMap.resource, NAMESPACE, query=query, silence=LIMIT_SECONDS) as events:
                async for event in events:
                    async with self._progress:
                        self._take(event)
                        self._progress.notify_all()
        except errors.Unreachable:
            pass
        finally:
            await client.close()

    def _take(self, event):
        revision = int(event.object["metadata"]["resourceVersion"])
        assert revision > self.revision, "an event came twice, or in the wrong order"
        self.revision = revision
        step = GONE.step if event.type == "DELETED" else version_of(event.object).step
        self.events.append((event.object["metadata"]["name"], Version(step, revision)))


async def found(kubeconfig):
    """Return what the writers have left on the server, and the revision of this list."""
    client = connect(load(kubeconfig))
    try:
        page = await client.list(ConfigMap.resource, NAMESPACE)
    finally:
        await client.close()
    items = [item for item in page.items if item["metadata"]["name"].startswith("writer-")]
    return {item["metadata"]["name"]: version_of(item) for item in items}, int(page.resource_version)


def manifest(name, step):
    return ConfigMap.manifest(name, NAMESPACE, data={"step": str(step)})


def version_of(item):
    return Version(int(item["data"]["step"]), int(item["metadata"]["resourceVersion"]))
