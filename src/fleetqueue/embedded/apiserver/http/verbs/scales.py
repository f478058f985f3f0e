"""The scale of a workload or of a custom kind: how many replicas there are, and how many are wanted."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.apiserver.http.exchange import Answer, Question
from fleetqueue.embedded.apiserver.http.verbs.writing import patcher, shown_patch, write_of
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.registry.kinds import scaling
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import check_named, placed
from fleetqueue.embedded.apiserver.registry.store import Store
from fleetqueue.embedded.apiserver.registry.writes import Write, typed

SCALE: Final = Served(
    Resource(scaling.GROUP, scaling.VERSION, scaling.KIND, "scales"),
    facts.schema(scaling.GROUP, scaling.VERSION, scaling.KIND),
)
Verb = Callable[[Served, Question], Awaitable[Answer]]


class Scales:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.reading = Reading(store.storage)
        self.verbs: Mapping[str, Verb] = {"get": self._get, "update": self._update, "patch": self._patch}

    async def _get(self, served: Served, question: Question) -> Answer:
        entry = await self.reading.get(served, question.info.namespace, question.info.name)
        return Answer(200, scaling.scale_of(served, entry.object))

    async def _update(self, served: Served, question: Question) -> Answer:
        write, info = write_of(served, question, "UpdateOptions"), question.info
        scale = typed(SCALE.resource, question.body, write)
        check_named(scale, info.name)
        scale = placed(SCALE, info.namespace, scale, info.name)
        return await self._change(served, question, lambda live: scale, write)

    async def _patch(self, served: Served, question: Question) -> Answer:
        write, patch = write_of(served, question, "PatchOptions"), patcher(question, SCALE.schema)
        write.patch, write.is_strategic = shown_patch(question)

        def change(live: Manifest) -> Manifest:
            return typed(SCALE.resource, patch(scaling.scale_of(served, live)), write)

        return await self._change(served, question, change, write)

    async def _change(
        self, served: Served, question: Question, change: Callable[[Manifest], Any], write: Write
    ) -> Answer:
        info = question.info

        def scaled(live: Manifest | None) -> Manifest:
            if live is None:
                raise served.not_found(info.name)
            return scaling.scaled(served, live, change(live))

        entry, _ = await self.store.update(served, info.namespace, info.name, scaled, write)
        return Answer(200, scaling.scale_of(served, entry.object), write.warnings)
