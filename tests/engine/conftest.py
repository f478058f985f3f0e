"""What the tests of the real engine share."""

import asyncio
import os

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
