"""A fleet of embedded clusters on this machine: endpoints, kubeconfigs, and a second start that goes on."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.assembly.embedded_lab import EmbeddedLab, EmbeddedSettings
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.engine import control
from fleetqueue.engine.errors import EngineError


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


async def test_a_certificate_of_another_cluster_is_refused(tmp_path):
    lab = EmbeddedLab(tmp_path, EmbeddedSettings(workers=1))
    await lab.start()
    try:
        hub, worker = (load(tmp_path / name / "kubeconfig") for name in ("hub", "cluster1"))
        mixed = replace(worker, client_certificate=hub.client_certificate, client_key=hub.client_key)
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


def fleetqueue(*arguments):
    command = (sys.executable, "-m", "fleetqueue", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ, check=False)


def test_up_status_and_down(tmp_path):
    where = ("--data-dir", str(tmp_path / "fleet"))
    up = fleetqueue("up", "--engine", "embedded", "--workers", "1", "--detach", *where)
    try:
        status = fleetqueue("status", *where)
    finally:
        down = fleetqueue("down", *where)

    assert up.returncode == 0, up.stderr
    assert "The fleet is up" in up.stdout
    assert "cluster1/apiserver" in status.stdout
    assert down.returncode == 0, down.stderr


async def test_what_an_embedded_fleet_cannot_do_is_said(tmp_path):
    await control.start_in_background(
        tmp_path, EmbeddedSettings(workers=0), lambda line: None, module="fleetqueue.assembly.embedded_lab"
    )
    try:
        with pytest.raises(EngineError, match='an embedded fleet cannot "cut"'):
            await control.ask(tmp_path, "cut", "cluster1")
    finally:
        await control.down(tmp_path)
