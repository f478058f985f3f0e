"""Schemas of definitions: one that was found right once, in whatever cluster, is not looked at again.

To look at a schema is slow: all that it says is checked, and its rules are compiled. All clusters of a fleet have the
same schemas, and every change of a definition brings them again.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause

_MOST_RIGHT: Final = 500
"""A fleet has some fifty schemas; beyond, they are looked at anew."""
_right: set[tuple[bool, bytes]] = set()


def problems(openapi: Mapping[str, Any], path: str, *, has_status: bool) -> list[Cause]:
    """Return what is wrong with a schema; `path` is its own, in the definition."""
    schema = _key(openapi, has_status)
    if schema in _right:
        return []
    from fleetqueue.embedded.apiserver.validation.schema_problems import schema_problems

    causes = schema_problems(openapi, path, has_status=has_status)
    if not causes:
        _remember(schema)
    return causes


def trust(definition: Manifest) -> None:
    """Take the schemas of a definition as valid without a check: they were checked before."""
    for version in definition["spec"]["versions"]:
        _remember(_key(version["schema"]["openAPIV3Schema"], "status" in (version.get("subresources") or {})))


def _key(openapi: Mapping[str, Any], has_status: bool) -> tuple[bool, bytes]:
    return has_status, orjson.dumps(openapi, option=orjson.OPT_SORT_KEYS)


def _remember(schema: tuple[bool, bytes]) -> None:
    if len(_right) >= _MOST_RIGHT:
        _right.clear()
    _right.add(schema)
