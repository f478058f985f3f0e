"""Kinds of which nothing is known but a name as Kueue's configuration writes it: `Kind.version.group`."""

from functools import cache
from types import new_class
from typing import NamedTuple

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource


class KindName(NamedTuple):
    kind: str
    version: str
    group: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


def parsed(name: str) -> KindName | None:
    """Read the name of a kind; None where it is none."""
    kind, _, group_version = name.partition(".")
    version, _, group = group_version.partition(".")
    return KindName(kind, version, group) if kind and version and group else None


@cache
def kind_of(resource: Resource) -> type[Object]:
    """Return a kind of whose objects only the metadata is read; the same for the same resource."""
    return new_class(resource.kind, (Object,), exec_body=lambda body: body.update(resource=resource))
