"""Random changes, those who follow them by a watch or an informer, and what really happened."""

import asyncio

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.runtime.informer import Informer, WatchScope
from fleetqueue.testing.virtual_time import running

MAPS = keys.prefix_of("", "configmaps", "default")
LIMIT_SECONDS = 30.0


async def change(client, chance, count):
    """Make, change and delete a few objects at random, some of them large; the last change makes one called `end`."""
    there = set()
    for step in range(count):
        name = f"c{chance.randrange(6)}"
        data = {"step": str(step), "text": "x" * chance.choice([0, 0, 10, 300, 5000])}
        if name not in there:
            there.add(name)
            await client.create(ConfigMap.resource, ConfigMap.manifest(name, "default", data=data))
        elif chance.random() < 0.3:
            there.remove(name)
            await client.delete(ConfigMap.resource, name, "default")
        else:
            await client.merge(ConfigMap.resource, name, "default", {"data": data})
    await client.create(ConfigMap.resource, ConfigMap.manifest("end", "default"))


async def history(server, since):
    """Return what the store knows to have happened."""
    changes = await server.storage.watch(MAPS, since=since).read()
    return [(change.type, change.entry.object["metadata"]["name"], change.revision) for change in changes]


async def follow(client, since):
    """Watch until the end, each time from the last revision that was seen; return what came."""
    seen = []
    while True:
        try:
            query = {"resourceVersion": str(since)}
            async with client.watch(ConfigMap.resource, "default", query=query, silence=LIMIT_SECONDS) as events:
                async for event in events:
                    metadata = event.object["metadata"]
                    since = int(metadata["resourceVersion"])
                    seen.append((event.type, metadata["name"], since))
                    if metadata["name"] == "end":
                        return seen
        except errors.Unreachable:
            await asyncio.sleep(0)


class Told:
    """What an informer tells, in the words of a watch."""

    def __init__(self):
        self.events = []
        self.ended = asyncio.Event()

    def hear(self, old, new):
        kind = "ADDED" if old is None else "DELETED" if new is None else "MODIFIED"
        assert old is None or new is None or int(new.metadata.resource_version) > int(old.metadata.resource_version)
        self.events.append((kind, (new or old).name))
        if (new or old).name == "end":
            self.ended.set()


async def through_informer(reader, writer, chance, count):
    """Let an informer follow all changes; return what it told and what it has in the end."""
    told = Told()
    informer = Informer(reader, ConfigMap, WatchScope("default"))
    informer.subscribe(told.hear)
    async with running(informer.run()), asyncio.timeout(LIMIT_SECONDS):
        await informer.synced.wait()
        await change(writer, chance, count)
        await told.ended.wait()
    return told.events, {view.name: view.metadata.resource_version for view in informer.store.all()}


def listed(server):
    entries = server.storage.list(MAPS).entries
    return {entry.object["metadata"]["name"]: str(entry.revision) for entry in entries}
