"""A fleet of embedded clusters on this machine: endpoints, kubeconfigs, and a second start that goes on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Pod
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings, start_in_background
from fleetqueue.lab import control, ports
from fleetqueue.lab.errors import EngineError, NoProcess
from tests.invariants.reasons import check_answers


@pytest.fixture
def client_of():
    """Open a client to a cluster by its kubeconfig; all are closed at the end."""
    return lambda folder, context="": connect(load(folder / "kubeconfig", context=context))


async def names(client):
    """Return the ConfigMaps that somebody made; every namespace has one of its own."""
    try:
        found = [item["metadata"]["name"] for item in (await client.list(ConfigMap.resource, "default")).items]
        return [name for name in found if name != "kube-root-ca.crt"]
    finally:
        await client.close()


async def test_every_cluster_has_an_endpoint_of_its_own(tmp_path, client_of):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=2))
    await lab.start()
    try:
        worker = client_of(tmp_path, "cluster1")
        await worker.create(ConfigMap.resource, ConfigMap.manifest("a", "default"))
        await worker.close()

        assert await names(client_of(tmp_path, "kind-cluster1")) == ["a"]
        assert await names(client_of(tmp_path, "manager-cluster")) == []
        assert [status.name for status in lab.status()] == ["hub/apiserver", "cluster1/apiserver", "cluster2/apiserver"]
    finally:
        await lab.stop()


@pytest.mark.parametrize("in_memory", [False, True], ids=["with a data folder", "in memory"])
async def test_a_second_start_goes_on_with_what_was_kept(tmp_path, client_of, in_memory):
    settings = EmbeddedSettings(workers=0, in_memory=in_memory)
    ports = []
    for turn in range(2):
        lab = EmbeddedLab(tmp_path, settings)
        await lab.start()
        ports.append(lab.endpoints["hub"].port)
        if turn == 0:
            client = client_of(tmp_path)
            await client.create(ConfigMap.resource, ConfigMap.manifest("a", "default"))
            await client.close()
        else:
            assert await names(client_of(tmp_path)) == ([] if in_memory else ["a"])
        await lab.stop()

    assert ports[0] == ports[1]


async def test_the_whole_environment_goes_on_after_a_second_start(tmp_path):
    settings = EmbeddedSettings(workers=1, scenario="multikueue")
    said, uids = [], []
    for _ in range(2):
        lab = EmbeddedLab(tmp_path, settings, report=said.append)
        await lab.start()
        try:
            hub = lab.endpoints["hub"].client()
            uids.append((await hub.get(ManagedCluster.resource, "cluster1"))["metadata"]["uid"])
            pods = (await hub.list(Pod.resource, "kueue-system")).items
            await check_answers(hub)
        finally:
            await lab.stop()

    assert uids[0] == uids[1]
    assert [status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"]] == [1]
    assert said[-1] == "the workers are reachable for Kueue, and scored"


async def test_a_certificate_of_another_cluster_is_refused(tmp_path):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1))
    await lab.start()
    try:
        hub, worker = (load(tmp_path / name / "kubeconfig") for name in ("hub", "cluster1"))
        mixed = replace(worker, client_certificate=hub.client_certificate, client_key=hub.client_key, file=None)
        client = connect(mixed)

        with pytest.raises((errors.Unreachable, errors.Unauthorized)):
            await client.list(Namespace.resource)
        await client.close()
    finally:
        await lab.stop()


async def test_a_folder_has_one_owner(tmp_path):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=0))
    await lab.start()
    try:
        with pytest.raises(EngineError, match="already run by process"):
            EmbeddedLab(tmp_path, EmbeddedSettings(workers=0)).ownership.take()
    finally:
        await lab.stop()


async def test_a_folder_of_real_clusters_is_left_alone(tmp_path):
    (tmp_path / "fleet.json").write_text('{"workers": 3, "ocm": "full", "kueue": true, "fsync": false}')

    with pytest.raises(EngineError, match="is made of kubernetes clusters, not of embedded ones"):
        await EmbeddedLab(tmp_path, EmbeddedSettings(workers=0)).start()


async def test_ports_are_those_that_were_asked_for(tmp_path):
    first = next(port for port in range(ports.FIRST, ports.LAST) if ports.is_free(port) and ports.is_free(port + 1))
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1, ports_from=first))
    await lab.start()
    try:
        assert {name: endpoint.port for name, endpoint in lab.endpoints.items()} == {
            "hub": first,
            "cluster1": first + 1,
        }
        with pytest.raises(EngineError, match=f"port {first}, which hub/apiserver should have, is taken"):
            await EmbeddedLab(tmp_path / "other", EmbeddedSettings(workers=1, ports_from=first)).start()
    finally:
        await lab.stop()


# A worker that is cut off


async def test_a_worker_that_refuses_lives_on_and_can_be_healed(tmp_path, client_of):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1, in_memory=True))
    await lab.start()
    try:
        await lab.cut("cluster1")
        client = client_of(tmp_path, "cluster1")
        with pytest.raises(errors.Unreachable):
            await client.list(Namespace.resource)
        assert [status.state for status in lab.status()] == ["up", "cut (refuse)"]
        await lab.heal("cluster1")

        assert await client.list(Namespace.resource)
        assert [status.state for status in lab.status()] == ["up", "up"]
        await client.close()
    finally:
        await lab.stop()


async def test_a_worker_that_hangs_answers_when_it_is_healed(tmp_path, client_of):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1, in_memory=True))
    await lab.start()
    try:
        client = client_of(tmp_path, "cluster1")
        await client.list(Namespace.resource)
        await lab.cut("cluster1", "hang")
        listing = asyncio.create_task(client.list(Namespace.resource))
        await asyncio.wait({listing}, timeout=0.3)
        assert not listing.done()
        await lab.heal("cluster1")

        assert await listing
        await client.close()
    finally:
        await lab.stop()


@pytest.mark.parametrize("how", ["refuse", "hang"])
async def test_a_fleet_stops_while_a_worker_is_cut(tmp_path, how):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1, in_memory=True))
    await lab.start()
    await lab.cut("cluster1", how)
    port = lab.endpoints["cluster1"].port

    await lab.stop()

    assert ports.is_free(port)


async def test_who_asks_a_running_fleet_for_a_stranger_hears_that_it_is_not_there(tmp_path):
    await start_in_background(tmp_path, EmbeddedSettings(workers=1, in_memory=True), lambda line: None)
    try:
        with pytest.raises(NoProcess, match='no cluster "nobody"; there are: hub, cluster1'):
            await control.ask(tmp_path, "restart", "nobody/kueue")
    finally:
        await control.down(tmp_path)


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        pytest.param("cut", ["hub"], 'only workers can be cut, and "hub" is none', id="the hub"),
        pytest.param("cut", ["cluster1", "softly"], 'cannot be cut by "softly"; it can refuse or hang', id="how"),
        pytest.param("heal", ["nobody"], "they are: cluster1", id="a stranger"),
        pytest.param(
            "restart", ["cluster1/kueue"], "kubectl --context cluster1 -n kueue-system rollout", id="a restart"
        ),
        pytest.param("restart", ["nobody/kueue"], 'no cluster "nobody"; there are: hub, cluster1', id="of a stranger"),
    ],
)
async def test_what_an_embedded_fleet_cannot_do_is_said(tmp_path, verb, arguments, message):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1, in_memory=True))
    await lab.start()
    try:
        with pytest.raises(EngineError, match=message):
            await getattr(lab, verb)(*arguments)
    finally:
        await lab.stop()


# The commands


def fleetqueue(*arguments):
    command = (sys.executable, "-m", "fleetqueue", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ, check=False)


def test_up_status_and_down(tmp_path):
    where = ("--data-dir", str(tmp_path / "fleet"))
    up = fleetqueue("up", "--workers", "1", "--detach", *where)
    try:
        status = json.loads(fleetqueue("status", "-o", "json", *where).stdout)
        table = fleetqueue("status", *where).stdout
        kubeconfig = fleetqueue("kubeconfig", "cluster1", *where)
    finally:
        down = fleetqueue("down", *where)
    after = fleetqueue("status", *where)

    assert up.returncode == 0, up.stderr
    assert "The fleet is up" in up.stdout
    assert [(one["name"], one["state"]) for one in status] == [("hub/apiserver", "up"), ("cluster1/apiserver", "up")]
    assert table.splitlines()[0].split() == ["NAME", "STATE", "PID", "PORT"]
    assert f"https://127.0.0.1:{status[1]['port']}" in kubeconfig.stdout
    assert down.returncode == 0, down.stderr
    assert after.returncode == 3


async def test_a_fleet_in_the_background_can_be_asked_to_cut_and_heal(tmp_path):
    settings = EmbeddedSettings(workers=1, in_memory=True)
    await start_in_background(tmp_path, settings, lambda line: None)
    try:
        await control.ask(tmp_path, "cut", "cluster1", "hang")
        cut = [status.state for status in await control.status(tmp_path)]
        await control.ask(tmp_path, "heal", "cluster1")
        healed = [status.state for status in await control.status(tmp_path)]
    finally:
        await control.down(tmp_path)

    assert (cut, healed) == (["up", "cut (hang)"], ["up", "up"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_fleet_in_the_foreground_stops_cleanly(tmp_path, number):
    command = (sys.executable, "-m", "fleetqueue", "up", "--workers", "1", "--data-dir", str(tmp_path))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = ""
    while "To end it" not in told:
        told += (line := process.stdout.readline())
        assert line, process.stderr.read()
    process.send_signal(number)
    _, complaints = process.communicate(timeout=30)

    assert "press Ctrl-C" in told
    assert process.returncode == 0, complaints
    assert complaints.rstrip().endswith("the fleet is stopped; its state is kept")
    assert not (tmp_path / "control.sock").exists()


UNWANTED = (
    "aiohttp",
    "rich",
    "yaml",
    "fleetqueue.embedded.apiserver.http.openapi",
    "fleetqueue.embedded.apiserver.kinds.protobuf",
    "fleetqueue.embedded.apiserver.validation.cel",
    "fleetqueue.real.fleet",
)
FIRST_ANSWER = r"""
import asyncio, ssl, sys
from pathlib import Path
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings

async def main():
    lab = EmbeddedLab(Path(sys.argv[1]), EmbeddedSettings(workers=1))
    await lab.start()
    hub = lab.endpoints["hub"]
    context = ssl.create_default_context(cafile=hub.pki / "ca.crt")
    context.load_cert_chain(hub.pki / "admin.crt", hub.pki / "admin.key")
    reader, writer = await asyncio.open_connection("127.0.0.1", hub.port, ssl=context)
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    writer.write(f"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAccept: {table}\r\n\r\n".encode())
    print((await reader.readline()).decode().strip())
    print(*sorted(sys.modules))
    writer.close()
    await lab.stop()

asyncio.run(main())
"""


def test_the_first_answer_waits_for_nothing_that_it_does_not_need(tmp_path):
    command = (sys.executable, "-c", FIRST_ANSWER, str(tmp_path))

    status, modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert status == "HTTP/1.1 200 OK"
    assert set(modules.split()) & set(UNWANTED) == set()
