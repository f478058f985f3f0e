"""Do what a scenario says, and note what is refused."""

from collections.abc import Coroutine, Mapping
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest

from ..multikueue import doing  # noqa: TID252 - these scenarios are made of the same steps
from ..running import Hub  # noqa: TID252
from ..world import Described  # noqa: TID252
from .form import KINDS, placed, surroundings


class Actor(doing.Actor):
    kinds = KINDS

    def __init__(self, sites: Mapping[str, Hub], said: Described, words: tuple[str, ...], prefix: str) -> None:
        """Take the words for the kinds that are compared, beside what all scenarios say."""
        super().__init__(sites, {}, said, prefix)
        self.words = words
        self.refusals: list[str] = []

    async def arrange(self) -> None:
        for where, manifest in surroundings(self.said, self.prefix):
            await self._create(where, manifest)

    async def do(self, step: Described) -> None:
        for where, manifests in step.get("make", {}).items():
            for manifest in manifests:
                whole = doing.with_prefix(placed(manifest, self.prefix), self.prefix)
                await self._note_refusal(self._create(where, whole))
        await super().do(step)

    async def _create(self, where: str, manifest: Manifest) -> Manifest:
        owner = manifest["metadata"].get("ownerReferences")
        if isinstance(owner, str):
            manifest["metadata"]["ownerReferences"] = [await self._reference(owner)]
        return await super()._create(where, manifest)

    async def _reference(self, target: str) -> Manifest:
        client, resource, name, where = await self._find(target)
        raw = await client.get(resource, name, where)
        found = {"apiVersion": resource.api_version, "kind": resource.kind, "name": name}
        return {**found, "uid": raw["metadata"]["uid"], "controller": True}

    async def _patch(self, target: str, patch: Manifest) -> None:
        await self._note_refusal(super()._patch(target, patch))

    async def _note_refusal(self, writing: Coroutine[Any, Any, Any]) -> None:
        try:
            await writing
        except errors.ApiError as error:
            self.refusals.append(f"{error.code} {error.message}")
