"""What the tests of the real engine share."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fleetqueue.real.layout import find


@pytest.fixture(scope="session")
def layout():
    found = find()
    if found is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    return found


@pytest.fixture(scope="session")
def kubectl(layout):
    """Run kubectl of the engine: `await kubectl(kubeconfig, "get", "nodes")`."""

    async def run(kubeconfig, *arguments, content=None):
        process = await asyncio.create_subprocess_exec(
            str(layout.binary("kubectl")),
            f"--kubeconfig={kubeconfig}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | {"KUBECONFIG": ""},
        )
        output, errors = await process.communicate(content.encode() if content else None)
        assert process.returncode == 0, errors.decode()
        return output.decode()

    return run


@pytest.fixture(scope="session")
def module():
    """Return where the Go cache holds a module: `module("k8s.io/api@v0.36.3")`."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed: the modules that judge cannot be had")

    def find(query):
        answer = subprocess.run(["go", "mod", "download", "-json", query], capture_output=True, text=True, check=False)
        if answer.returncode:
            pytest.skip(f"{query} is neither in the Go cache nor to be downloaded")
        return Path(json.loads(answer.stdout)["Dir"])

    return find
