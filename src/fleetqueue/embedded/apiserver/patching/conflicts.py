"""Say whose fields an apply would have taken."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.patching.elements import as_text
from fleetqueue.embedded.apiserver.patching.field_sets import Fields, paths
from fleetqueue.embedded.apiserver.patching.owners import UPDATE, FieldOwner, name_in_order


class Taken(NamedTuple):
    """A field of another, to which the applied configuration gives another value."""

    owner: FieldOwner
    path: tuple[str, ...]

    @property
    def field(self) -> str:
        """Return the path as messages show it."""
        return "".join(as_text(element) for element in self.path)


class Conflicts(Exception):
    """An apply that would take fields from others and is not allowed to."""

    def __init__(self, taken: Sequence[Taken]) -> None:
        super().__init__(f"{len(taken)} conflicts")
        self.taken = taken


def all_of(losses: Iterable[tuple[FieldOwner, Fields]]) -> list[Taken]:
    """Name every field that each owner would lose, owner by owner."""
    in_order = sorted(losses, key=lambda pair: name_in_order(pair[0].name))
    return [Taken(owner, path) for owner, fields in in_order for path in paths(fields)]


def refusal(taken: Sequence[Taken]) -> errors.Conflict:
    """Return the answer to an apply that conflicts."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_shown(conflict.owner)}",
            "field": conflict.field,
        }
        for conflict in taken
    ]
    return errors.Conflict(_message(taken), reason="Conflict", details={"causes": causes})


def _message(taken: Sequence[Taken]) -> str:
    if len(taken) == 1:
        return f"Apply failed with 1 conflict: conflict with {_shown(taken[0].owner)}: {taken[0].field}"
    lines: list[str] = []
    for owner, group in groupby(taken, key=lambda conflict: conflict.owner):
        lines.append(f"conflicts with {_shown(owner)}:")
        lines += [f"- {conflict.field}" for conflict in group]
    return f"Apply failed with {len(taken)} conflicts: " + "\n".join(lines)


def _shown(owner: FieldOwner) -> str:
    shown = go_text.quoted(owner.manager)
    if owner.subresource:
        shown += f" with subresource {go_text.quoted(owner.subresource)}"
    return f"{shown} using {owner.api_version}" if owner.operation == UPDATE else shown
