"""Get, list and watch."""

from collections.abc import AsyncGenerator, AsyncIterator

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse, WatchStream, status_of
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.registry.list_options import list_options, revision
from fleetqueue.embedded.apiserver.registry.reading import Reading, ServedEvent
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry


class ReadingVerbs:
    def __init__(self, reading: Reading, forms: Forms) -> None:
        self.reading = reading
        self.forms = forms

    async def get(self, served: Served, context: RequestContext) -> ServerResponse:
        namespace, name = place(served, context)
        warnings = _deprecation(served, context)
        at = revision(context.query.get("resourceVersion", ""))
        entry = await self.reading.get(served, namespace, name, at)
        return ServerResponse(200, self.forms.one(served, entry, context), warnings)

    async def list(self, served: Served, context: RequestContext) -> ServerResponse:
        warnings = _deprecation(served, context)
        options = list_options(served, context.query)
        listed = await self.reading.list(served, place(served, context)[0], options)
        return ServerResponse(200, self.forms.many(served, listed, context), warnings)

    async def watch(self, served: Served, context: RequestContext) -> WatchStream:
        query, warnings = context.query, _deprecation(served, context)
        if context.info.name and "fieldSelector" not in query:
            query = {**query, "fieldSelector": f"metadata.name={context.info.name}"}
        options = list_options(served, query, watch=True)
        events = self.reading.watch(served, place(served, context)[0], options)
        return WatchStream(self._told(served, events, context), warnings)

    async def _told(
        self, served: Served, events: AsyncIterator[ServedEvent], context: RequestContext
    ) -> AsyncGenerator[tuple[str, Manifest | StorageEntry]]:
        """Say events as clients read them; what ends the watch is its last one."""
        is_first = True
        try:
            async for event in events:
                if event.entry is None:
                    yield event.type, self.forms.bookmark(served, bookmark(served, event), context, is_first=is_first)
                else:
                    yield event.type, self.forms.event(served, event.entry, context, is_first=is_first)
                    is_first = False
        except errors.ApiError as error:
            yield "ERROR", status_of(error)


def place(served: Served, context: RequestContext) -> tuple[str, str]:
    """Return the namespace of the object that a path names; a namespace itself is in none."""
    return (context.info.namespace if served.resource.namespaced else ""), context.info.name


def bookmark(served: Served, event: ServedEvent) -> Manifest:
    metadata: Manifest = {"resourceVersion": str(event.revision)}
    if event.ends_initial_events:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": served.resource.kind, "apiVersion": served.resource.api_version, "metadata": metadata}


def _deprecation(served: Served, context: RequestContext) -> list[str]:
    if served.deprecation and served.deprecation not in context.warnings:
        context.warnings.append(served.deprecation)
    return context.warnings
