"""Objects that clusters need at run time: rendered once at build time, read quickly at every start."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import yaml

from fleetqueue.lab.errors import EngineError
from fleetqueue.real.toolchain import run_program

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
    documents = [document for file in files for document in parse(file.read_text())]
    return [document for document in documents if document["kind"] == "CustomResourceDefinition"]


def light(crd: Manifest) -> Manifest:
    """A CRD that costs an API server little, served without its operator: no conversion, for which there is no webhook.

    Prose and the schemas of pods are nine tenths of it. Kept, they would cost each cluster of a fleet seven seconds of
    CPU and 300 MB at its start.
    """
    versions = [
        version | {"schema": {"openAPIV3Schema": light_schema(version["schema"]["openAPIV3Schema"])}}
        for version in crd["spec"]["versions"]
    ]
    return crd | {"spec": crd["spec"] | {"versions": versions, "conversion": {"strategy": "None"}}}


def light_schema(schema: Any) -> Any:
    """A schema without descriptions (a property of that name stays), in which pods may have any fields."""
    if isinstance(schema, list):
        return [light_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if {"containers", "initContainers"} <= schema.get("properties", {}).keys():
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        key: {name: light_schema(one) for name, one in value.items()} if key == "properties" else light_schema(value)
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
