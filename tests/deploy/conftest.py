"""What tests of the manifests ask for: the files under deploy/, parsed, and the tools that judge the chart."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.deploy import built_tools

DEPLOY = Path(__file__).parents[2] / "deploy"

Manifest = dict[str, Any]
Load = Callable[[str], list[Manifest]]


@pytest.fixture
def load() -> Load:
    """Read the objects of one file under deploy/."""

    def load(path: str) -> list[Manifest]:
        return [document for document in yaml.safe_load_all((DEPLOY / path).read_text()) if document]

    return load


@pytest.fixture
def files() -> list[str]:
    """Return every plain manifest under deploy/: neither the chart nor the list of resources that kustomize reads."""
    found = sorted(path.relative_to(DEPLOY).as_posix() for path in DEPLOY.rglob("*.yaml"))
    return [path for path in found if not path.endswith("kustomization.yaml") and not path.startswith("charts/")]


@pytest.fixture
def objects(files: list[str], load: Load) -> list[Manifest]:
    """Return every object of every file, those inside an AddOnTemplate too."""
    return [inner for path in files for outer in load(path) for inner in unpacked(outer)]


def unpacked(manifest: Manifest) -> Iterator[Manifest]:
    yield manifest
    if manifest["kind"] == "AddOnTemplate":
        yield from manifest["spec"]["agentSpec"]["workload"]["manifests"]


@pytest.fixture(scope="session")
def helm() -> Path:
    return built_tools.helm()


@pytest.fixture(scope="session")
def promtool() -> Path:
    return built_tools.promtool()


@pytest.fixture(scope="session")
def renderer() -> ModuleType:
    """Return the program that writes the plain manifests."""
    spec = importlib.util.spec_from_file_location("render_manifests", DEPLOY.parent / "tools" / "render_manifests.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
