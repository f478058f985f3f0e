"""Give registration scenarios to a hub, round by round, and note what is refused."""

from contextlib import suppress
from datetime import timedelta
from itertools import zip_longest
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_claims_v1alpha1 import ClusterClaim
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.registration.names import LEASE

from ..running import UNITS, Hub, settle_and_wait, side_by_side  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252
from .form import KINDS, ON_WORKER, manifest, namespace, place, with_prefix


class Actor:
    """Does what one scenario says."""

    def __init__(self, client: Client, worker: Client, said: Described, prefix: str) -> None:
        self.client = client
        self.worker = worker
        self.said = said
        self.prefix = prefix
        self.refusals: list[str] = []

    async def arrange(self) -> None:
        await self.client.create(Namespace.resource, Namespace.manifest(namespace(self.prefix)))

    async def do(self, step: Described) -> None:
        for kind, model in KINDS.items():
            for name, said in step.get(kind, {}).items():
                await self._try(self.client.create(model.resource, manifest(kind, name, said or {}, self.prefix)))
        for kind, model in ON_WORKER.items():
            for name, said in step.get(kind, {}).items():
                await self._add_to_worker(model.resource, manifest(kind, name, said, self.prefix))
        for name in step.get("unclaim", ()):
            await self.worker.delete(ClusterClaim.resource, self.prefix + name)
        for name, said in step.get("say", {}).items():
            await self._say(name if " " in name else f"cluster {name}", said)
        for name, ahead in step.get("renew", {}).items():
            spec = {"renewTime": (clock.now() + _seconds(ahead)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
            await self.client.merge(Lease.resource, LEASE, self.prefix + name, {"spec": spec})
        for target, patch in step.get("patch", {}).items():
            await self._patch(target, with_prefix(patch, self.prefix))
        for target in step.get("free", ()):
            await self._patch(target, {"metadata": {"finalizers": None}})
        for target in step.get("delete", ()):
            kind, name = target.split()
            where, own = place(kind, name, self.prefix)
            with suppress(errors.NotFound):
                await self.client.delete(KINDS[kind].resource, own, where)

    async def _add_to_worker(self, resource: Resource, made: Manifest) -> None:
        await self.worker.create(resource, made)
        if "status" in made:
            patch = {"status": made["status"]}
            await self.worker.merge(resource, made["metadata"]["name"], "", patch, subresource="status")

    async def _patch(self, target: str, patch: Manifest) -> None:
        kind, name = target.split()
        where, own = place(kind, name, self.prefix)
        await self._try(self.client.merge(KINDS[kind].resource, own, where, patch))

    async def _say(self, target: str, said: dict[str, str]) -> None:
        """Write conditions among those of others, as an agent does."""
        kind, name = target.split()
        resource, (where, own) = KINDS[kind].resource, place(kind, name, self.prefix)
        live = await self.client.get(resource, own, where)
        kept = [each for each in (live.get("status") or {}).get("conditions") or () if each["type"] not in said]
        now = timestamp(clock.now())
        new = [
            {"type": kind, "status": status, "reason": "ByTest", "message": "by test", "lastTransitionTime": now}
            for kind, status in said.items()
        ]
        patch = {"status": {"conditions": [*kept, *new]}}
        await self._try(self.client.merge(resource, own, where, patch, subresource="status"))

    async def _try(self, writing: Any) -> None:
        try:
            await writing
        except errors.ApiError as error:
            self.refusals.append(f"{error.code} {error.message}")


async def run(hub: Hub, actors: list[Actor]) -> None:
    """Run all scenarios side by side."""
    await side_by_side(actor.arrange() for actor in actors)
    for steps in zip_longest(*(actor.said["steps"] for actor in actors), fillvalue={}):
        await side_by_side(actor.do(step) for actor, step in zip(actors, steps, strict=True))
        await settle_and_wait(hub, max(step.get("wait", 0) for step in steps))


def _seconds(text: str) -> timedelta:
    sign = -1 if text[0] == "-" else 1
    return timedelta(seconds=sign * int(text[1:-1]) * UNITS[text[-1]])
