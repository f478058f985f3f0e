"""Random writes and random faults of watches: in the end an informer has what the server has, and told it once."""

import asyncio
from contextlib import ExitStack, asynccontextmanager

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.faults import Failure, FaultyDoor, Way
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.runtime.informer import SILENCE_SECONDS, Informer, WatchScope
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance, settle

WRITES = st.tuples(st.sampled_from("abcd"), st.booleans(), st.none() | st.integers(0, 3))
"""A name, whether both informers follow it, and a value; none if it is to be deleted."""
SECONDS = st.sampled_from([0.1, 1, 10, 60, SILENCE_SECONDS + 1])
LABEL = "followed"
REFUSALS = [
    errors.Gone("too old resource version", reason="Expired"),
    errors.Forbidden("no role yet"),
    errors.NotFound("no such kind yet"),
    errors.TooManyRequests("later", details={"retryAfterSeconds": 3}),
    errors.ServerError("no disk"),
    errors.Unreachable("connection refused"),
]
STATUSES = [(410, "Expired"), (500, "InternalError"), (429, "TooManyRequests"), (504, "Timeout")]


class MeddledStream:
    """A stream into which lines are put that the server did not say."""

    def __init__(self, stream):
        self.status = stream.status
        self.stream = stream
        self.last = None
        self.extra = asyncio.Queue()
        self.waits = {}

    async def body(self):
        return await self.stream.body()

    async def lines(self):
        lines = aiter(self.stream.lines())
        while True:
            if "said" not in self.waits:
                self.waits["said"] = asyncio.ensure_future(anext(lines, None))
            if "extra" not in self.waits:
                self.waits["extra"] = asyncio.ensure_future(self.extra.get())
            await asyncio.wait(self.waits.values(), return_when=asyncio.FIRST_COMPLETED)
            if self.waits["said"].done():
                line = self.waits.pop("said").result()
            else:
                line = self.waits.pop("extra").result()(self.last)
            if line is None:
                return
            self.last = line["object"].get("metadata", {}).get("resourceVersion", self.last)
            yield line

    async def stop(self):
        for wait in self.waits.values():
            wait.cancel()
        await asyncio.gather(*self.waits.values(), return_exceptions=True)


class MeddlingDoor:
    def __init__(self, door, streams_lists):
        self.door = door
        self.streams_lists = streams_lists
        """Whether this is a newer server, which can list and watch in one stream."""
        self.streams = []

    async def request(self, request, *, timeout):
        return await self.door.request(request, timeout=timeout)

    @asynccontextmanager
    async def stream(self, request, *, silence):
        if not self.streams_lists and "sendInitialEvents" in request.query:
            raise errors.Invalid("sendInitialEvents: Forbidden")
        async with self.door.stream(request, silence=silence) as stream:
            meddled = MeddledStream(stream)
            self.streams.append(meddled)
            try:
                yield meddled
            finally:
                self.streams.remove(meddled)
                await meddled.stop()

    def say(self, line_of):
        """Put a line into every stream that has said something; it is made of the version that was said last."""
        for stream in self.streams:
            if stream.last is not None:
                stream.extra.put_nowait(line_of)


class Listener:
    """Hears an informer, and notices at once if it contradicts itself."""

    def __init__(self, informer):
        self.informer = informer
        self.known = {}
        informer.subscribe(self.hear)

    def hear(self, old, new):
        name = (new or old).name
        was, now = (int(one.metadata.resource_version) if one is not None else None for one in (old, new))
        assert self.known.get(name) == was, f"{name} was {was}, as it never was told"
        assert was is None or now is None or now > was, f"{name} went back from {was} to {now}, or was told twice"
        assert (was, now) != (None, None)
        if now is None:
            del self.known[name]
        else:
            self.known[name] = now


class InformerMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(clock.use(VirtualClock()))
        self.runner = self.stack.enter_context(asyncio.Runner(loop_factory=VirtualTimeLoop))
        self.there = {}

    def run(self, work):
        return self.runner.run(work)

    @initialize(streams_lists=st.booleans())
    def start(self, streams_lists):
        self.run(self._start(streams_lists))

    async def _start(self, streams_lists):
        secrets = Secrets(tokens={"admin": User("admin", (MASTERS,))})
        self.server = await new_server(secrets)
        door = InProcessDoor(self.server, RequestCredentials(token="admin"))
        self.writer = Client(door)
        self.way = Way()
        self.door = MeddlingDoor(FaultyDoor(door, self.way), streams_lists)
        followed = (WatchScope("default"), WatchScope("default", labels=f"{LABEL}=yes"))
        self.informers = [Informer(Client(self.door), ConfigMap, scope) for scope in followed]
        self.listeners = [Listener(informer) for informer in self.informers]
        self.tasks = [asyncio.create_task(informer.run()) for informer in self.informers]

    # What happens on the server

    @rule(write=WRITES, is_seen=st.booleans())
    def change(self, write, is_seen):
        self.write(*write, is_seen=is_seen)

    def write(self, name, is_followed, value, *, is_seen):
        """Create, change or delete; `is_seen` tells whether the informers notice before the next thing happens."""
        labels = {LABEL: "yes" if is_followed else "no"}
        if name in self.there and value is None:
            self.run(self.writer.delete(ConfigMap.resource, name, "default"))
        elif name in self.there:
            patch = {"metadata": {"labels": labels}, "data": {"v": str(value)}}
            self.run(self.writer.merge(ConfigMap.resource, name, "default", patch))
        elif value is not None:
            made = ConfigMap.manifest(name, "default", labels=labels, data={"v": str(value)})
            self.run(self.writer.create(ConfigMap.resource, made))
        if value is None:
            self.there.pop(name, None)
        else:
            self.there[name] = is_followed
        if is_seen:
            self.run(settle())

    @rule()
    def forget(self):
        self.run(self.server.storage.compact(self.server.storage.revision))

    # What happens on the way

    @rule()
    def break_streams(self):
        self.way.break_streams()

    @rule(silently=st.booleans(), seconds=SECONDS, meanwhile=st.lists(WRITES, max_size=3))
    def cut_off_for_a_while(self, silently, seconds, meanwhile):
        self.way.cut(silently=silently)
        for write in meanwhile:
            self.write(*write, is_seen=False)
        self.run(advance(seconds))
        self.way.heal()

    @rule(error=st.sampled_from(REFUSALS), times=st.integers(1, 3))
    def refuse(self, error, times):
        self.way.failures.append(Failure("[lw]* configmaps/default", error, times))

    @rule(status=st.sampled_from(STATUSES))
    def end_streams(self, status):
        code, reason = status
        answer = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "the end"}
        self.door.say(lambda version: {"type": "ERROR", "object": answer})

    @rule()
    def say_a_bookmark_again(self):
        self.door.say(lambda version: {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}})

    # And time passes

    @rule(seconds=SECONDS)
    def wait(self, seconds):
        self.run(advance(seconds))

    def teardown(self):
        try:
            if hasattr(self, "tasks"):
                self.run(self._end())
        finally:
            self.stack.close()

    async def _end(self):
        self.way.heal()
        await advance(3 * SILENCE_SECONDS)
        running = [task for task in self.tasks if not task.done()]
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)
        for task in self.tasks:
            if not task.cancelled():
                task.result()
        assert len(running) == len(self.tasks)
        entries = self.server.storage.list("/core/configmaps/default/").entries
        versions = {entry.object["metadata"]["name"]: entry.revision for entry in entries}
        chosen = {name: version for name, version in versions.items() if self.there[name]}
        for informer, listener, wanted in zip(self.informers, self.listeners, (versions, chosen), strict=True):
            assert listener.known == wanted
            stored = {one.name: int(one.metadata.resource_version) for one in informer.store.all()}
            assert stored == wanted
            assert informer.synced.is_set()
            assert informer.problem == ""


TestInformer = InformerMachine.TestCase
TestInformer.settings = settings(max_examples=15, stateful_step_count=100, deadline=None)
