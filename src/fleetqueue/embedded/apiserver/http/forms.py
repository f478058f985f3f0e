"""In which form objects go out: as they are, as rows of a table, or their metadata only."""

from typing import Final

import orjson

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http import tables
from fleetqueue.embedded.apiserver.http.exchange import Listing, Question
from fleetqueue.embedded.apiserver.registry.reading import Listed
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.storage.interface import Entry

METADATA: Final = "PartialObjectMetadata"
METADATA_LIST: Final = "PartialObjectMetadataList"
TABLE: Final = "Table"


class Forms:
    """Turns what the registry gives into what the client asked for."""

    def one(self, served: Served, entry: Entry, question: Question) -> Manifest | Entry:
        if question.form == METADATA_LIST:
            raise _not_acceptable(f"{METADATA_LIST}, but the requested object is not a list (*{_go_name(served)})")
        return self.event(served, entry, question, is_first=True)

    def event(self, served: Served, entry: Entry, question: Question, *, is_first: bool) -> Manifest | Entry:
        """Return one object; of a table in a watch only the first names the columns."""
        if not question.form:
            return entry
        if question.form == TABLE:
            return self._table(served, entry.object, question, is_first=is_first)
        version = question.form_version
        json = entry.encoded(f"{METADATA}/{version}", lambda obj: orjson.dumps(metadata_only(obj, version)))
        return Entry(entry.key, metadata_only(entry.object, version), entry.revision, json)

    def bookmark(self, served: Served, obj: Manifest, question: Question, *, is_first: bool) -> Manifest:
        """Return the object of a bookmark, which has little more than a revision."""
        if not question.form:
            return obj
        if question.form == TABLE:
            return self._table(served, obj, question, is_first=is_first)
        return metadata_only(obj, question.form_version)

    def many(self, served: Served, listed: Listed, question: Question) -> Manifest | Listing:
        metadata: Manifest = {"resourceVersion": str(listed.revision)}
        if listed.token or (served.is_custom and not question.form):
            metadata["continue"] = listed.token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
        if not question.form:
            api_version = served.resource.api_version
            return Listing(served.list_kind, api_version, metadata, listed.entries, _known_beginning(served))
        objects = [entry.object for entry in listed.entries]
        if question.form == TABLE:
            included = tables.check_included(question.query)
            return tables.table(served, objects, metadata, version=question.form_version, included=included)
        if question.form == METADATA:
            raise _not_acceptable(f"{METADATA}, but the requested object is a list (*{_go_name(served)}List)")
        return metadata_list(objects, metadata, question.form_version)

    def _table(self, served: Served, obj: Manifest, question: Question, *, is_first: bool) -> Manifest:
        included, version = tables.check_included(question.query), question.form_version
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
