"""What a controller has just written and its cache does not show yet.

A controller that counts pods must not count on a cache from before its own writes: it would create the same pod
twice. So it notes each write under the key that it works on, and does not look again before the cache has caught up.
Versions of one kind only grow, so a cached object with the written version, or a later one, has caught up.
"""

from dataclasses import dataclass
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.store import Store

PATIENCE: Final = 30.0
"""Seconds. A watch that shows nothing for so long is broken; then the cache is all there is."""
ANY: Final = -1
"""The version of an object that is about to be created: whatever is seen of it will do."""


@dataclass(frozen=True, slots=True)
class Unseen:
    owner: str
    version: int
    until: float


class OwnWrites:
    def __init__(self, store: Store[Any]) -> None:
        self._store = store
        self._unseen: dict[str, Unseen] = {}
        """By the key of the written object."""
        self._keys: dict[str, set[str]] = {}
        """From an owner to the keys of what it wrote."""

    def creating(self, owner: str, name: str, namespace: str) -> None:
        """Note what is about to be created, before the answer and the watch can overtake each other."""
        self._note(owner, key_of(namespace, name), ANY)

    def wrote(self, owner: str, answer: Manifest) -> None:
        """Note a change of an object that was in the cache; one that is no longer there has gone."""
        metadata = answer["metadata"]
        key, version = key_of(metadata.get("namespace", ""), metadata["name"]), int(metadata["resourceVersion"])
        cached = self._store.get(key)
        if cached is not None and _version(cached) < version:
            self._note(owner, key, version)

    def deleting(self, owner: str, obj: Object) -> None:
        """Note what is about to be deleted: whatever happens to it next is seen as a later version, or as its end."""
        noted = self._unseen.get(obj.key)
        self._note(owner, obj.key, max(_version(obj), noted.version if noted is not None else ANY) + 1)

    def forget(self, name: str, namespace: str) -> None:
        """Take back what did not happen."""
        self._drop(key_of(namespace, name))

    def seen(self, old: Object | None, new: Object | None) -> None:
        """Take a change as the informer tells it."""
        obj = new or old
        assert obj is not None
        noted = self._unseen.get(obj.key)
        if noted is not None and (new is None or _version(new) >= noted.version):
            self._drop(obj.key)

    def are_unseen(self, owner: str) -> bool:
        """Tell whether the cache still lags behind what an owner wrote."""
        now = clock.monotonic()
        for key in [key for key in self._keys.get(owner, ()) if self._unseen[key].until <= now]:
            self._drop(key)
        return owner in self._keys

    def _note(self, owner: str, key: str, version: int) -> None:
        self._drop(key)
        self._unseen[key] = Unseen(owner, version, clock.monotonic() + PATIENCE)
        self._keys.setdefault(owner, set()).add(key)

    def _drop(self, key: str) -> None:
        noted = self._unseen.pop(key, None)
        if noted is not None:
            keys = self._keys[noted.owner]
            keys.discard(key)
            if not keys:
                del self._keys[noted.owner]


def _version(obj: Object) -> int:
    return int(obj.metadata.resource_version)
