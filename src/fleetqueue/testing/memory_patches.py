"""What patches do to an object: JSON merge patch, and server-side apply with owned fields.

An object is seen as its leaves: the path to each value that is no map. Lists with a key (`conditions` by type,
`admissionChecks` by name) are maps of their items; any other list is one leaf.

Simplified: which lists have keys is known by their field's name, not by a schema.
"""

from typing import Any, Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest

KEYED_LISTS: Final = {"conditions": "type", "admissionChecks": "name", "ownerReferences": "uid"}


class Item(NamedTuple):
    """A step of a path into a keyed list."""

    key: str
    value: str


Path = tuple[str | Item, ...]
Owners = dict[str, set[Path]]
"""The fields of one object by who last set them."""


def merge_patch(live: Any, patch: Any) -> Any:
    """Return what RFC 7386 makes of an object."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(live) if isinstance(live, dict) else {}
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        else:
            merged[field] = merge_patch(merged.get(field), value)
    return merged


def apply(live: Manifest, wanted: Manifest, owners: Owners, manager: str, *, force: bool) -> Manifest:
    """Set a manager's fields, and drop those that it set before, wants no more and owns alone."""
    have, want = leaves(live), leaves(wanted)
    others = {owner: fields for owner, fields in owners.items() if owner != manager}
    taken = {path for path, value in want.items() if have.get(path) != value}
    for owner, fields in others.items():
        if taken & fields and not force:
            raise errors.Conflict(f'Apply failed: conflict with "{owner.partition(" ")[0]}"')
        fields -= taken
    left = owners.get(manager, set()) - want.keys() - set[Path]().union(*others.values())
    owners[manager] = set(want)
    return nested({path: value for path, value in have.items() if path not in left} | want)


def note_update(before: Manifest, after: Manifest, owners: Owners, manager: str) -> None:
    """Make whoever changed fields without apply their only owner."""
    old, new = leaves(before), leaves(after)
    changed = {path for path, value in new.items() if old.get(path) != value}
    for fields in owners.values():
        fields -= changed | (old.keys() - new.keys())
    owners.setdefault(manager, set()).update(changed)


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    if isinstance(value, dict) and value:
        steps: list[tuple[str | Item, Any]] = list(value.items())
    elif isinstance(value, list) and value and path and path[-1] in KEYED_LISTS:
        key = KEYED_LISTS[str(path[-1])]
        steps = [(Item(key, item[key]), item) for item in value]
    else:
        return {path: value}
    return {leaf: found for step, inner in steps for leaf, found in leaves(inner, (*path, step)).items()}


def nested(found: dict[Path, Any]) -> Manifest:
    """Build the object that has these leaves."""
    root: dict[Any, Any] = {}
    for path, value in found.items():
        node = root
        for step in path[:-1]:
            if not isinstance(node.get(step), dict):
                node[step] = {}
            node = node[step]
        if value in ({}, []):
            node.setdefault(path[-1], type(value)())
        else:
            node[path[-1]] = value
    built: Manifest = _with_lists(root)
    return built


def _with_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    built = {step: _with_lists(value) for step, value in node.items()}
    return list(built.values()) if built and all(isinstance(step, Item) for step in built) else built
