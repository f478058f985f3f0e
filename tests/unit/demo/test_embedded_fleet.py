"""The parts of an embedded fleet, stopped and started as Deployments."""

import pytest

from fleetqueue.client import Client
from fleetqueue.demo.embedded_fleet import DEPLOYMENTS, Deployments

SPACE, NAME = "kueue-system", "kueue-controller-manager"


@pytest.fixture
async def parts(fleet):
    """A hub and two workers with the Deployment of Kueue's manager; nothing of it does any work."""
    labels = {"app": NAME}
    pod = {"containers": [{"name": "manager", "image": "example.com/idle"}]}
    for cluster in fleet:
        cluster.namespace(SPACE)
        manifest = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": NAME, "namespace": SPACE},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        }
        await Client(cluster).create(DEPLOYMENTS, manifest)
    await fleet.advance(10)
    return Deployments({cluster.name: Client(cluster) for cluster in fleet})


async def test_a_part_is_up_while_its_pods_run(fleet, parts):
    assert await parts.states() == {f"{name}/kueue": "up" for name in ("hub", "cluster1", "cluster2")}


async def test_a_part_is_paused_and_resumed(fleet, parts):
    await parts.pause("cluster1/kueue")
    await fleet.advance(60)
    paused = await parts.states()
    await parts.resume("cluster1/kueue")
    await fleet.advance(10)

    assert "cluster1/kueue" not in paused
    assert (await parts.states())["cluster1/kueue"] == "up"
