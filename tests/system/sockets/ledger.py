"""What writers remember of a server that may die at any moment: what it acknowledged, and what they never heard of."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Version(NamedTuple):
    """One version of an object: the number in it, and its revision."""

    step: int
    revision: int


GONE = Version(0, 0)
"""What an object is before its creation and after its deletion."""


@dataclass
class Ledger:
    known: dict[str, Version] = field(default_factory=dict)
    """Each object as it was acknowledged last; one that is deleted stays, as GONE."""
    doubts: dict[str, int] = field(default_factory=dict)
    """The step of each object that is asked for and not answered; that of GONE for a deletion."""
    revisions: set[int] = field(default_factory=set)
    """All that were acknowledged."""

    def acknowledge(self, name: str, version: Version) -> None:
        del self.doubts[name]
        self.known[name] = version
        if version != GONE:
            assert version.revision not in self.revisions, "a revision was given twice"
            self.revisions.add(version.revision)

    def settle(self, found: dict[str, Version]) -> None:
        """Compare with what is there after a kill: all that was acknowledged, and every doubt as a whole or not."""
        for name in self.known.keys() | found.keys():
            known, now = self.known.get(name, GONE), found.get(name, GONE)
            assert now == known or now.step == self.doubts.get(name), (name, known, now)
            self.known[name] = now
        self.doubts.clear()
