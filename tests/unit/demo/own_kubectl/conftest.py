"""Our own kubectl on clusters in memory."""

from collections.abc import Awaitable, Callable

import pytest

from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.testing.arranged_api import ArrangedApi

Run = Callable[..., Awaitable[str]]


@pytest.fixture
def kubectl(api: ArrangedApi) -> Run:
    """`await kubectl("get jobs")` returns what it prints; a list is a command whose words have spaces."""
    run = OwnKubectl({"hub": Client(api)}).run

    async def typed(line: str | list[str], stdin: str = "") -> str:
        return await run(*(line.split() if isinstance(line, str) else line), stdin=stdin)

    return typed
