"""One object in the versions of those who own its fields.

Whoever wrote in another version owns fields of that version. So what a write changes is looked at in each of them.
"""

from collections.abc import Callable
from typing import NamedTuple

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.comparison import Comparison, compare
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset


class OtherVersion(NamedTuple):
    """Another version than that of the request."""

    schema: Schema
    from_request: Callable[[Manifest], Manifest]
    to_request: Callable[[Manifest], Manifest]


OtherVersions = Callable[[str], OtherVersion | None]
"""Returns a version by its apiVersion; None for one that does not exist any more."""


class ObjectVersions(NamedTuple):
    """How an object looks in every version."""

    request: str
    """The apiVersion of the request."""
    schema: Schema
    other_versions: OtherVersions | None = None
    """None where every version is taken for that of the request."""

    def other(self, version: str) -> OtherVersion | None:
        """Return a version; None for one that does not exist."""
        if self.other_versions is None or version == self.request:
            return OtherVersion(self.schema, _same, _same)
        return self.other_versions(version)

    def schema_of(self, version: str) -> Schema | None:
        if self.other_versions is None or version == self.request:
            return self.schema
        other = self.other_versions(version)
        return None if other is None else other.schema


def _same(obj: Manifest) -> Manifest:
    return obj


class Changes:
    """What a write changes, in every version that an owner uses."""

    def __init__(self, old: Manifest, new: Manifest, versions: ObjectVersions, reset: Reset) -> None:
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
        if version == self.versions.request or self.versions.other_versions is None:
            return self.own
        if version not in self._others:
            self._others[version] = self._compared(version)
        return self._others[version]

    def _compared(self, version: str) -> Comparison | None:
        other = self.versions.other(version)
        if other is None:
            return None
        return compare(other.from_request(self.old), other.from_request(self.new), other.schema).beside(self.reset)
