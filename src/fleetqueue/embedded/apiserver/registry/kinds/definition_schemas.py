"""Schemas of definitions: one that was found right once, in whatever cluster, is not looked at again, and kept once.

To look at a schema is slow: all that it says is checked, and its rules are compiled. All clusters of a fleet have the
same schemas, and every change of a definition brings them again; those of jobs hold whole pods, many times.
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
    """Take the schemas of a definition as valid without a check: they were checked before, and never change."""
    from fleetqueue.embedded.apiserver.validation.structural_schema import build_of_parts

    for version in definition["spec"]["versions"]:
        openapi = version["schema"]["openAPIV3Schema"]
        build_of_parts(openapi)
        _remember(_key(openapi, "status" in (version.get("subresources") or {})))


def with_shared(spec: Manifest) -> Manifest:
    """Return a definition's spec with the equal schemas that were there before, where there were any."""
    if not spec.get("versions"):
        return spec
    return {**spec, "versions": [_with_shared_schema(version) for version in spec["versions"]]}


def _with_shared_schema(version: Manifest) -> Manifest:
    from fleetqueue.embedded.apiserver.validation.structural_schema import shared

    openapi = (version.get("schema") or {}).get("openAPIV3Schema")
    return {**version, "schema": {"openAPIV3Schema": shared(openapi)}} if openapi else version


def _key(openapi: Mapping[str, Any], has_status: bool) -> tuple[bool, bytes]:
    return has_status, orjson.dumps(openapi, option=orjson.OPT_SORT_KEYS)


def _remember(schema: tuple[bool, bytes]) -> None:
    if len(_right) >= _MOST_RIGHT:
        _right.clear()
    _right.add(schema)
