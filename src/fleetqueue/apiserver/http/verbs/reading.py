"""Get, list and watch."""

from collections.abc import AsyncGenerator, AsyncIterator

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.http.exchange import Answer, Question, Stream, status_of
from fleetqueue.apiserver.http.forms import Forms
from fleetqueue.apiserver.registry.list_options import list_options
from fleetqueue.apiserver.registry.reading import Event, Reading
from fleetqueue.apiserver.registry.served import Served
from fleetqueue.apiserver.storage.interface import Entry


class ReadingVerbs:
    def __init__(self, reading: Reading, forms: Forms) -> None:
        self.reading = reading
        self.forms = forms

    async def get(self, served: Served, question: Question) -> Answer:
        version = question.query.get("resourceVersion", "")
        revision = list_options(served, {"resourceVersion": version}).revision if version else None
        namespace, name = place(served, question)
        entry = await self.reading.get(served, namespace, name, revision)
        return Answer(200, self.forms.one(served, entry, question), _deprecation(served))

    async def list(self, served: Served, question: Question) -> Answer:
        options = list_options(served, question.query)
        listed = await self.reading.list(served, place(served, question)[0], options)
        return Answer(200, self.forms.many(served, listed, question), _deprecation(served))

    async def watch(self, served: Served, question: Question) -> Stream:
        query = question.query
        if question.info.name and "fieldSelector" not in query:
            query = {**query, "fieldSelector": f"metadata.name={question.info.name}"}
        options = list_options(served, query, watch=True)
        events = self.reading.watch(served, place(served, question)[0], options)
        return Stream(self._told(served, events, question), _deprecation(served))

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
    metadata: Manifest = {"resourceVersion": str(event.revision), "creationTimestamp": None}
    if event.ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": served.resource.kind, "apiVersion": served.resource.api_version, "metadata": metadata}


def _deprecation(served: Served) -> list[str]:
    return [served.deprecation] if served.deprecation else []
