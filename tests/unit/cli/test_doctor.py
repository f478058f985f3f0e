"""What `fleetqueue doctor` reads of the user's kubeconfig, and what it says where there is no hub."""

import asyncio

import pytest

from fleetqueue.cli.doctor import patience
from fleetqueue.cli.progress import PATIENCE

KUBECONFIG = """\
clusters:
- {name: a, cluster: {server: "https://a"}}
- {name: b, cluster: {server: "https://b"}}
contexts:
- {name: hub, context: {cluster: a, user: u}}
- {name: worker, context: {cluster: b, user: u}}
- {name: broken, context: {cluster: none, user: u}}
users:
- {name: u, user: {token: t}}
"""


def test_without_a_hub_it_is_a_wrong_usage(fleetqueue):
    result = fleetqueue("doctor")

    assert (result.code, result.out) == (2, "")
    assert "no cluster given" in result.err


def test_an_unreachable_hub_is_no_finding(fleetqueue, tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.replace("https://a", "https://127.0.0.1:1"))

    result = fleetqueue("doctor", "--kubeconfig", str(path), "--context", "hub")

    assert (result.code, result.out) == (1, "")
    assert " on https://127.0.0.1:1" in result.err


@pytest.mark.virtual_time
async def test_progress_is_told_only_where_it_takes_long():
    lines: list[str] = []
    async with patience(lines.append) as report:
        report("first")
    assert lines == []

    async with patience(lines.append) as report:
        report("first")
        await asyncio.sleep(PATIENCE + 1)
        report("second")
    assert lines == ["first", "second"]
