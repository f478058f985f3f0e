"""What tests of the docs ask for: the pages, and the tools beside them."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def pages() -> dict[str, str]:
    """Return every page by its path in the repository: docs, readmes, the changelog and the page for contributors."""
    found = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in found}


@pytest.fixture(scope="session")
def tool() -> Callable[[str], ModuleType]:
    """Load a program of tools/ as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
