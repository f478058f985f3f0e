"""Sources of upstream that tests compare ours with, from Go's module cache; nothing of them is kept here."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest


@cache
def module_cache() -> Path | None:
    """Where Go keeps its modules, if there is a Go."""
    named = os.environ.get("GOMODCACHE")
    if not named and shutil.which("go"):
        named = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(named) if named else None


def folder(name: str) -> Path:
    """Return a folder of a module; where it is missing, CI fails and others skip the test.

    CI has built the engine, and with it every module that a test asks for here.
    """
    root = module_cache()
    if root is None or not (root / name).is_dir():
        missing = f"the Go module cache has no {name}"
        pytest.fail(missing) if os.environ.get("FLEETQUEUE_CI") else pytest.skip(missing)
    return root / name
