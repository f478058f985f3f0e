"""In which form objects go out: as they are, as rows of a table, or their metadata only."""

from typing import Final

import orjson

from fleetqueue.api import errors
from fleetqueue.api.kept_json import kept_json
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http import tables
from fleetqueue.embedded.apiserver.http.exchange import Listing, RequestContext
from fleetqueue.embedded.apiserver.registry.reading import Listed
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

METADATA: Final = "PartialObjectMetadata"
METADATA_LIST: Final = "PartialObjectMetadataList"
TABLE: Final = "Table"


class Forms:
    """Converts what the registry returns to the form that the client accepts."""

    def one(self, served: Served, entry: StorageEntry, context: RequestContext) -> Manifest | StorageEntry:
        if context.form == METADATA_LIST:
            raise _not_acceptable(f"{METADATA_LIST}, but the requested object is not a list (*{_go_name(served)})")
        return self.event(served, entry, context, is_first=True)

    def event(
        self, served: Served, entry: StorageEntry, context: RequestContext, *, is_first: bool
    ) -> Manifest | StorageEntry:
        """Return one object; of a table in a watch only the first names the columns."""
        if not context.form:
            return entry
        if context.form == TABLE:
            return self._table(served, entry.object, context, is_first=is_first)
        version = context.form_version
        json = entry.encoded(f"{METADATA}/{version}", lambda obj: kept_json(metadata_only(obj, version)))
        return StorageEntry(entry.key, metadata_only(entry.object, version), entry.revision, json)

    def bookmark(self, served: Served, obj: Manifest, context: RequestContext, *, is_first: bool) -> Manifest:
        """Return the object of a bookmark, which has little more than a revision."""
        if not context.form:
            return obj
        if context.form == TABLE:
            return self._table(served, obj, context, is_first=is_first)
        return metadata_only(obj, context.form_version)

    def many(self, served: Served, listed: Listed, context: RequestContext) -> Manifest | Listing:
        metadata: Manifest = {"resourceVersion": str(listed.revision)}
        if listed.token or (served.is_custom and not context.form):
            metadata["continue"] = listed.token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
        if not context.form:
            api_version = served.resource.api_version
            return Listing(served.list_kind, api_version, metadata, listed.entries, _known_beginning(served))
        objects = [entry.object for entry in listed.entries]
        if context.form == TABLE:
            included = tables.check_included(context.query)
            return tables.table(served, objects, metadata, version=context.form_version, included=included)
        if context.form == METADATA:
            raise _not_acceptable(f"{METADATA}, but the requested object is a list (*{_go_name(served)}List)")
        return metadata_list(objects, metadata, context.form_version)

    def _table(self, served: Served, obj: Manifest, context: RequestContext, *, is_first: bool) -> Manifest:
        included, version = tables.check_included(context.query), context.form_version
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return tables.table(served, [obj], metadata, version=version, included=included, has_columns=is_first)


def metadata_only(obj: Manifest, version: str = "v1") -> Manifest:
    return {"kind": METADATA, "apiVersion": f"meta.k8s.io/{version}", "metadata": obj["metadata"]}


def metadata_list(objects: list[Manifest], metadata: Manifest, version: str) -> Manifest:
    items = [metadata_only(obj, version) for obj in objects]
    return {"kind": METADATA_LIST, "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata, "items": items}


def _known_beginning(served: Served) -> bytes:
    """Return how items of a built-in kind begin in JSON: the list says their kind, so they need not."""
    if served.is_custom:
        return b""
    resource = served.resource
    return orjson.dumps({"apiVersion": resource.api_version, "kind": resource.kind})[:-1] + b","


def _go_name(served: Served) -> str:
    return f"{served.resource.group.partition('.')[0] or 'core'}.{served.resource.kind}"


def _not_acceptable(why: str) -> errors.ApiError:
    return errors.ApiError(f"you requested {why}", reason="NotAcceptable", code=406)
