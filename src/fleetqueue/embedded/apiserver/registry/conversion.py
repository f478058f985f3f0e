"""One custom object in several versions: it is stored in one of them and shown in each.

Who assembles a server gives it a converter for each kind whose versions differ in more than their name; a webhook that
a definition names is not called. As in the real server, a conversion changes no metadata but labels and annotations,
and what the wanted version does not know is dropped after it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.versions import OtherVersion, OtherVersions
from fleetqueue.embedded.apiserver.validation.defaulting import with_defaults
from fleetqueue.embedded.apiserver.validation.pruning import prune

Convert = Callable[[Manifest, str], Manifest]
"""From an object, which says its version, and the name of the wanted one, to the object in that one.

It changes nothing that it is given, and need not change apiVersion. Any field may be missing: an apply also asks what
an object would be without some of them.
"""

Converters = Mapping[tuple[str, str], Convert]
"""The converters of a server, by group and kind."""

NO_CONVERTERS: Final[Converters] = {}
_CHANGEABLE: Final = ("labels", "annotations")


def only_renamed(obj: Manifest, version: str) -> Manifest:
    """The conversion of a kind that has no converter."""
    return obj


@dataclass(frozen=True, slots=True)
class KindVersions:
    """The versions of one kind."""

    group: str
    stored: str
    schemas: Mapping[str, Schema]
    wholes: Mapping[str, Schema]
    """The schemas of whole objects, with their metadata."""
    convert: Convert = only_renamed

    def show(self, obj: Manifest, version: str) -> Manifest:
        """Return an object in another version; itself where that is its own."""
        api_version = f"{self.group}/{version}"
        if obj["apiVersion"] == api_version:
            return obj
        after = {**self.convert(obj, version), "apiVersion": api_version}
        if after.get("metadata") is not obj.get("metadata"):
            after["metadata"] = _metadata(obj.get("metadata") or {}, after.get("metadata") or {})
        return prune(after, self.schemas[version])

    def store(self, obj: Manifest) -> Manifest:
        """Return an object as it is stored, with what the stored version fills in."""
        return with_defaults(self.show(obj, self.stored), self.schemas[self.stored])

    def other_versions(self, version: str) -> OtherVersions:
        """Return how an object of one version looks to the owners of fields of others."""

        def find(api_version: str) -> OtherVersion | None:
            group, _, other = api_version.rpartition("/")
            if group != self.group or other not in self.wholes:
                return None
            return OtherVersion(
                self.wholes[other], lambda obj: self.show(obj, other), lambda obj: self.show(obj, version)
            )

        return find


def _metadata(before: Manifest, after: Manifest) -> Manifest:
    kept = {key: value for key, value in before.items() if key not in _CHANGEABLE}
    return kept | {key: after[key] for key in _CHANGEABLE if after.get(key)}


_NAMED_AS_USUAL: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_MATURITY: Final = {None: 0, "beta": 1, "alpha": 2}

_Order = tuple[bool, int, int, int, str]


def version_order(version: str) -> _Order:
    """Return what versions are sorted by: v2, v1, v1beta2, v1beta1, v1alpha1, then all that is named otherwise."""
    match = _NAMED_AS_USUAL.fullmatch(version)
    if match is None:
        return True, 0, 0, 0, version
    major, maturity, minor = match.groups()
    return False, _MATURITY[maturity], -int(major), -int(minor or 0), ""
