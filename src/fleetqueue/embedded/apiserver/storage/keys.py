"""The names of objects in a storage: `/<group>/<resource>/<namespace>/<name>`, without namespace if there is none.

Sorted as strings, the objects of a kind and those of a namespace stand together, so that a prefix selects them. As on
the real server, the order is that of the whole key: namespace `a-b` comes before `a`, because `-` sorts before `/`.
"""

from typing import Final, NamedTuple

CORE: Final = "core"
"""Stands for the group without a name. No other group is called so: built-in ones are not, custom ones have a dot."""


class KeyParts(NamedTuple):
    group: str
    resource: str
    namespace: str
    name: str


def prefix_of(group: str, resource: str, namespace: str = "") -> str:
    """Return what the keys of a kind begin with, or those of a kind in one namespace."""
    collection = f"/{group or CORE}/{resource}/"
    return f"{collection}{namespace}/" if namespace else collection


def key_of(group: str, resource: str, namespace: str, name: str) -> str:
    """Return the key of an object; its namespace is empty if it has none."""
    return prefix_of(group, resource, namespace) + name


def parts_of(key: str) -> KeyParts:
    """Take a key apart."""
    _, group, resource, *namespace, name = key.split("/")
    return KeyParts("" if group == CORE else group, resource, namespace[0] if namespace else "", name)


def collection_of(key: str) -> str:
    """Return the part of a key, or of a prefix, that names its kind; empty if the prefix does not go so far."""
    group_end = key.find("/", 1)
    resource_end = key.find("/", group_end + 1)
    return key[: resource_end + 1] if 0 < group_end < resource_end else ""
