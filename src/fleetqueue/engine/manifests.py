"""Objects that clusters need at run time: rendered once at build time, read quickly at every start."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import yaml

from fleetqueue.engine.errors import EngineError
from fleetqueue.engine.toolchain import run_program

Manifest = dict[str, Any]


async def kustomize(kubectl: Path, module: Path) -> list[Manifest]:
    """What `kubectl kustomize` makes of the default configuration in an upstream module."""
    command = (str(kubectl), "kustomize", str(module / "config" / "default"))
    return parse(await run_program(*command, folder=module, environ=dict(os.environ), what="kubectl kustomize"))


def parse(text: str) -> list[Manifest]:
    """The objects of a YAML stream."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def crds(module: Path, patterns: Iterable[str]) -> list[Manifest]:
    """The CRDs in the files of a module that match a pattern."""
    found_by = {pattern: sorted(module.glob(pattern)) for pattern in patterns}
    if missing := [pattern for pattern, files in found_by.items() if not files]:
        raise EngineError(f"{module} has no file {', '.join(missing)}; engine/parts.py names the wrong folder")
    files = sorted(file for files in found_by.values() for file in files)
    found = [document for file in files for document in parse(file.read_text())]
    return [document for document in found if document["kind"] == "CustomResourceDefinition"]


def light(crd: Manifest) -> Manifest:
    """A CRD as it is served without its operator: no prose, and no conversion, for which there is no webhook.

    The prose is four fifths of it, and every API server would read, merge and publish it.
    """
    versions = [
        version | {"schema": {"openAPIV3Schema": without_prose(version["schema"]["openAPIV3Schema"])}}
        for version in crd["spec"]["versions"]
    ]
    return crd | {"spec": crd["spec"] | {"versions": versions, "conversion": {"strategy": "None"}}}


def without_prose(schema: Any) -> Any:
    """A schema without its descriptions; a property of that name stays."""
    if isinstance(schema, list):
        return [without_prose(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_prose(one) for name, one in value.items()} if key == "properties" else without_prose(value)
        for key, value in schema.items()
        if key != "description"
    }


def write(path: Path, objects: list[Manifest]) -> None:
    """Write a JSON List that kubectl can apply too; complete or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    content = {"apiVersion": "v1", "kind": "List", "items": objects}
    partial.write_bytes(orjson.dumps(content))
    os.replace(partial, path)


def read(path: Path) -> list[Manifest]:
    """The objects of a JSON List."""
    items: list[Manifest] = orjson.loads(path.read_bytes())["items"]
    return items
