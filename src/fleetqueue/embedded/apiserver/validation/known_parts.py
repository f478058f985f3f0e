"""Parts of objects that were looked at and found in order, so that a write looks only at what it changes.

Stored objects are never changed, and a write shares with the stored object all that it does not touch. So a part that
is the very same value as one that was in order is in order: nobody need walk through a whole spec again for a change of
the status. And where the part as it was is known, what the new one shares with it, at the same place, is in order, too:
of a status with another condition only that condition is looked at.

What is remembered belongs to one look by one schema; another schema begins anew.
"""

from typing import Any, Final

MOST_KNOWN: Final = 256
"""One that is forgotten is looked at once more, which takes some 20 µs; one that is known stays in memory."""


class KnownParts:
    """Values by their identity, with the name of their field; kept, so that no other value gets the same identity."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, Any]] = {}

    def has(self, name: str, part: Any) -> bool:
        known = self._known.get(id(part))
        return known is not None and known[0] == name

    def known(self, name: str, part: Any) -> Any:
        """Return a part if it is known, else None."""
        return part if self.has(name, part) else None

    def follow(self, name: str, before: Any, part: Any) -> None:
        """Know a part instead of the one that it takes the place of, which nobody will write upon again."""
        if part is not before:
            self._known.pop(id(before), None)
        self.add(name, part)

    def add(self, name: str, part: Any) -> None:
        if len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[id(part)] = (name, part)
