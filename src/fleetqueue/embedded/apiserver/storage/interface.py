"""The contract of a cluster's storage: its operations, and what it promises.

Reads are plain functions, since the whole state is in memory: one that runs to its end sees one state. Writes are
awaited, and return when the change is safe. `docs/en/design/storage.md` tells the story.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Literal, NamedTuple, Protocol, Self

import orjson

from fleetqueue.api.kept_json import kept_json
from fleetqueue.api.packing import Packer, Pattern
from fleetqueue.api.scheme import Manifest

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

READ_AT_ONCE: Final = 1000
"""How many changes a watch hands out in one go, so that one that is far behind does not hold up the others."""


class StorageEntry:
    """One version of one object. Neither it nor its object is ever changed, so everybody shares both.

    What nobody has read for a while is packed: then it is bytes only, and the object is made anew for the next reader.
    """

    __slots__ = ("_encoded", "_json", "_object", "_on_unpacked", "_packed", "_pattern", "key", "revision")

    def __init__(self, key: str, manifest: Manifest, revision: int, json: bytes | None = None) -> None:
        self.key = key
        self.revision = revision
        self._object: Manifest | None = manifest
        self._json = json
        self._encoded: dict[str, bytes] | None = None
        self._packed: bytes | None = None
        self._pattern: Pattern | None = None
        self._on_unpacked: Callable[[StorageEntry], None] | None = None

    @classmethod
    def of(cls, key: str, manifest: Manifest, revision: int) -> Self:
        """Make a new version: a copy that says its revision and shares all the rest."""
        metadata = {**(manifest.get("metadata") or {}), "resourceVersion": str(revision)}
        return cls(key, {**manifest, "metadata": metadata}, revision)

    @property
    def object(self) -> Manifest:
        if self._object is None:
            self._object = orjson.loads(self.json)
            if self._on_unpacked is not None:
                self._on_unpacked(self)
        return self._object

    @property
    def json(self) -> bytes:
        """The object as JSON, encoded at most once; of a packed one it is not kept."""
        if self._json is not None:
            return self._json
        if self._object is None:
            assert self._pattern is not None
            assert self._packed is not None
            return self._pattern.unpack(self._packed)
        self._json = kept_json(self._object)
        return self._json

    def encoded(self, form: str, encode: Callable[[Manifest], bytes]) -> bytes:
        """Return the object in another form (another version, say, or metadata only), also encoded at most once."""
        if self._encoded is None:
            self._encoded = {}
        data = self._encoded.get(form)
        if data is None:
            data = self._encoded[form] = encode(self.object)
        return data

    def forget_encoded(self) -> None:
        """Keep only the object: a version that is no longer the newest is rarely read, and can be encoded again."""
        if self._object is not None:
            self._json = self._encoded = None

    def pack(self, packer: Packer, on_unpacked: "Callable[[StorageEntry], None]") -> None:
        """Keep only bytes, until somebody asks for the object, who is told to `on_unpacked`."""
        if self._packed is None:
            self._pattern, self._packed = packer.pack(self.json)
        self._on_unpacked = on_unpacked
        self._object = self._json = self._encoded = None

    def __repr__(self) -> str:
        return f"<Entry {self.key} at {self.revision}>"


class StorageChange(NamedTuple):
    """What happened to one object at one revision."""

    type: ChangeType
    entry: StorageEntry
    """The new version; of a deleted object its last one, with the revision of the deletion."""
    previous: StorageEntry | None
    """The version before; None of an added object."""

    @property
    def revision(self) -> int:
        return self.entry.revision

    @property
    def key(self) -> str:
        return self.entry.key


class StoragePage(NamedTuple):
    """A part of a list; the next one begins after the key of its last entry, at the same revision."""

    entries: Sequence[StorageEntry]
    revision: int
    """The revision whose state this is."""
    remaining: int
    """How many entries come after the last one; 0 at the end."""


class StorageWatch(Protocol):
    """Changes in order, none missing, none twice. It needs no closing: who stops reading has left.

    Errors: Gone, when the changes that would come next are forgotten.
    """

    @property
    def revision(self) -> int:
        """The revision up to which all changes were handed out: what a bookmark may say."""
        ...

    async def read(self, *, limit: int = READ_AT_ONCE, until: float | None = None) -> Sequence[StorageChange]:
        """Return what there is, waiting for at least one change; nothing when the loop's time has come."""
        ...

    def __aiter__(self) -> AsyncIterator[StorageChange]: ...

    async def __anext__(self) -> StorageChange: ...


class Storage(Protocol):
    """One cluster's objects, by keys as in `keys`.

    Errors are those of `fleetqueue.api.errors`, ready to be answered: NotFound, AlreadyExists, Conflict (`expected` is
    stale), Gone (a revision whose changes are forgotten) and ServerError (a commit failed, or a revision is not there).
    """

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        ...

    @property
    def compacted(self) -> int:
        """The oldest revision that can be listed, or watched from."""
        ...

    def get(self, key: str) -> StorageEntry:
        """Return the committed version of an object."""
        ...

    def head(self, key: str) -> StorageEntry | None:
        """Return the version that a writer must build on: maybe not committed yet, so nothing to answer with.

        Who decides by it to write nothing waits for `reached(entry.revision)` before saying so.
        """
        ...

    def list(self, prefix: str, *, after: str = "", limit: int = 0, at: int | None = None) -> StoragePage:
        """Return committed versions in the order of their keys, the newest or those of a revision; limit 0 is all."""
        ...

    def counter(self, *prefixes: str) -> Callable[[], int]:
        """Return what counts the changes of some kinds: another number means another state."""
        ...

    def watch(self, prefix: str, *, since: int) -> StorageWatch:
        """Follow all changes after a revision, which may lie in the future."""
        ...

    async def create(self, key: str, manifest: Manifest) -> StorageEntry: ...

    async def update(self, key: str, manifest: Manifest, *, expected: int) -> StorageEntry: ...

    async def delete(self, key: str, *, expected: int) -> StorageEntry:
        """Remove an object; return its last version, with the revision of the deletion."""
        ...

    async def reached(self, revision: int, *, timeout: float = 3.0) -> None:
        """Wait until a revision is committed."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget all changes up to a revision."""
        ...

    async def close(self) -> None:
        """Let pending changes commit, and refuse new ones."""
        ...
