"""Apply a strategic merge patch to an object of a built-in kind without touching the object.

Like a merge patch, but lists whose schema says `merge` are merged item by item, and directives in the patch say what
else is to be done: `$patch: delete | replace` on a map or an item, `$retainKeys`, `$deleteFromPrimitiveList/<list>` and
`$setElementOrder/<list>`.
"""

from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import ANY, Schema
from fleetqueue.embedded.apiserver.patching import strategic_lists
from fleetqueue.embedded.apiserver.patching.merge_patch import without_nulls
from fleetqueue.embedded.apiserver.patching.refusals import malformed, no_map, unexpected, wrong_argument

DIRECTIVE: Final = "$patch"
RETAIN: Final = "$retainKeys"
DELETE_FROM: Final = "$deleteFromPrimitiveList"
ORDER: Final = "$setElementOrder"

_ABSENT: Final = object()
_BAD_RETAIN: Final = "invalid patch format of retainKeys"
_BAD_DELETION: Final = "invalid patch format of primitive list"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"


def apply_strategic_merge(obj: Manifest, patch: Any, schema: Schema) -> Manifest:
    """Return the object with the patch in it.

    Raises BadRequest for a patch that is none, and ServerError (as the real server) for one that does not fit.
    """
    if patch is not None and not isinstance(patch, dict):
        raise malformed(no_map(patch))
    return merge_maps(obj, patch or {}, schema)


def merge_maps(before: Manifest, patch: Manifest, schema: Schema) -> Manifest:
    """Return a map with a patch of it in it."""
    if DIRECTIVE in patch:
        return _directed(patch)
    patch = dict(patch)
    after = _retained(before, patch)
    for name in [name for name in patch if name.startswith(ORDER)]:
        _order(after, patch, name, schema)
    for name, value in patch.items():
        _put(after, name, value, schema)
    return after


def _directed(patch: Manifest) -> Manifest:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise strategic_lists.unknown_directive(patch)


def _retained(before: Manifest, patch: Manifest) -> Manifest:
    """Return a copy of the map with only what `$retainKeys` names, and take that out of the patch."""
    if RETAIN not in patch:
        return dict(before)
    keys = patch.pop(RETAIN)
    if not isinstance(keys, list):
        raise malformed(_BAD_RETAIN)
    for name, value in patch.items():
        if value is not None and name not in keys and not name.startswith((DELETE_FROM, ORDER)):
            raise malformed(_BAD_RETAIN)
    return {name: value for name, value in before.items() if name in keys}


def _order(after: Manifest, patch: Manifest, directive: str, schema: Schema) -> None:
    """Merge the list that an order is given for, in that order, and take both out of the patch."""
    order = _list(patch.pop(directive))
    name = _target(directive, ORDER, _BAD_ORDER)
    ours, theirs = after.get(name), patch.pop(name, _ABSENT)
    old = [] if ours is None else _list(ours)
    new = [] if theirs is _ABSENT else _list(theirs)
    field = _field(schema, name)
    strategic_lists.check_order(new, order, field.patch_key)
    if ours is None and theirs is _ABSENT:
        return
    if ours is None:
        merged = strategic_lists.without_directives(new)
    elif theirs is _ABSENT:
        merged = old
    else:
        merged = _merged_list(old, new, field, deletes=False)
        old = strategic_lists.order_after(old, new, field.patch_key)
    mine, others = strategic_lists.parted(merged, order, field.patch_key)
    kind = strategic_lists.kind_of_items(old, new)
    after[name] = strategic_lists.interleaved(mine, others, order, old, field.patch_key, kind)


def _put(after: Manifest, name: str, value: Any, schema: Schema) -> None:
    """Put one value of a patch where it belongs."""
    deletes = name.startswith(DELETE_FROM)
    if deletes:
        name = _target(name, DELETE_FROM, _BAD_DELETION)
    before: Any = after.get(name)
    if value is None:
        after.pop(name, None)
    elif name not in after or type(before) is not type(value):
        if not deletes:
            _put_new(after, name, value)
    elif isinstance(value, dict):
        field = _field(schema, name)
        after[name] = value if "replace" in field.patch_strategies else merge_maps(before, value, field)
    elif isinstance(value, list):
        after[name] = _merged_list(before, value, _field(schema, name), deletes=deletes)
    else:
        after[name] = value


def _put_new(after: Manifest, name: str, value: Any) -> None:
    if isinstance(value, dict) and DIRECTIVE in value:
        after.pop(name, None)  # nothing is there to be replaced or deleted
    else:
        after[name] = strategic_lists.without_directives(without_nulls(value))


def _merged_list(before: list[Any], patch: list[Any], field: Schema, *, deletes: bool) -> list[Any]:
    if "merge" not in field.patch_strategies and not deletes:
        return patch
    return strategic_lists.merge_lists(before, patch, field, merge_maps, deletes=deletes)


def _target(directive: str, prefix: str, complaint: str) -> str:
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        raise malformed(complaint)
    return name


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise wrong_argument(value, "[]interface {}")
    return value


def _field(schema: Schema, name: str) -> Schema:
    if schema is ANY:
        return ANY
    if schema.values is not None:
        raise unexpected("merging an object in json but data type is not struct, instead is: map")
    field = schema.properties.get(name)
    if field is None:
        struct = schema.name.rpartition(".")[2]
        raise unexpected(f"unable to find api field in struct {struct} for the json field {go_text.quoted(name)}")
    return field
