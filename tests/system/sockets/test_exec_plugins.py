"""The Kueue of an embedded hub runs the programs that its configuration names for ClusterProfiles."""

import base64
import json

import pytest
import yaml

from fleetqueue.admin.waiting import Observed
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client.kubeconfig import load
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings
from fleetqueue.fleets.systems.kueue import CONFIG, KUEUE, before
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds

VERSION = "client.authentication.k8s.io/v1"
SECONDS = 30.0
SPEC = {"displayName": "p", "clusterManager": {"name": "by-test"}}


@pytest.fixture
async def lab(tmp_path):
    lab = EmbeddedLab(tmp_path / "fleet", EmbeddedSettings(workers=1, in_memory=True))
    await lab.start()
    yield lab
    await lab.stop()


@pytest.fixture
def worker(lab):
    return load(lab.endpoints["cluster1"].folder / "kubeconfig")


@pytest.fixture
def programs(tmp_path, worker):
    """Programs by name, as Kueue's configuration names them."""
    status = {"clientCertificateData": worker.client_certificate.decode(), "clientKeyData": worker.client_key.decode()}
    printed = json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})
    return {
        "good": program(tmp_path / "good", f"cat <<'END'\n{printed}\nEND\n"),
        "failing": program(tmp_path / "failing", "echo no luck >&2; exit 3\n"),
        "missing": "no-such-plugin",
    }


def program(path, script):
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return str(path)


async def start(lab, programs):
    """Let Kueue run on both clusters; that of the hub knows the programs."""
    providers = [
        {"name": name, "execConfig": {"command": command, "apiVersion": VERSION, "interactiveMode": "Never"}}
        for name, command in programs.items()
    ]
    config = yaml.safe_load(CONFIG) | {
        "integrations": {"frameworks": ["batch/job"]},
        "featureGates": {"MultiKueueClusterProfile": True},
        "multiKueue": {"clusterProfile": {"accessProviders": providers}},
    }
    await install_kinds(lab.endpoints["hub"].client(), "cluster-inventory")
    for endpoint in lab.endpoints.values():
        await install_kinds(endpoint.client(), "kueue")
        await create_all(endpoint.client(), before(yaml.safe_dump(config)))
        await install(endpoint.client(), KUEUE)


async def connect(hub, name, worker):
    """Let the hub reach the worker by a program."""
    cluster = {"server": worker.server, "certificate-authority-data": base64.b64encode(worker.ca).decode()}
    status = {"accessProviders": [{"name": name, "cluster": cluster}]}
    source = {"clusterSource": {"clusterProfileRef": {"name": name}}}
    await hub.create(ClusterProfile.resource, ClusterProfile.manifest(name, KUEUE_NAMESPACE, spec=SPEC))
    await hub.merge(ClusterProfile.resource, name, KUEUE_NAMESPACE, {"status": status}, subresource="status")
    await hub.create(kueue.MultiKueueCluster.resource, kueue.MultiKueueCluster.manifest(name, spec=source))


async def said(hub, name):
    """Return what Kueue says of a cluster, as soon as it says anything."""
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", kueue.MultiKueueCluster)

        def condition():
            cluster = seen["hub"].get(kueue.MultiKueueCluster, name)
            return cluster and find(cluster.status.conditions, kueue.ACTIVE)

        found = await seen.until(condition, limit=SECONDS, what=f"nothing is said of {name}")
    return f"{found.status} {found.reason}: {found.message}"


async def test_a_program_opens_a_cluster_or_its_end_is_told(lab, worker, programs):
    hub = lab.endpoints["hub"].client()
    await start(lab, programs)

    for name in programs:
        await connect(hub, name, worker)

    why = f'False ClientConnectionFailed: failed to get server groups: Get "{worker.server}/api": getting credentials:'
    assert await said(hub, "good") == "True Active: Connected"
    assert (
        await said(hub, "failing") == f"{why} exec: executable {programs['failing']} failed with exit code 3: no luck"
    )
    assert await said(hub, "missing") == f"{why} exec: executable no-such-plugin not found"
