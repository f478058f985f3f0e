"""What every open watch of a real server still has to tell, so that no time passes before it has.

Nobody but us writes to such a server, so each answer to a write says which events must come: to whom, about what, and
up to which revision. Nothing is guessed from silence.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from fleetqueue.api.meta import key_of
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.targets import RequestTarget, target_of

Wanted = Callable[[Manifest], bool]
Collection = tuple[str, str]
"""Group and plural."""
CREATED: Final = 201


class RecordedWrite(NamedTuple):
    collection: Collection
    key: str
    revision: int
    before: Manifest | None
    after: Manifest | None
    """None where it is gone."""


class Deliveries:
    """All writes to one server since it was clean, and its open watches."""

    def __init__(self) -> None:
        self.newest = 0
        """The newest revision that was ever seen in an answer."""
        self.objects: dict[tuple[str, str], Manifest] = {}
        """What was made and is there, by the paths of its collection and its name."""
        self._log: list[RecordedWrite] = []
        self._watches: list[OpenWatch] = []

    def answered(self, request: Request, response: Response, before: int) -> None:
        """Take note of an answer; a write obliges the watches that it concerns.

        `before` is the newest revision when it was sent: what others write meanwhile may be older or newer.
        """
        target, body = target_of(request), response.body
        if response.status >= 400 or not isinstance(body, dict):
            return
        if target is not None and target.is_write:
            self._wrote(request, target, response, before)
        self.saw(body)

    def saw(self, body: Manifest) -> None:
        """Take note of a revision, whether of an object or of a list."""
        self.newest = max(self.newest, _revision(body))

    def open(self, request: Request, wanted: Wanted, on_change: Callable[["OpenWatch"], None]) -> "OpenWatch":
        target = target_of(request)
        assert target is not None
        watch = OpenWatch(self, target, request.query, wanted, on_change)
        self._watches.append(watch)
        on_change(watch)
        return watch

    def since(self, revision: int) -> list[RecordedWrite]:
        return [written for written in self._log if written.revision > revision]

    def forget(self, watch: "OpenWatch") -> None:
        self._watches = [other for other in self._watches if other is not watch]

    def _wrote(self, request: Request, target: RequestTarget, response: Response, newest: int) -> None:
        body, is_gone = response.body, _is_gone(target, response.body)
        place = _path_of(request, target), target.name or body["metadata"]["name"]
        before, after = self.objects.get(place), None if is_gone else body
        # The revision of a deletion is not in its answer. It is newer than what was seen before, and that is enough.
        revision = newest + 1 if after is None else _revision(after)
        if before is not None and after is not None and revision == _revision(before):
            return  # nothing changed, so nothing is told
        if after is None:
            self.objects.pop(place, None)
        elif before is not None or response.status == CREATED:
            self.objects[place] = after
        key = key_of(target.namespace, place[1])
        written = RecordedWrite((target.group, target.plural), key, revision, before, after)
        self.newest = max(self.newest, revision)
        self._log.append(written)
        for watch in self._watches:
            watch.expect(written)


class OpenWatch:
    def __init__(
        self,
        deliveries: Deliveries,
        target: RequestTarget,
        query: Mapping[str, str],
        wanted: Wanted,
        on_change: Callable[["OpenWatch"], None],
    ) -> None:
        self.collection = (target.group, target.plural)
        self.owed: dict[str, RecordedWrite] = {}
        """From each key to the write that must still be told of."""
        self.is_listing = query.get("sendInitialEvents") == "true"
        self._deliveries = deliveries
        self._namespace = target.namespace
        self._wanted = wanted
        self._on_change = on_change
        self._told: dict[str, tuple[str, int]] = {}
        """The last event of each key: its type and revision."""
        if not self.is_listing:  # without a version it tells of what there is first; how much that is, nobody says
            self._catch_up(int(query.get("resourceVersion") or deliveries.newest))

    @property
    def is_quiet(self) -> bool:
        return not (self.owed or self.is_listing)

    def expect(self, written: RecordedWrite) -> None:
        if written.collection != self.collection or self.is_listing:
            return
        if self._namespace and not written.key.startswith(f"{self._namespace}/"):
            return
        concerns = any(obj is not None and self._wanted(obj) for obj in (written.before, written.after))
        concerns = concerns or (written.before is None and written.after is None)
        if concerns and not _pays(*self._told.get(written.key, ("", 0)), written):
            self.owed[written.key] = written
            self._on_change(self)

    def tell(self, line: Manifest) -> None:
        """Take note of an event that has come."""
        metadata = line["object"].get("metadata") or {}
        revision = _revision(line["object"])
        self._deliveries.saw(line["object"])
        if line["type"] == "BOOKMARK":
            if self.is_listing and "k8s.io/initial-events-end" in (metadata.get("annotations") or {}):
                self.is_listing = False
                self._catch_up(revision)
        elif line["type"] == "ERROR":
            self.end()
        else:
            key = key_of(metadata.get("namespace", ""), metadata["name"])
            self._told[key] = line["type"], revision
            if key in self.owed and _pays(line["type"], revision, self.owed[key]):
                del self.owed[key]
        self._on_change(self)

    def end(self) -> None:
        """Owe nothing any more."""
        self.owed.clear()
        self.is_listing = False
        self._deliveries.forget(self)
        self._on_change(self)

    def _catch_up(self, revision: int) -> None:
        for written in self._deliveries.since(revision):
            self.expect(written)


def _pays(kind: str, revision: int, written: RecordedWrite) -> bool:
    """Tell whether an event tells of a write; who comes anew was gone before."""
    return revision >= written.revision and (written.after is not None or kind in ("DELETED", "ADDED"))


def _path_of(request: Request, target: RequestTarget) -> str:
    """Return the path of the collection that an object is in."""
    if request.method == "POST" and not target.subresource:
        return request.path
    path = request.path.removesuffix(f"/{target.subresource}") if target.subresource else request.path
    return path.rpartition("/")[0]


def _is_gone(target: RequestTarget, body: Manifest) -> bool:
    """Tell from the answer to a write whether its object is there no more."""
    if target.verb == "delete" and body.get("kind") == "Status":
        return True
    metadata, spec = body.get("metadata") or {}, body.get("spec") or {}
    is_dying = "deletionTimestamp" in metadata or target.verb == "delete"
    is_held = metadata.get("finalizers") or (target.plural == "namespaces" and spec.get("finalizers"))
    return bool(is_dying and not is_held and not metadata.get("deletionGracePeriodSeconds"))


def _revision(body: Manifest) -> int:
    version = (body.get("metadata") or {}).get("resourceVersion") or "0"
    return int(version) if str(version).isdigit() else 0
