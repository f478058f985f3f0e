"""Give MultiKueue scenarios to a hub and its workers, round by round."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.testing.arranged_objects import resource_of

from ..running import Hub, side_by_side  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252
from .form import KINDS, SYSTEM, job, job_set, namespace, profile, source, surroundings

LEAST_QUIET = 2


class Actor:
    """Does what one scenario says."""

    kinds: Mapping[str, type[Object]] = KINDS
    """By the words that stand for them."""

    def __init__(self, sites: Mapping[str, Hub], kubeconfigs: dict[str, str], said: Described, prefix: str) -> None:
        self.clients: dict[str, Client] = {name: site.client for name, site in sites.items()}
        self.kubeconfigs = kubeconfigs
        self.said = said
        self.prefix = prefix
        self.namespace = namespace(prefix)
        self.made: list[Manifest] = []
        """The Jobs that were created on the hub, as the server answered."""

    @property
    def has_job_sets(self) -> bool:
        return any("job_set" in step for step in self.said.get("steps", ()))

    async def arrange(self) -> None:
        for where, manifest in surroundings(self.said, self.prefix, self.kubeconfigs):
            await self._create(where, manifest)

    async def do(self, step: Described) -> None:
        for name, said in step.get("job", {}).items():
            self.made.append(await self._create("hub", job(name, said, self.prefix)))
        for name, said in step.get("job_set", {}).items():
            await self._create("hub", job_set(name, said, self.prefix))
        for where, jobs in step.get("create", {}).items():
            for name, said in jobs.items():
                await self._create(where, job(name, said, self.prefix, has_queue=False))
        for name, how in step.get("source", {}).items():
            secret = source(name, how, self.prefix, self.kubeconfigs)
            assert secret is not None
            await self._put(secret)
        for name, how in step.get("profile", {}).items():
            for manifest in profile(name, how, self.prefix, self.kubeconfigs):
                await self._put(manifest)
        for target, patch in step.get("patch", {}).items():
            await self._patch(target, with_prefix(patch, self.prefix))
        for name, answers in step.get("answer", {}).items():
            await self._answer(name, answers)
        for target in step.get("delete", ()):
            client, resource, name, where = await self._find(target)
            with suppress(errors.NotFound):
                await client.delete(resource, name, where)

    async def _create(self, where: str, manifest: Manifest) -> Manifest:
        status = manifest.pop("status", None)
        resource = resource_of(manifest)
        made = await self.clients[where].create(resource, manifest)
        if status:
            name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace", "")
            await self.clients[where].merge(resource, name, namespace, {"status": status}, subresource="status")
        return made

    async def _patch(self, target: str, patch: Manifest) -> None:
        client, resource, name, where = await self._find(target)
        subresource = "status" if "status" in patch else ""
        await client.merge(resource, name, where, patch, subresource=subresource)

    async def _put(self, manifest: Manifest) -> None:
        """Create a Secret or a ClusterProfile, or bring it to this."""
        content = {part: value for part, value in manifest.items() if part in ("data", "status")}
        name, resource = manifest["metadata"]["name"], resource_of(manifest)
        try:
            await self._create("hub", manifest)
        except errors.AlreadyExists:
            subresource = "status" if "status" in content else ""
            await self.clients["hub"].merge(resource, name, SYSTEM, content, subresource=subresource)

    async def _answer(self, name: str, answers: Described) -> None:
        """Say what the controllers of checks say."""
        client, resource, workload, where = await self._find(f"hub workload {name}")
        raw = await client.get(resource, workload, where)
        said = {self.prefix + check: answer for check, answer in answers.items()}
        now = timestamp(clock.now())
        checks = [
            {**check, "lastTransitionTime": now, **said[check["name"]]} if check["name"] in said else check
            for check in raw["status"]["admissionChecks"]
        ]
        patch = {"status": {"admissionChecks": checks}}
        await client.merge(resource, workload, where, patch, subresource="status")

    async def _find(self, target: str) -> tuple[Client, Resource, str, str]:
        cluster, kind, *rest = target.split()
        client, resource, name = self.clients[cluster], self.kinds[kind].resource, rest[0] if rest else kind
        if kind == "workload":
            listed = [raw["metadata"] for raw in (await client.list(resource, self.namespace)).items]
            beginnings = tuple(f"{kind}-{name}-" for kind in self.kinds)
            of_job = [each for each in listed if each["name"] == name or each["name"].startswith(beginnings)]
            if not of_job:
                raise LookupError(f"{self.said['name']}: no Workload of {name} on {cluster}")
            in_order = sorted(of_job, key=lambda metadata: str(metadata["creationTimestamp"]))
            return client, resource, in_order[int(rest[1]) if len(rest) > 1 else 0]["name"], self.namespace
        if kind in ("secret", "profile"):
            return client, resource, self.prefix + name, SYSTEM
        return (
            (client, resource, name, self.namespace)
            if resource.namespaced
            else (client, resource, self.prefix + name, "")
        )


async def run(sites: Mapping[str, Hub], actors: Sequence[Actor]) -> None:
    """Run all scenarios side by side."""
    await side_by_side(actor.arrange() for actor in actors)
    await settle(sites)
    for steps in zip_longest(*(actor.said.get("steps", ()) for actor in actors), fillvalue={}):
        await side_by_side(actor.do(step) for actor, step in zip(actors, steps, strict=True))
        await settle(sites)
        if seconds := max(step.get("wait", 0) for step in steps):
            await sites["hub"].wait(seconds)
            await settle(sites)


async def settle(sites: Mapping[str, Hub]) -> None:
    """Wait until nothing moves anywhere; what ends on one cluster may begin on another."""
    for _ in range(LEAST_QUIET):
        await asyncio.gather(*(site.settle() for site in sites.values()))


def with_prefix(value: object, prefix: str) -> Manifest:
    """Put the prefix where `@` stands."""

    def put(inner: object) -> object:
        if isinstance(inner, dict):
            return {key: put(each) for key, each in inner.items()}
        if isinstance(inner, list):
            return [put(each) for each in inner]
        return inner.replace("@", prefix) if isinstance(inner, str) else inner

    found = put(value)
    assert isinstance(found, dict)
    return found
