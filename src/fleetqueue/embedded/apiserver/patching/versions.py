"""One object in the versions that the owners of its fields speak of.

Whoever wrote in another version owns fields of that version. So what a write changes is looked at in each of them.
"""

from collections.abc import Callable
from typing import NamedTuple

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.comparison import Comparison, compare
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset


class Face(NamedTuple):
    """Another version than that of the request."""

    schema: Schema
    from_request: Callable[[Manifest], Manifest]
    to_request: Callable[[Manifest], Manifest]


Faces = Callable[[str], Face | None]
"""Returns a version by its apiVersion; None for one that does not exist any more."""


class Versions(NamedTuple):
    """How an object looks in every version."""

    request: str
    """The apiVersion of the request."""
    schema: Schema
    faces: Faces | None = None
    """None where every version is taken for that of the request."""

    def face(self, version: str) -> Face | None:
        """Return a version; None for one that does not exist."""
        if self.faces is None or version == self.request:
            return Face(self.schema, _same, _same)
        return self.faces(version)

    def schema_of(self, version: str) -> Schema | None:
        if self.faces is None or version == self.request:
            return self.schema
        face = self.faces(version)
        return None if face is None else face.schema


def _same(obj: Manifest) -> Manifest:
    return obj


class Changes:
    """What a write changes, in every version in which somebody asks."""

    def __init__(self, old: Manifest, new: Manifest, versions: Versions, reset: Reset) -> None:
        self.old = old
        self.new = new
        self.versions = versions
        self.reset = reset
        self.all = compare(old, new, versions.schema)
        """Also what is reset, in the version of the request."""
        self.own = self.all.beside(reset)
        self._others: dict[str, Comparison | None] = {}

    def of(self, version: str) -> Comparison | None:
        """Return the changes in a version; None for one that does not exist."""
        if version == self.versions.request or self.versions.faces is None:
            return self.own
        if version not in self._others:
            self._others[version] = self._compared(version)
        return self._others[version]

    def _compared(self, version: str) -> Comparison | None:
        face = self.versions.face(version)
        if face is None:
            return None
        return compare(face.from_request(self.old), face.from_request(self.new), face.schema).beside(self.reset)
