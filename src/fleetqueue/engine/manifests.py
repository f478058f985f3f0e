"""Objects that clusters need at run time: rendered once at build time, read quickly at every start."""

import os
from pathlib import Path
from typing import Any

import orjson
import yaml

from fleetqueue.engine.errors import EngineError
from fleetqueue.engine.parts import CrdSource
from fleetqueue.engine.toolchain import run_program

Manifest = dict[str, Any]


async def kustomize(kubectl: Path, module: Path) -> list[Manifest]:
    """What `kubectl kustomize` makes of the default configuration in an upstream module."""
    command = (str(kubectl), "kustomize", str(module / "config" / "default"))
    return parse(await run_program(*command, folder=module, environ=dict(os.environ), what="kubectl kustomize"))


def parse(text: str) -> list[Manifest]:
    """The objects of a YAML stream."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def crds(module: Path, source: CrdSource) -> list[Manifest]:
    """The CRDs in the folders of a module that a source names."""
    files = sorted(file for pattern in source.files for file in module.glob(pattern))
    if not files:
        raise EngineError(f"module {source.query} has no file {source.files}; engine/parts.py names the wrong folder")
    found = [document for file in files for document in parse(file.read_text())]
    return [document for document in found if document["kind"] == "CustomResourceDefinition"]


def write(path: Path, objects: list[Manifest]) -> None:
    """Write a JSON List that kubectl can apply too; complete or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    content = {"apiVersion": "v1", "kind": "List", "items": objects}
    partial.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    os.replace(partial, path)


def read(path: Path) -> list[Manifest]:
    """The objects of a JSON List."""
    items: list[Manifest] = orjson.loads(path.read_bytes())["items"]
    return items
