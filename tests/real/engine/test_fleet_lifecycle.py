"""A fleet of real clusters starts, works, is cut and healed, survives and goes."""

import asyncio
import json
import signal
import socket
import ssl
import subprocess
import sys
import time

import aiohttp
import pytest
import pytest_asyncio
import yaml

from fleetqueue.lab import control, pids
from fleetqueue.lab.errors import EngineError
from fleetqueue.real.fleet import RealFleet, Settings

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  backoffLimit: 0
  template:
    metadata: {{annotations: {annotations}}}
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: sleep, args: ["{time}"]}}]
"""
PARENT = """
import asyncio, sys
from pathlib import Path
from fleetqueue.real.fleet import RealFleet

async def main():
    async with RealFleet(Path(sys.argv[1]), workers=0, ocm="none"):
        print("up", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(layout, tmp_path_factory):
    async with RealFleet(tmp_path_factory.mktemp("fleet"), workers=1) as running:
        yield running


async def test_every_process_is_up(fleet):
    states = {status.name: status.state for status in fleet.status()}

    assert set(states.values()) == {"up"}
    assert {"hub/kueue", "hub/placement", "cluster1/kueue", "cluster1/forwarder"} <= set(states)


async def test_the_clusters_have_ready_nodes(fleet, kubectl):
    for context in ("hub", "cluster1", "kind-cluster1"):
        lines = (await kubectl(fleet.kubeconfig, "--context", context, "get", "nodes", "--no-headers")).split()
        assert lines[:3] == [f"{context.removeprefix('kind-')}-control-plane", "Ready", "control-plane"]


async def test_a_job_runs_as_long_as_it_asks(fleet, kubectl):
    job = JOB.format(name="one-second", annotations={}, time="1s")
    await kubectl(fleet.clusters["cluster1"].kubeconfig, "create", "-f", "-", content=job)

    await kubectl(fleet.clusters["cluster1"].kubeconfig, "wait", "--for=condition=Complete", "job/one-second")


async def test_an_annotation_overrides_the_time(fleet, kubectl):
    job = JOB.format(name="long", annotations='{"fleetqueue.dev/run-for": "1s"}', time="600s")
    await kubectl(fleet.clusters["cluster1"].kubeconfig, "create", "-f", "-", content=job)

    await kubectl(fleet.clusters["cluster1"].kubeconfig, "wait", "--for=condition=Complete", "job/long")


async def test_an_annotation_makes_a_job_fail(fleet, kubectl):
    job = JOB.format(name="failing", annotations='{"fleetqueue.dev/fails": "true"}', time="1s")
    await kubectl(fleet.clusters["cluster1"].kubeconfig, "create", "-f", "-", content=job)

    await kubectl(fleet.clusters["cluster1"].kubeconfig, "wait", "--for=condition=Failed", "job/failing")


@pytest.mark.checklist("B-2")
async def test_gpus_that_somebody_wrote_into_a_node_stay(fleet, kubectl):
    config, node = fleet.clusters["cluster1"].kubeconfig, "cluster1-control-plane"
    patch = '{"status": {"capacity": {"nvidia.com/gpu": "3"}, "allocatable": {"nvidia.com/gpu": "3"}}}'
    await kubectl(config, "patch", "node", node, "--subresource=status", "--type=merge", "-p", patch)

    await fleet.restart("cluster1/kwok")
    # Makes kwok bring the node up again, which is when it writes most.
    lost = '{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}'
    await kubectl(config, "patch", "node", node, "--subresource=status", "-p", lost)
    await kubectl(config, "wait", "--for=condition=Ready", f"node/{node}")

    allocatable = json.loads(await kubectl(config, "get", "node", node, "-o", "jsonpath={.status.allocatable}"))
    assert allocatable == {"cpu": "8", "memory": "8027168Ki", "pods": "110", "nvidia.com/gpu": "3"}


async def test_kueue_restarts_with_the_configuration_on_the_cluster(fleet, kubectl):
    config = fleet.clusters["hub"].kubeconfig
    where = ("configmap", "kueue-manager-config", "-n", "kueue-system")
    found = json.loads(await kubectl(config, "get", *where, "-o", "json"))
    settings = yaml.safe_load(found["data"]["controller_manager_config.yaml"])
    settings["multiKueue"] = {"dispatcherName": "example.com/ours"}
    edited = {"data": {"controller_manager_config.yaml": yaml.safe_dump(settings)}}
    await kubectl(config, "patch", *where, "--type=merge", "-p", json.dumps(edited))
    before = pid_of(fleet, "hub/kueue")

    await fleet.restart("hub/kueue")

    assert pid_of(fleet, "hub/kueue") != before
    used = yaml.safe_load((fleet.data_dir / "hub" / "kueue" / "config.yaml").read_text())
    assert used["multiKueue"] == {"dispatcherName": "example.com/ours"}


async def test_a_crashed_process_comes_back(fleet):
    fleet.kill("cluster1/kueue")
    assert state_of(fleet, "cluster1/kueue") == "down (exit code -9)"

    await fleet.restart("cluster1/kueue")

    assert state_of(fleet, "cluster1/kueue") == "up"


async def test_storage_can_be_restarted_under_the_api(fleet, kubectl):
    await fleet.restart("cluster1/etcd")

    assert "default" in await kubectl(fleet.clusters["cluster1"].kubeconfig, "get", "namespaces")


async def test_a_cut_worker_is_gone_for_others_and_lives_on(fleet):
    worker = fleet.clusters["cluster1"]
    assert await reaches(worker.remote_server)

    await fleet.cut("cluster1")
    assert not await reaches(worker.remote_server)
    assert await reaches(worker.server)

    await fleet.heal("cluster1")
    assert await reaches(worker.remote_server)


async def test_a_hanging_worker_answers_nothing_until_it_is_healed(fleet):
    worker = fleet.clusters["cluster1"]

    await fleet.cut("cluster1", how="hang")
    assert not await reaches(worker.remote_server)
    assert state_of(fleet, "cluster1/forwarder") == "paused"

    await fleet.heal("cluster1")
    assert await reaches(worker.remote_server)


@pytest.mark.long
async def test_a_second_start_goes_on_with_what_was_there(layout, tmp_path, kubectl):
    async with RealFleet(tmp_path, workers=0, ocm="none") as first:
        await kubectl(first.kubeconfig, "create", "configmap", "kept")
        before = first.clusters["hub"].ports

    with socket.create_server(("127.0.0.1", before["kube-apiserver"])):
        async with RealFleet(tmp_path, workers=0, ocm="none") as second:
            after = second.clusters["hub"].ports
            assert "kept" in await kubectl(second.kubeconfig, "get", "configmaps")

    assert after["kube-apiserver"] != before["kube-apiserver"]
    assert after["kwok"] == before["kwok"]


async def test_two_programs_cannot_run_one_fleet(fleet):
    with pytest.raises(EngineError, match="already run by process"):
        await RealFleet(fleet.data_dir).start()


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGINT, signal.SIGTERM))],
)
async def test_nothing_outlives_the_program_that_runs_a_fleet(layout, tmp_path, number):
    parent = await asyncio.to_thread(start_parent, tmp_path)
    record = json.loads((tmp_path / "processes.json").read_bytes())
    assert set(record) >= {"hub/etcd", "hub/kube-apiserver", "hub/kueue"}

    parent.send_signal(number)
    await asyncio.to_thread(parent.wait)

    await eventually(lambda: not any(pids.is_same(entry["pid"], entry["started"]) for entry in record.values()))


@pytest.mark.long
async def test_a_fleet_in_the_background(layout, tmp_path, kubectl):
    lines = []
    settings = Settings(workers=0, ocm="none")
    await control.start_in_background(tmp_path, settings, lines.append, module="fleetqueue.real.fleet")
    record = json.loads((tmp_path / "processes.json").read_bytes())
    try:
        assert [line.split(" at ")[0] for line in lines] == ["hub is up"]
        assert {status.state for status in await control.status(tmp_path)} == {"up"}
        assert "hub-control-plane" in await kubectl(tmp_path / "kubeconfig", "get", "nodes")
        await control.ask(tmp_path, "restart", "hub/kwok")
        with pytest.raises(EngineError, match="only workers can be cut"):
            await control.ask(tmp_path, "cut", "hub")
    finally:
        await control.down(tmp_path, delete=True)

    assert not any(pids.is_same(entry["pid"], entry["started"]) for entry in record.values())
    assert not tmp_path.exists()
    with pytest.raises(EngineError, match="no fleet runs in"):
        await control.status(tmp_path)


@pytest.mark.checklist("ENV-1")
async def test_a_whole_fleet_joins_its_workers(layout, tmp_path, kubectl):
    async with RealFleet(tmp_path, workers=1, ocm="full", kueue=False) as fleet:
        columns = (await kubectl(fleet.kubeconfig, "get", "managedclusters", "--no-headers")).split()
        # OCM makes its two sets by itself, but the API server holds creates back while their CRD is young. One wait
        # each: kubectl gives up at once where two are missing.
        for name in ("default", "global"):
            await kubectl(fleet.kubeconfig, "wait", "--for=create", "--timeout=30s", f"managedclusterset/{name}")
        sets = await kubectl(fleet.kubeconfig, "get", "managedclustersets", "--no-headers")

    assert columns[:5] == ["cluster1", "true", fleet.clusters["cluster1"].remote_server, "True", "True"]
    assert {line.split()[0] for line in sets.splitlines()} == {"default", "global"}


async def test_a_worker_joins_a_hub_that_holds_creates_back(layout, tmp_path, kubectl):
    async with RealFleet(tmp_path, workers=0, ocm="full", kueue=False) as lonely:
        crd = ("crd", "managedclusters.cluster.open-cluster-management.io")
        found = json.loads(await kubectl(lonely.kubeconfig, "get", *crd, "-o", "json"))
        # The API server holds every create back for two seconds while the CRD is younger than that: now for ever.
        later = {"lastTransitionTime": "2099-01-01T00:00:00Z"}
        young = [condition | later for condition in found["status"]["conditions"]]
        patch = json.dumps({"status": {"conditions": young}})
        await kubectl(lonely.kubeconfig, "patch", *crd, "--subresource=status", "--type=merge", "-p", patch)

    async with RealFleet(tmp_path, workers=1, ocm="full", kueue=False) as fleet:
        columns = (await kubectl(fleet.kubeconfig, "get", "managedclusters", "--no-headers")).split()

    assert columns[:5] == ["cluster1", "true", fleet.clusters["cluster1"].remote_server, "True", "True"]


def start_parent(folder):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with parent.stdout:
        assert parent.stdout.readline() == b"up\n"
    return parent


async def reaches(server):
    """Whether an API server answers there; not being allowed to ask is an answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    timeout = aiohttp.ClientTimeout(total=3)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"{server}/livez", ssl=context):
            return True
    except (aiohttp.ClientError, TimeoutError):
        return False


def pid_of(fleet, name):
    return next(status.pid for status in fleet.status() if status.name == name)


def state_of(fleet, name):
    return next(status.state for status in fleet.status() if status.name == name)


async def eventually(condition, limit=20.0):
    until = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        await asyncio.sleep(0.05)
