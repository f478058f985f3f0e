"""Get, list and watch."""

from collections.abc import AsyncGenerator, AsyncIterator

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import Answer, Question, Stream, status_of
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.registry.list_options import list_options, revision
from fleetqueue.embedded.apiserver.registry.reading import Event, Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import Entry


class ReadingVerbs:
    def __init__(self, reading: Reading, forms: Forms) -> None:
        self.reading = reading
        self.forms = forms

    async def get(self, served: Served, question: Question) -> Answer:
        namespace, name = place(served, question)
        warnings = _deprecation(served, question)
        at = revision(question.query.get("resourceVersion", ""))
        entry = await self.reading.get(served, namespace, name, at)
        return Answer(200, self.forms.one(served, entry, question), warnings)

    async def list(self, served: Served, question: Question) -> Answer:
        warnings = _deprecation(served, question)
        options = list_options(served, question.query)
        listed = await self.reading.list(served, place(served, question)[0], options)
        return Answer(200, self.forms.many(served, listed, question), warnings)

    async def watch(self, served: Served, question: Question) -> Stream:
        query, warnings = question.query, _deprecation(served, question)
        if question.info.name and "fieldSelector" not in query:
            query = {**query, "fieldSelector": f"metadata.name={question.info.name}"}
        options = list_options(served, query, watch=True)
        events = self.reading.watch(served, place(served, question)[0], options)
        return Stream(self._told(served, events, question), warnings)

    async def _told(
        self, served: Served, events: AsyncIterator[Event], question: Question
    ) -> AsyncGenerator[tuple[str, Manifest | Entry]]:
        """Say events as clients read them; what ends the watch is its last one."""
        is_first = True
        try:
            async for event in events:
                if event.entry is None:
                    yield event.type, self.forms.bookmark(served, bookmark(served, event), question, is_first=is_first)
                else:
                    yield event.type, self.forms.event(served, event.entry, question, is_first=is_first)
                    is_first = False
        except errors.ApiError as error:
            yield "ERROR", status_of(error)


def place(served: Served, question: Question) -> tuple[str, str]:
    """Return where the object lives that a path names; a namespace itself lives in none."""
    return (question.info.namespace if served.resource.namespaced else ""), question.info.name


def bookmark(served: Served, event: Event) -> Manifest:
    metadata: Manifest = {"resourceVersion": str(event.revision)}
    if event.ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": served.resource.kind, "apiVersion": served.resource.api_version, "metadata": metadata}


def _deprecation(served: Served, question: Question) -> list[str]:
    if served.deprecation and served.deprecation not in question.warnings:
        question.warnings.append(served.deprecation)
    return question.warnings
