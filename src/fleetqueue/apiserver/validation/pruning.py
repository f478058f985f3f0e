"""Drop the fields that a schema does not know, without touching the object that came in."""

from typing import Any

from fleetqueue.apiserver.kinds.schema import Schema

_META = frozenset({"apiVersion", "kind", "metadata"})
_METADATA_FIELDS = frozenset(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields".split()
)
_NOTHING = Schema()


def prune(obj: dict[str, Any], schema: Schema, dropped: list[str] | None = None) -> dict[str, Any]:
    """Return the object without unknown fields: the same object if it has none.

    The paths of what is dropped, such as `spec.list[0].x`, are added to `dropped` in order.
    """
    found: list[str] = []
    kept: dict[str, Any] = _pruned_dict(obj, schema, "", found, is_object=True)
    if dropped is not None:
        dropped.extend(sorted(found))
    return kept


def pruned_value(value: Any, schema: Schema) -> Any:
    """Prune something that is no whole object, such as a default."""
    return _pruned(value, schema, "", [])


def _pruned(value: Any, schema: Schema, path: str, dropped: list[str]) -> Any:
    if type(value) is dict:
        return _pruned_dict(value, schema, path, dropped, is_object=schema.is_embedded)
    if type(value) is list:
        return _pruned_list(value, schema, path, dropped)
    return value


def _pruned_dict(
    value: dict[str, Any], schema: Schema, path: str, dropped: list[str], *, is_object: bool
) -> dict[str, Any]:
    properties, values, keeps = schema.properties, schema.values, schema.keeps_unknown
    changed: dict[str, Any] = {}
    gone: list[str] = []
    for name, item in value.items():
        if is_object and name in _META:
            if name == "metadata" and type(item) is dict:
                kept = _pruned_metadata(item, _joined(path, name), dropped)
                if kept is not item:
                    changed[name] = kept
            continue
        child = properties.get(name) or values
        if child is not None:
            if type(item) is dict or type(item) is list:
                kept = _pruned(item, child, _joined(path, name), dropped)
                if kept is not item:
                    changed[name] = kept
        elif not keeps:
            gone.append(name)
            dropped.append(_joined(path, name))
    if not changed and not gone:
        return value
    made = {**value, **changed}
    for name in gone:
        del made[name]
    return made


def _pruned_metadata(value: dict[str, Any], path: str, dropped: list[str]) -> dict[str, Any]:
    gone = [name for name in value if name not in _METADATA_FIELDS]
    if not gone:
        return value
    dropped.extend(f"{path}.{name}" for name in gone)
    return {name: item for name, item in value.items() if name in _METADATA_FIELDS}


def _pruned_list(value: list[Any], schema: Schema, path: str, dropped: list[str]) -> list[Any]:
    items = schema.items
    if items is None:
        if schema.keeps_unknown:
            return value
        items = _NOTHING
    elif schema.keeps_unknown:
        items = _keeping(items)
    made: list[Any] | None = None
    for position, item in enumerate(value):
        kept = _pruned(item, items, f"{path}[{position}]", dropped)
        if kept is not item:
            made = made or list(value)
            made[position] = kept
    return value if made is None else made


def _keeping(schema: Schema) -> Schema:
    """Return a schema that keeps what it does not know, as its list does."""
    return Schema(
        properties=schema.properties,
        values=schema.values,
        items=schema.items,
        is_embedded=schema.is_embedded,
        keeps_unknown=True,
    )


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
