"""Give job scenarios to a cluster, round by round, and note what is refused."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client

from ..running import Hub, settle_and_wait, side_by_side  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252
from .form import KINDS, job, namespace, surroundings, with_prefix


class Actor:
    """Does what one scenario says."""

    kinds: Mapping[str, type[Object]] = KINDS
    """By the words that stand for them."""

    def __init__(self, client: Client, said: Described, prefix: str) -> None:
        self.client = client
        self.said = said
        self.prefix = prefix
        self.namespace = namespace(prefix)
        self.refusals: list[str] = []
        self.made: list[Manifest] = []
        """What was created, as the server answered."""

    async def arrange(self) -> None:
        for kind, manifest in surroundings(self.said, self.prefix):
            status = manifest.pop("status", None)
            await self._try(self.client.create(kind.resource, manifest))
            if status:
                name = manifest["metadata"]["name"]
                await self.client.merge(kind.resource, name, "", {"status": status}, subresource="status")

    async def do(self, step: Described) -> None:
        for name, said in step.get("job", {}).items():
            await self._try(self.client.create(KINDS["job"].resource, job(name, said, self.prefix)))
        for manifest in step.get("create", ()):
            await self._create(with_prefix(manifest, self.prefix))
        for target, patch in step.get("patch", {}).items():
            await self._patch(target, with_prefix(patch, self.prefix))
        for name, answers in step.get("answer", {}).items():
            await self._answer(name, with_prefix(answers, self.prefix))
        for target in step.get("delete", ()):
            resource, name, where = await self._find(target)
            with suppress(errors.NotFound):
                await self.client.delete(resource, name, where)

    async def _create(self, manifest: Manifest) -> None:
        kind = next(kind for kind in self.kinds.values() if kind.resource.kind == manifest["kind"])
        if kind.resource.namespaced:
            manifest["metadata"].setdefault("namespace", self.namespace)
        manifest.setdefault("apiVersion", kind.resource.api_version)
        await self._try(self.client.create(kind.resource, manifest))

    async def _patch(self, target: str, patch: Manifest) -> None:
        resource, name, where = await self._find(target)
        subresource = "status" if "status" in patch else ""
        await self._try(self.client.merge(resource, name, where, patch, subresource=subresource))

    async def _answer(self, name: str, answers: Described) -> None:
        """Say what the controllers of checks say; read again where somebody else was quicker."""
        resource, workload, where = await self._find(f"slice {name} -1")
        raw = await self.client.get(resource, workload, where)
        said = {self.prefix + check: answer for check, answer in answers.items()}
        now = timestamp(clock.now())
        checks = [
            {**check, "lastTransitionTime": now, **said.get(check["name"], {})}
            for check in raw["status"].get("admissionChecks") or ()
        ]
        patch = {"status": {"admissionChecks": checks}}
        await self._try(self.client.merge(resource, workload, where, patch, subresource="status"))

    async def _find(self, target: str) -> tuple[Resource, str, str]:
        kind, name, *place = target.split()
        resource = self.kinds[kind].resource
        if resource is KINDS["workload"].resource:
            return resource, await self._workload(name, int(place[0]) if place else 0), self.namespace
        return (resource, name, self.namespace) if resource.namespaced else (resource, self.prefix + name, "")

    async def _workload(self, name: str, place: int) -> str:
        """Return the name of a Workload of a job, by its place from the oldest to the newest."""
        listed = (await self.client.list(KINDS["workload"].resource, self.namespace)).items
        of_job = [
            raw["metadata"]
            for raw in listed
            if name
            in (raw["metadata"]["name"], *(owner["name"] for owner in raw["metadata"].get("ownerReferences") or ()))
        ]
        if not of_job:
            raise LookupError(f"{self.said['name']}: no Workload of {name}")
        return str(sorted(of_job, key=lambda metadata: metadata["creationTimestamp"])[place]["name"])

    async def _try(self, writing: Any) -> None:
        try:
            self.made.append(await writing)
        except errors.ApiError as error:
            self.refusals.append(f"{error.code} {error.message}")


async def run(hub: Hub, actors: Sequence[Actor]) -> None:
    """Run all scenarios side by side."""
    await side_by_side(actor.arrange() for actor in actors)
    await hub.settle()
    for steps in zip_longest(*(actor.said["steps"] for actor in actors), fillvalue={}):
        await side_by_side(actor.do(step) for actor, step in zip(actors, steps, strict=True))
        await settle_and_wait(hub, max(step.get("wait", 0) for step in steps))


def workload_names(items: list[Manifest]) -> Iterator[tuple[str, str]]:
    """Return the names of Workloads, and how they are called in what comes out."""
    for raw in items:
        owners = raw["metadata"].get("ownerReferences") or ()
        if owners:
            yield raw["metadata"]["name"], f"workload of {owners[0]['name']}"
