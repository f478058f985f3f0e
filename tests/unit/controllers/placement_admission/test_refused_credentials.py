"""A worker that answers 401 gets no new jobs, and whoever keeps its credential is told."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.fleetqueue import CLUSTER_UID, REFUSED, is_refused
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.virtual_time import advance, settle

SECRET = "kueue-admin-c1-kubeconfig"
WRITE = f"patch secrets/kueue-system/{SECRET}"


@pytest.fixture
async def one_cluster(scene):
    scene.fleet()
    scene.cluster("c1", secret=False)
    scene.secret("c1", labels=OURS, annotations={CLUSTER_UID: "uid-of-c1"})
    scene.placement("gpu", "c1")
    scene.check()
    scene.workload()


def secret_of(scene):
    return scene.api.get(core.Secret, SECRET, "kueue-system")


def renew(scene):
    """Do what the controller of credentials does."""
    scene.workers["c1"].heal()
    scene.api.change(core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: None}})


def refuse(scene):
    """Let the worker answer 401; watches that are open stay open."""
    scene.workers["c1"].fail_on("get *", errors.Unauthorized("Unauthorized"))


@pytest.mark.usefixtures("one_cluster")
async def test_secret_is_marked_when_a_nominated_worker_answers_401(scene):
    async with scene.beating():
        await scene.connected()
        assert scene.nominated() == ["gpu-c1"]
        assert not is_refused(secret_of(scene))
        refuse(scene)
        await advance(61)

        assert is_refused(secret_of(scene))
        assert any("Unauthorized" in note for note in scene.events("WaitingForCluster"))


@pytest.mark.usefixtures("one_cluster")
async def test_mark_is_written_once_and_again_no_sooner_than_after_a_minute(scene):
    async with scene.beating():
        await scene.connected()
        refuse(scene)
        await advance(61)
        scene.api.writes.clear()
        await advance(120)
        assert scene.writes.count(WRITE) == 0

        for _ in range(4):
            scene.api.change(core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: None}})
            await advance(16)
        assert scene.writes.count(WRITE) <= 2
        renew(scene)
        await settle()


@pytest.mark.usefixtures("one_cluster")
async def test_marked_cluster_is_no_candidate_until_its_credential_is_good_again(scene):
    async with scene.beating():
        scene.api.change(
            core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: "2026-01-01T00:00:00Z"}}
        )
        await scene.connected()
        assert scene.nominated() == []
        why = f"gpu-c1: answers Unauthorized to the credential of secret {SECRET}"
        assert any(why in note for note in scene.events("NoClusterToNominate"))
        renew(scene)
        await settle()

        assert scene.nominated() == ["gpu-c1"]


async def test_secret_of_somebody_else_is_not_marked(scene):
    scene.fleet("c1")
    scene.placement("gpu", "c1")
    scene.check()
    scene.workload()

    async with scene.beating():
        await scene.connected()
        refuse(scene)
        await advance(61)

        assert not is_refused(secret_of(scene))
