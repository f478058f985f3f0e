"""Are the list and map types of a schema right: keys that exist, are scalars, and are always there?"""

from collections.abc import Iterator, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required

Openapi = Mapping[str, Any]
_LIST, _KEYS, _MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"


def list_problems(openapi: Openapi, path: str) -> Iterator[Cause]:
    """Return what is wrong with the list type and the map type of one node."""
    yield from _map_type(openapi, path)
    kind, listed = openapi.get("type") or "", openapi.get(_LIST)
    items = openapi.get("items")
    if listed is not None and kind != "array":
        told = f"must be array if {_LIST} is specified"
        yield invalid_value(f"{path}.type", kind, told) if kind else required(f"{path}.type", told)
    elif listed == "set" and isinstance(items, dict):
        yield from _set_items(items, path)
    if listed not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.{_LIST}", listed, ["atomic", "set", "map"])
    if openapi.get(_KEYS) and listed != "map":
        told = f"must be map if {_KEYS} is non-empty"
        yield invalid_value(f"{path}.{_LIST}", listed, told) if listed else required(f"{path}.{_LIST}", told)
    if listed == "map":
        yield from _map_items(openapi, items, path)
    if isinstance(items, dict) and listed in ("set", "map"):
        yield from _always_there(openapi, items, listed, path)


def _map_type(openapi: Openapi, path: str) -> Iterator[Cause]:
    kind, mapped = openapi.get("type") or "", openapi.get(_MAP)
    if mapped is not None and kind != "object":
        told = f"must be object if {_MAP} is specified"
        yield invalid_value(f"{path}.type", kind, told) if kind else required(f"{path}.type", told)
    if mapped not in (None, "atomic", "granular"):
        yield not_supported(f"{path}.{_MAP}", mapped, ["atomic", "granular"])


def _set_items(items: Openapi, path: str) -> Iterator[Cause]:
    told = f"must be atomic as item of a list with {_LIST}=set"
    if items.get("type") == "array" and items.get(_LIST) not in (None, "atomic"):
        yield invalid_value(f"{path}.items.{_LIST}", items.get(_LIST), told)
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        yield invalid_value(f"{path}.items.{_MAP}", items.get(_LIST), told)


def _map_items(openapi: Openapi, items: Any, path: str) -> Iterator[Cause]:
    keys = openapi.get(_KEYS) or []
    if not keys:
        yield required(f"{path}.{_KEYS}", f"must not be empty if {_LIST} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        yield invalid_value(
            f"{path}.items.type", items.get("type") or "", f"must be object if parent array's {_LIST} is map"
        )
        return
    for position, key in enumerate(keys):
        described = (items.get("properties") or {}).get(key)
        if described is None:
            yield invalid_value(f"{path}.{_KEYS}", keys, "entries must all be names of item properties")
        elif described.get("type") in ("array", "object"):
            told = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", items["type"], told)
        if key in keys[:position]:
            yield invalid_value(f"{path}.{_KEYS}", keys, "must not contain duplicate entries")


def _always_there(openapi: Openapi, items: Openapi, listed: str, path: str) -> Iterator[Cause]:
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST} is {listed}")
    for key in (openapi.get(_KEYS) or ()) if listed == "map" else ():
        described = (items.get("properties") or {}).get(key)
        if described is None:
            continue
        at, told = f"{path}.items.properties[{key}]", f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and described.get("default") is None:
            yield required(f"{at}.default", f"{told} must have a default or be a required property")
        if described.get("nullable"):
            yield forbidden(f"{at}.nullable", f"{told} cannot be nullable")
