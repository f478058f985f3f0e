"""Apply a JSON Patch (RFC 6902) to an object without touching the object.

It does what the library of the real server does, also where that is more generous than the RFC: `replace` of a missing
key adds it, `copy` of a missing key gives null, `test` for null passes where there is nothing, and an index may be
negative. The library `jsonpatch` does none of this, copies the whole object first, and answers with errors of its own.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.embedded.apiserver.patching.refusals import inapplicable, malformed, not_decodable, too_large

MOST_OPERATIONS: Final = 10_000
_TEXTS: Final = ("op", "path", "from")
_INDEX: Final = re.compile("[+-]?[0-9]{1,9}")

Container = dict[str, Any] | list[Any]


def apply_json_patch(obj: Any, operations: Any) -> Any:
    """Return the object after all operations; raises BadRequest, Invalid, or 413 for too many of them."""
    operations = [] if operations is None else operations
    _check(operations)
    if len(operations) > MOST_OPERATIONS:
        raise too_large(f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}")
    document = _Document(obj)
    for operation in operations:
        document.run(operation or {})
    return document.root


def _check(operations: Any) -> None:
    if not isinstance(operations, list):
        raise malformed(_cannot(operations, "Go value of type []handlers.jsonPatchOp"))
    for operation in operations:
        if operation is None:
            continue  # to Go an empty operation
        if not isinstance(operation, dict):
            raise malformed(_cannot(operation, "Go value of type handlers.jsonPatchOp"))
        for field in _TEXTS:
            if not isinstance(operation.get(field, ""), str | None):
                raise malformed(_cannot(operation[field], f"Go struct field jsonPatchOp.{field} of type string"))


def _cannot(value: Any, target: str) -> str:
    return f"error decoding patch: {not_decodable(value, target)}"


class _Document:
    """An object under change: a container is copied before its first change, and only then."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.own: dict[int, Container] = {}
        """The containers that were made here and are nowhere else."""

    def run(self, operation: dict[str, Any]) -> None:
        """Do one operation."""
        steps = {
            "add": self.add,
            "remove": self.remove,
            "replace": self.replace,
            "move": self.move,
            "copy": self.copy,
            "test": self.test,
        }
        step = steps.get(operation.get("op") or "")
        if step is None or operation.get("path") is None:
            raise inapplicable()
        step(operation)

    def add(self, operation: dict[str, Any]) -> None:
        self._insert(operation["path"], operation.get("value"))

    def remove(self, operation: dict[str, Any]) -> None:
        self._take(operation["path"])

    def replace(self, operation: dict[str, Any]) -> None:
        path, value = operation["path"], operation.get("value")
        if path == "":
            if not isinstance(value, (dict, list)):
                raise inapplicable()
            self.root = value
            return
        container, key = self._open(path)
        if isinstance(container, list):
            container[_index(key, len(container))] = value
        else:
            container[key] = value

    def move(self, operation: dict[str, Any]) -> None:
        self._insert(operation["path"], self._take(_source(operation)))

    def copy(self, operation: dict[str, Any]) -> None:
        value = _get(*self._find(_source(operation)))
        self.own.clear()  # what is in two places now must not be changed in place
        self._insert(operation["path"], value)

    def test(self, operation: dict[str, Any]) -> None:
        path, wanted = operation["path"], operation.get("value")
        value = self.root if path == "" else _get(*self._find(path))
        if not same(value, wanted):
            raise inapplicable()

    def _insert(self, path: str, value: Any) -> None:
        container, key = self._open(path)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def _take(self, path: str) -> Any:
        container, key = self._open(path)
        if isinstance(container, list):
            return container.pop(_index(key, len(container)))
        if key not in container:
            raise inapplicable()
        return container.pop(key)

    def _find(self, path: str) -> tuple[Container, str]:
        """Return the container that a path leads into, to look at, and the last key."""
        *way, last = _keys(path)
        container = self.root
        for key in way:
            container = _inner(container, key)
        return container, last

    def _open(self, path: str) -> tuple[Container, str]:
        """Return the container that a path leads into, to be changed, and the last key."""
        *way, last = _keys(path)
        container = self.root = self._owned(self.root)
        for key in way:
            inner = self._owned(_inner(container, key))
            if isinstance(container, list):
                container[_index(key, len(container))] = inner
            else:
                container[key] = inner
            container = inner
        return container, last

    def _owned(self, container: Container) -> Container:
        if id(container) in self.own:
            return container
        mine = container.copy()
        self.own[id(mine)] = mine
        return mine


def _source(operation: dict[str, Any]) -> str:
    path = operation.get("from")
    if not isinstance(path, str):
        raise inapplicable()
    return path


def _keys(path: str) -> Sequence[str]:
    keys = path.split("/")[1:]
    if not keys:
        raise inapplicable()
    return [key.replace("~1", "/").replace("~0", "~") for key in keys] if "~" in path else keys


def _get(container: Container, key: str) -> Any:
    return container[_index(key, len(container))] if isinstance(container, list) else container.get(key)


def _inner(container: Container, key: str) -> Container:
    inner = _get(container, key)
    if not isinstance(inner, (dict, list)):
        raise inapplicable()
    return inner


def _index(key: str, length: int) -> int:
    if not _INDEX.fullmatch(key) or not -length <= (index := int(key)) < length:
        raise inapplicable()
    return index + length if index < 0 else index


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same; unlike in Python, 1 is neither true nor 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(name in other and same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
