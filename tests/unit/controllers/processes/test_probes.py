"""Health, readiness and metrics over HTTP, on a loopback port that the kernel picks."""

import aiohttp
import pytest

from fleetqueue.controllers.processes.probes import Probes, ProbesCannotListen
from fleetqueue.controllers.processes.settings import ProbeSettings
from fleetqueue.runtime.metrics import Metrics

ANY_PORT = ProbeSettings(port=0)


async def ask(probes: Probes, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{probes.address}{path}") as answer:
        return answer.status, await answer.text()


def serving(why_not_ready: str = "") -> Probes:
    metrics = Metrics()
    return Probes(ANY_PORT, why_not_ready=lambda: why_not_ready, registry=lambda: metrics.registry)


async def test_a_ready_process_says_ok():
    async with serving() as probes:
        assert await ask(probes, "/healthz") == (200, "ok\n")
        assert await ask(probes, "/readyz") == (200, "ok\n")


async def test_a_process_that_waits_is_alive_and_says_for_what():
    async with serving("the hub does not serve workloads") as probes:
        assert (await ask(probes, "/healthz"))[0] == 200
        assert await ask(probes, "/readyz") == (503, "the hub does not serve workloads\n")


async def test_metrics_are_prometheus_text():
    async with serving() as probes:
        status, text = await ask(probes, "/metrics")

    assert status == 200
    assert "# TYPE fleetqueue_leading gauge" in text


async def test_a_taken_port_is_an_error_with_a_way_out():
    async with serving() as first:
        taken = ProbeSettings(port=int(first.address.rpartition(":")[2]))
        second = Probes(taken, why_not_ready=lambda: "", registry=lambda: Metrics().registry)

        with pytest.raises(ProbesCannotListen, match=r"choose another port with --set probes.port=0"):
            async with second:
                pass
