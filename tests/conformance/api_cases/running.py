"""Do a case to a server, whichever it is."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import yaml

from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch
from tests.conformance.api_cases.asking import Asked, asked, verb_of
from tests.conformance.api_cases.cases import HERE, Case, Step
from tests.conformance.api_cases.lasting import lasting

DEFINITIONS = {
    definition["spec"]["names"]["plural"]: definition
    for definition in yaml.safe_load_all((HERE / "definitions.yaml").read_text())
}
DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE = 20.0
"""Seconds until what a step waits for must be so."""
PAUSE = 0.05


@dataclass(frozen=True)
class Answered:
    status: int
    body: Any = None
    """Decoded JSON, or text; of a watch the list of its events."""
    media_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    retry_after: str = ""

    @property
    def whole(self) -> dict[str, Any]:
        """All that is compared; what is as usual is left out."""
        found: dict[str, Any] = {"status": self.status}
        if self.media_type != "application/json":
            found["type"] = self.media_type
        if self.warnings:
            found["warnings"] = list(self.warnings)
        if self.retry_after:
            found["retryAfter"] = self.retry_after
        return {**found, "body": self.body}


class Door(Protocol):
    """A way into a server."""

    async def ask(self, asked: Asked) -> Answered: ...

    async def watch(self, asked: Asked, meanwhile: Callable[[], Awaitable[None]]) -> Answered:
        """Read a watch to its end; what happens meanwhile begins when it is open."""
        ...

    async def forget(self) -> None:
        """Let the server forget all changes up to now."""
        ...


async def define(door: Door, plurals: Any) -> None:
    """Make custom kinds, and wait until they are served."""
    for plural in plurals:
        definition = DEFINITIONS[plural]
        answer = await door.ask(Asked("POST", DEFINITIONS_PATH, body=definition))
        assert answer.status == 201, answer
        for version in definition["spec"]["versions"]:
            path = f"/apis/{definition['spec']['group']}/{version['name']}/{plural}"
            if version["served"]:
                await _until(door, Asked("GET", path), 200)


async def run(door: Door, case: Case, namespace: str) -> list[dict[str, Any]]:
    """Do all steps of a case; what was answered, without what is another in every run."""
    await door.ask(Asked("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}}))
    known: dict[str, Any] = {"NAMESPACE": namespace}
    for number, step in enumerate(case.given, 1):
        answer = await _do(door, case, step, known)
        assert answer.status < 300, (case.id, step, answer)
        known[f"g{number}"] = answer.body
    answers = []
    for number, step in enumerate(case.steps, 1):
        answer = await _do(door, case, step, known)
        known[str(number)] = answer.body
        answers.append(answer.whole)
    return lasting(answers, namespace, case.prefixes)


async def _do(door: Door, case: Case, step: Step, known: dict[str, Any]) -> Answered:
    if "forget" in step:
        await door.forget()
        return Answered(200)
    question = asked(case, step, known)
    if "update" in step:
        question = await _updated(door, question)
    if verb_of(step) == "watch" or step.get("events"):

        async def meanwhile() -> None:
            for inner in step.get("meanwhile", ()):
                await _do(door, case, inner, known)

        return await door.watch(question, meanwhile)
    if "until" in step:
        return await _until(door, question, step["until"])
    return await door.ask(question)


async def _updated(door: Door, question: Asked) -> Asked:
    """Change what is there by a merge patch, as clients do that read before they write."""
    live = await door.ask(Asked("GET", question.path.removesuffix("/finalize")))
    return replace(question, body=apply_merge_patch(live.body, question.body))


async def _until(door: Door, question: Asked, wanted: Any) -> Answered:
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await door.ask(question)
            if answer.status == wanted if isinstance(wanted, int) else holds(answer.body, wanted):
                return answer
            await asyncio.sleep(PAUSE)


def holds(value: Any, wanted: Any) -> bool:
    """Tell whether a value has all that is wanted; of a list, some item must."""
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(holds(value.get(key), item) for key, item in wanted.items())
    if isinstance(wanted, list):
        return isinstance(value, list) and all(any(holds(one, item) for one in value) for item in wanted)
    return bool(value == wanted)
