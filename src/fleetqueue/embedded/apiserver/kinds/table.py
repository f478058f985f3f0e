"""The facts table of Kubernetes' built-in kinds, read from its file when it is first needed.

`tools/generate_facts.py` writes the file. A type is named as in OpenAPI but without `io.k8s.`: `api.core.v1.Pod`. A
field's type is a scalar (string, bool, int32, int64, float64, bytes), a type's name, or one of these behind a sign:
`*` a pointer, `[]` a list, `{}` a map with string keys, `=[]` a list that is a message of its own in protobuf.
"""

import re
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from fleetqueue.api.scheme import Resource

_FILE: Final = Path(__file__).with_name("facts.json.z")
_SCHEME: Final = "pkg/runtime/scheme.go:111"
"""What a real server calls its list of kinds, in its errors."""
_STABLE: Final = re.compile(r"v[0-9]+")


class Details(msgspec.Struct, frozen=True, gc=False):
    """What an apply or a strategic merge does with a field, and what its type alone does not say."""

    list_type: str = msgspec.field(default="", name="list")
    list_keys: tuple[str, ...] = msgspec.field(default=(), name="keys")
    map_type: str = msgspec.field(default="", name="map")
    strategies: str = msgspec.field(default="", name="strategy")
    key: str = ""
    default: Any = UNSET
    go_type: str = msgspec.field(default="", name="go")
    """What Go calls a type that has a name of its own, such as `types.UID` for a string."""


class TypeField(msgspec.Struct, array_like=True, frozen=True, gc=False):
    name: str
    """The JSON name; empty where the fields of the type stand in this object itself."""
    number: int
    """The protobuf number; 0 where the field is not in protobuf (apiVersion, kind)."""
    type: str
    marks: str = ""
    details: Details = Details()

    @property
    def omits_empty(self) -> bool:
        return "o" in self.marks

    @property
    def omits_zero(self) -> bool:
        """Whether even a zero time is left out, which to Go is not empty."""
        return "z" in self.marks

    @property
    def is_required(self) -> bool:
        return "r" in self.marks


class Subresource(msgspec.Struct, array_like=True, frozen=True):
    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class BuiltIn(msgspec.Struct, array_like=True, frozen=True):
    """A resource as discovery tells of it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[Subresource, ...]

    @property
    def resource(self) -> Resource:
        return Resource(self.group, self.version, self.kind, self.plural, self.namespaced)

    @property
    def list_kind(self) -> str:
        """The kind of a list of these; empty where they cannot be listed (reviews, bindings)."""
        return f"{self.kind}List" if "list" in self.verbs else ""

    @property
    def is_on_by_default(self) -> bool:
        """Whether a real server serves it by default; alpha and beta versions must be enabled."""
        return _STABLE.fullmatch(self.version) is not None

    @property
    def has_status(self) -> bool:
        return self.subresource("status") is not None

    def subresource(self, name: str) -> Subresource | None:
        return next((subresource for subresource in self.subresources if subresource.name == name), None)


class Table(msgspec.Struct, frozen=True):
    kinds: Mapping[str, Mapping[str, str]]
    """For each apiVersion, its kinds and their types; `*` has the kinds that exist in every apiVersion."""
    resources: tuple[BuiltIn, ...]
    """In the order of discovery: groups as a server lists them, the preferred version of a group first."""
    atomic: frozenset[str]
    """The types that an apply sees as one value."""
    types: Mapping[str, tuple[TypeField, ...]]


@cache
def table() -> Table:
    """Read the table; the first call costs some ten milliseconds, the others nothing."""
    return msgspec.json.decode(zlib.decompress(_FILE.read_bytes()), type=Table)


class UnknownKind(LookupError):
    """No built-in kind has this name; the text is a real server's."""


def type_of(group: str, version: str, kind: str) -> str:
    """Return the name of a kind's type; raises UnknownKind."""
    kinds = table().kinds
    api_version = f"{group}/{version}" if group else version
    own = kinds.get(api_version)
    type_name = own and (own.get(kind) or kinds["*"].get(kind))
    if not type_name:
        raise UnknownKind(f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"')
    return type_name
