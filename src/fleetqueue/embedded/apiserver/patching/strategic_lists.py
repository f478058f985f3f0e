"""Merge lists as a strategic merge patch does: item by item, in an order that respects both sides."""

from collections.abc import Callable, Sequence
from typing import Any

from fleetqueue.api.errors import ServerError
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import ANY, Schema
from fleetqueue.embedded.apiserver.patching.refusals import inapplicable, panicked, unexpected, wrong_argument

MergeMaps = Callable[[Manifest, Manifest, Schema], Manifest]
_DIRECTIVE = "$patch"


def merge_lists(
    before: list[Any], patch: list[Any], field: Schema, merge_maps: MergeMaps, *, deletes: bool
) -> list[Any]:
    """Return a list with a patch of it in it; `deletes` if the patch names scalars to be taken out."""
    if not before and not patch:
        return before
    kind, key = kind_of_items(before, patch), field.patch_key
    if kind is not dict:
        if deletes:
            return [item for item in before if item not in patch]
        merged = list(dict.fromkeys([*before, *patch]))
    else:
        if not key:
            inner = (field.items or ANY).type
            raise unexpected(f"cannot merge lists without merge key for {'string' if inner == 'string' else 'struct'}")
        before, patch = _specials_done(before, patch, key)
        merged = _items_merged(before, patch, field, merge_maps)
    mine, others = parted(merged, patch, key)
    return interleaved(mine, others, patch, before, key, kind)


def kind_of_items(*lists: Sequence[Any]) -> type:
    """Return what all items of the lists are."""
    kinds = list(dict.fromkeys(type(item) for items in lists for item in items))
    if not kinds:
        raise unexpected("no elements in any of the given slices")
    if kinds[0] is type(None):
        raise panicked()
    if kinds[0] is list:
        raise inapplicable()
    if len(kinds) > 1:
        raise unexpected(f"list element types are not identical: {go_text.text([*map(list, lists)])}")
    return kinds[0]


def _specials_done(before: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Do what items with `$patch` say; return the list after that, and the patch without them."""
    plain: list[Any] = []
    replaces = False
    for item in patch:
        directive = item.get(_DIRECTIVE)
        if _DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            gone = _key_of(item, key)
            before = [old for old in before if key not in old or old[key] != gone]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise unexpected("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(item)
    return (plain, []) if replaces else (before, plain)


def unknown_directive(patch: Manifest) -> ServerError:
    """Return the answer to a `$patch` that says nothing we know."""
    return unexpected(f"unknown patch type: {go_text.as_string(patch[_DIRECTIVE])} in map: {go_text.text(patch)}")


def _items_merged(before: list[Any], patch: list[Any], field: Schema, merge_maps: MergeMaps) -> list[Any]:
    merged, key = list(before), field.patch_key
    for item in patch:
        wanted = _key_of(item, key)
        place = next((index for index, old in enumerate(merged) if key in old and old[key] == wanted), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = merge_maps(merged[place], item, field.items or ANY)
    return merged


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise wrong_argument(item, "map[string]interface {}")
    if key not in item:
        raise unexpected(f"map: {go_text.text(item)} does not contain declared merge key: {key}")
    return item[key]


def without_directives(value: Any) -> Any:
    """Return a value without the maps in it that carry a `$patch`: there was nothing to do it to."""
    if isinstance(value, dict):
        return {name: without_directives(inner) for name, inner in value.items() if not _is_directive(inner)}
    if isinstance(value, list):
        return [without_directives(item) for item in value if not _is_directive(item)]
    return value


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Refuse a patch whose items do not come in the order that it gives itself."""
    if not patch or not order:
        return
    items = [item for item in patch if not _is_deletion(item, key)]
    at = 0
    for place in order:
        while at < len(items) and _is_directive(items[at]):
            at += 1
        if at == len(items):
            return
        at += (_key_of(place, key) == _key_of(items[at], key)) if key else place == items[at]
    if at < len(items):
        raise unexpected(
            f"The order in patch list:\n{go_text.text(patch)}\n doesn't match $setElementOrder list:\n"
            f"{go_text.text(order)}\n"
        )


def _is_deletion(item: Any, key: str) -> bool:
    if key and not isinstance(item, dict):
        raise wrong_argument(item, "map[string]interface {}")
    return bool(key) and item.get(_DIRECTIVE) == "delete"


def parted(merged: list[Any], listed: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Part the items that a list names from the others."""
    mine: list[Any] = []
    others: list[Any] = []
    for item in merged:
        is_mine = _is_named(_key_of(item, key), listed, key) if key else item in listed
        (mine if is_mine else others).append(item)
    return mine, others


def _is_named(wanted: Any, listed: list[Any], key: str) -> bool:
    for index, item in enumerate(listed):
        if not isinstance(item, dict):
            raise unexpected(f"value for key {index} is not a map")
        if key in item and item[key] == wanted:
            return True
    return False


def order_after(old: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Return the order that others keep: in the real server new items take the places of those that are deleted."""
    if not key or any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return old
    gone = [item.get(key) for item in patch if _is_directive(item)]
    rest = [item for item in old if item.get(key) not in gone]
    names = [item.get(key) for item in rest]
    added = [item for item in patch if not _is_directive(item) and item.get(key) not in names]
    return (rest + added)[: len(old)]


def interleaved(
    mine: list[Any], others: list[Any], order: list[Any], old: list[Any], key: str, kind: type
) -> list[Any]:
    """Bring the named items into their order, and the others where they stood, as far as both can be."""

    def place(items: list[Any], item: Any) -> int:
        wanted = _name(item, key, kind)
        return next((index for index, candidate in enumerate(items) if _name(candidate, key, kind) == wanted), -1)

    def in_order(items: list[Any], places: list[Any]) -> list[Any]:
        """Sort as the real server does: what has no place goes before all that it is compared with."""
        numbered = [(place(places, item), item) for item in items]
        for end in range(1, len(numbered)):
            at = end
            while at and not numbered[at][0] >= numbered[at - 1][0] >= 0:
                numbered[at - 1], numbered[at] = numbered[at], numbered[at - 1]
                at -= 1
        return [item for _, item in numbered]

    if kind is dict:
        for item in (*mine, *order, *others, *old):
            _key_of(item, key)
    mine, others = in_order(mine, order), in_order(others, old)
    merged: list[Any] = []
    while mine and others:
        left, right = place(old, others[0]), place(old, mine[0])
        merged.append(others.pop(0) if 0 <= left < right else mine.pop(0))
    return merged + mine + others


def _name(item: Any, key: str, kind: type) -> Any:
    return item.get(key) if kind is dict else item
