"""The fixture `live_fleet`: clusters over TLS that any client can talk to, and of which nothing is left."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path

import kubernetes
import lightkube
import pytest
from lightkube.resources.core_v1 import ConfigMap

from fleetqueue.testing import LiveFleet, is_true
from tests.system.kit.queues import JOB, QUEUES

pytestmark = pytest.mark.timeout(300)
A_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"
HELD = """
import os, sys, time
from pathlib import Path

def test_that_never_ends(live_fleet):
    Path("folder").write_text(str(live_fleet.kubeconfig.parent))
    {how}
"""


def test_clients_find_it_by_their_usual_way(live_fleet):
    live_fleet.add(A_MAP)

    kubernetes.config.load_kube_config(str(live_fleet.kubeconfig))  # it reads KUBECONFIG when it is imported
    official = kubernetes.client.CoreV1Api().read_namespaced_config_map("a", "default")
    with lightkube.Client(namespace="default") as client:
        light = client.get(ConfigMap, "a")

    assert official.data == light.data == {"k": "v"}
    assert live_fleet.contexts == ("hub", "cluster1", "cluster2")
    assert live_fleet.environment["KUBECONFIG"] == os.environ["KUBECONFIG"] == str(live_fleet.kubeconfig)


@pytest.mark.fleet(workers=1)
def test_each_cluster_has_a_kubeconfig_of_its_own(live_fleet):
    client = kubernetes.config.new_client_from_config(str(live_fleet["cluster1"].kubeconfig))

    nodes = kubernetes.client.CoreV1Api(client).list_node().items

    assert [node.metadata.name for node in nodes] == ["cluster1-control-plane"]
    assert [cluster.name for cluster in live_fleet.workers] == ["cluster1"]


@pytest.mark.fleet(workers=1)
async def test_an_async_test_waits_in_a_thread(live_fleet):
    waiting = asyncio.create_task(asyncio.to_thread(live_fleet.until, lambda: live_fleet.get("ConfigMap", "a")))
    await asyncio.to_thread(live_fleet.add, A_MAP)

    assert (await waiting)["data"] == {"k": "v"}


@pytest.mark.fleet(workers=1)
def test_what_never_holds_fails_the_test(live_fleet):
    with pytest.raises(AssertionError, match="it does not hold within 200ms; the last answer was None"):
        live_fleet.until(lambda: live_fleet.get("ConfigMap", "a"), within="200ms")


@pytest.mark.fleet(workers=1)
def test_a_worker_refuses_or_hangs_until_it_is_healed(live_fleet):
    live_fleet.cut("cluster1")
    with pytest.raises(ConnectionRefusedError):
        live_fleet["cluster1"].list("Node")
    live_fleet.heal("cluster1")
    again = live_fleet["cluster1"].list("Node")

    live_fleet.cut("cluster1", silently=True)
    assert answer_of(live_fleet["cluster1"].url) == "silence"
    live_fleet.heal()

    assert again == live_fleet["cluster1"].list("Node") != []
    with pytest.raises(ValueError, match='only workers can be cut, and "hub" is none'):
        live_fleet.cut("hub")


def answer_of(url):
    """Try to begin a conversation; say what came of it."""
    host, _, port = url.removeprefix("https://").partition(":")
    try:
        ssl.get_server_certificate((host, int(port)), timeout=0.5)
    except TimeoutError:
        return "silence"
    return "an answer"


@pytest.mark.fleet(scenario="multikueue")
def test_with_the_whole_environment_a_job_runs_on_a_worker(live_fleet):
    live_fleet.add(QUEUES, JOB.replace("10m", "100ms"))

    live_fleet.until(lambda: is_true(live_fleet.get("Job", "train"), "Complete"), within="60s")

    assert live_fleet.list("Pod", "default") == []


def test_nothing_is_left_when_the_block_ends_however_it_ends():
    seen = []

    def interrupted():
        with LiveFleet.open(1) as fleet:
            seen.append(fleet)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    (fleet,) = seen
    assert not fleet.kubeconfig.parent.exists()
    with pytest.raises(ConnectionRefusedError):
        fleet.list("Node")


@pytest.mark.parametrize(
    ("how", "code"),
    [
        pytest.param("assert False", 1, id="failed"),
        pytest.param("raise KeyboardInterrupt", 2, id="interrupted"),
        pytest.param("os._exit(9)", 9, id="gone without a word"),
        pytest.param("os.kill(os.getpid(), 9)", -signal.SIGKILL, id="killed"),
    ],
)
def test_nothing_is_left_of_a_test_that_ends_badly(tmp_path, how, code):
    (tmp_path / "test_held.py").write_text(HELD.format(how=how))

    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_held.py"], cwd=tmp_path, capture_output=True)

    folder = Path((tmp_path / "folder").read_text())
    assert ended.returncode == code, ended.stdout.decode()
    assert is_gone(folder)


def is_gone(folder, within=60):
    """Wait until a folder is gone: its process outlives a killed test for a moment."""
    ends = time.monotonic() + within
    while folder.exists() and time.monotonic() < ends:
        time.sleep(0.02)
    return not folder.exists()
