"""Do the random sequences to a server, whichever it is, and keep of its answers what is the same in every run."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from fleetqueue.embedded.apiserver.admission.chain import Chain
from fleetqueue.embedded.apiserver.admission.plugins import NamespaceLifecycle
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.testing.virtual_time import running
from tests.conformance.api_cases.asking import METHODS, Asked
from tests.conformance.api_cases.in_process_door import InProcess
from tests.conformance.api_cases.lasting import lasting
from tests.conformance.api_cases.running import Answered, Door
from tests.unit.embedded.apiserver.patching import random_applies, random_builtins
from tests.unit.embedded.apiserver.patching.random_applies import GROUP, VERSION, Step, plural

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RECORDED = Path(__file__).with_name("recorded_sequences.json.z")
PATIENCE = 30.0
KINDS_AT_ONCE = 6
CUSTOM, BUILT_IN = 60, 40
"""How many sequences are recorded."""


@dataclass(frozen=True)
class Play:
    """A sequence, whatever its kind."""

    name: str
    collection: str
    api_version: str
    kind: str
    steps: list[Step]


def plays(custom: int = CUSTOM, built_in: int = BUILT_IN, start: int = 0) -> list[Play]:
    """Return sequences on custom and on built-in kinds."""
    first = [
        Play(
            f"custom-{number}",
            f"/apis/{GROUP}/{VERSION}/namespaces/{{}}/{plural(each.kind)}",
            f"{GROUP}/{VERSION}",
            f"Kind{each.kind}",
            each.steps,
        )
        for number, each in enumerate(random_applies.sequences(custom, start), start)
    ]
    return first + [
        Play(f"built-in-{number}", each.resource, each.api_version, each.kind, each.steps)
        for number, each in enumerate(random_builtins.sequences(built_in, start), start)
    ]


async def define(door: Door, all_plays: Iterable[Play]) -> None:
    """Make the custom kinds that are played with, and wait until they are served."""
    kinds = {int(play.kind.removeprefix("Kind")) for play in all_plays if play.api_version == f"{GROUP}/{VERSION}"}
    limit = asyncio.Semaphore(KINDS_AT_ONCE)

    async def one(kind: int) -> None:
        async with limit:
            answer = await door.ask(Asked("POST", DEFINITIONS, body=random_applies.definition(kind)))
            assert answer.status == 201, answer.body
            await served(door, f"/apis/{GROUP}/{VERSION}/{plural(kind)}")

    await asyncio.gather(*map(one, sorted(kinds)))


async def served(door: Door, path: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await door.ask(Asked("GET", path))).status == 200:
                return
            await asyncio.sleep(0.05)


async def run(door: Door, play: Play) -> list[dict[str, Any]]:
    """Do all steps; what was answered."""
    await door.ask(Asked("POST", "/api/v1/namespaces", body={"metadata": {"name": play.name}}))
    answers = [compared(await do(door, play, step)) for step in play.steps]
    found: list[dict[str, Any]] = lasting(answers, play.name)
    return [settled(answer, keeps_version=not leaves_traces(play)) for answer in found]


async def do(door: Door, play: Play, step: Step) -> Answered:
    verb = next(verb for verb in METHODS if verb in step)
    method, media_type = METHODS[verb]
    collection = play.collection.format(play.name)
    path = f"{collection}/x" + ("/status" if step.get("status") else "")
    body = step[verb]
    if verb in ("create", "apply", "update"):
        typed = {"apiVersion": play.api_version, "kind": play.kind}
        body = {**typed, **body, "metadata": {"name": "x", **body.get("metadata", {})}}
    if verb == "update":
        live = (await door.ask(Asked("GET", f"{collection}/x"))).body
        body = updated(body, live)
    query = f"fieldManager={step['by']}" + ("&force=true" if step.get("force") else "")
    return await door.ask(Asked(method, collection if verb == "create" else path, query, body, content_type=media_type))


def updated(body: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """Say in an update what it must say: the version, and addresses that were given to a service."""
    kept = {name: live["metadata"][name] for name in ("resourceVersion",) if name in live.get("metadata", {})}
    body = {**body, "metadata": {**body["metadata"], **kept}}
    addresses = {name: live["spec"][name] for name in ("clusterIP", "clusterIPs") if name in (live.get("spec") or {})}
    return {**body, "spec": {**body["spec"], **addresses}} if addresses else body


def compared(answer: Answered) -> dict[str, Any]:
    """Return what is compared; warnings are those of kinds, not of patches."""
    return {"status": answer.status, "body": answer.body}


def leaves_traces(play: Play) -> bool:
    """Tell whether the real server stores something that it never shows again, as an apply of `labels: {}` does.

    The next write then makes a new version, whatever it changes.
    """
    applied = [step["apply"] for step in play.steps if "apply" in step]
    return any(has_nulls(body) or not all(body.get("metadata", {"x": "x"}).values()) for body in applied)


def has_nulls(value: Any) -> bool:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(has_nulls, below))


def settled(answer: dict[str, Any], *, keeps_version: bool) -> dict[str, Any]:
    """Put into one order what has none: Go's maps, and owners who wrote within one second."""
    body = answer["body"]
    if answer["status"] >= 300:
        return {**answer, "body": settled_refusal(body)}
    metadata = dict(body["metadata"])
    if not keeps_version:
        metadata.pop("resourceVersion")
    if "managedFields" in metadata:
        metadata["managedFields"] = sorted(metadata["managedFields"], key=owner)
    return {**answer, "body": {**body, "metadata": metadata}}


def owner(entry: dict[str, Any]) -> tuple[str, ...]:
    return entry["operation"], entry["manager"], entry.get("subresource", ""), entry["apiVersion"]


def settled_refusal(body: dict[str, Any]) -> dict[str, Any]:
    message = body["message"]
    if "not declared in schema" in message:
        message = message.partition(":")[0]  # of several things that are wrong, some are not told then
    causes = sorted((body.get("details") or {}).get("causes") or (), key=str)
    after = {**body, "message": sorted(message.split("\n"))}
    if len(causes) > 1:
        after = {**after, "details": {**body["details"], "causes": causes}, "message": sorted(message)}
    return after


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(zlib.decompress(RECORDED.read_bytes()))
    return found


def written(answers: dict[str, Any]) -> bytes:
    return zlib.compress(orjson.dumps(answers, option=orjson.OPT_SORT_KEYS), 9)


@asynccontextmanager
async def embedded_door() -> AsyncIterator[InProcess]:
    """Run a server of our own, as the real one that was asked: what admission adds is not judged here."""
    tokens: dict[str, User] = {}
    server = await new_server(Secrets(tokens=tokens))
    server.store.admission = Chain(NamespaceLifecycle(server._namespace))
    async with running(server.run()):
        yield InProcess(server, tokens)
