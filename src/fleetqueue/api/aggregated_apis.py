"""APIs that a part serves beside those of the server, as an aggregated API server does, but in the server's process."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from fleetqueue.api.scheme import Manifest


class AggregatedRequest(NamedTuple):
    """What is read; who asks may do so, and the resource has the verb."""

    verb: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    query: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AggregatedResource:
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    """Such as `get`; none where there is nothing but subresources."""
    subresources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The verbs of each; they are of the same kind."""


@dataclass(frozen=True, slots=True)
class AggregatedApi:
    group: str
    versions: tuple[str, ...]
    resources: tuple[AggregatedResource, ...]
    """The same in all versions."""
    answer: Callable[[AggregatedRequest], Manifest]
    """Raises ApiError."""


Serve = Callable[[AggregatedApi], AbstractContextManager[None]]
"""Serves an API for as long as the context is open; of two that serve the same, the newer answers."""


def not_served(api: AggregatedApi) -> AbstractContextManager[None]:
    return nullcontext()
