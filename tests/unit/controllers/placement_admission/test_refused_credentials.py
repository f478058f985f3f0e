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
async def one_cluster(env):
    env.fleet()
    env.cluster("c1", secret=False)
    env.secret("c1", labels=OURS, annotations={CLUSTER_UID: "uid-of-c1"})
    env.placement("gpu", "c1")
    env.check()
    env.workload()


def secret_of(env):
    return env.api.get(core.Secret, SECRET, "kueue-system")


def renew(env):
    """Do what the controller of credentials does."""
    env.workers["c1"].heal()
    env.api.change(core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: None}})


def refuse(env):
    """Let the worker answer 401; watches that are open stay open."""
    env.workers["c1"].fail_on("get *", errors.Unauthorized("Unauthorized"))


@pytest.mark.usefixtures("one_cluster")
async def test_secret_is_marked_when_a_nominated_worker_answers_401(env):
    async with env.beating():
        await env.connected()
        assert env.nominated() == ["gpu-c1"]
        assert not is_refused(secret_of(env))
        refuse(env)
        await advance(61)

        assert is_refused(secret_of(env))
        assert any("Unauthorized" in note for note in env.events("WaitingForCluster"))


@pytest.mark.usefixtures("one_cluster")
async def test_mark_is_written_once_and_again_no_sooner_than_after_a_minute(env):
    async with env.beating():
        await env.connected()
        refuse(env)
        await advance(61)
        env.api.writes.clear()
        await advance(120)
        assert env.writes.count(WRITE) == 0

        for _ in range(4):
            env.api.change(core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: None}})
            await advance(16)
        assert env.writes.count(WRITE) <= 2
        renew(env)
        await settle()


@pytest.mark.usefixtures("one_cluster")
async def test_marked_cluster_is_no_candidate_until_its_credential_is_good_again(env):
    async with env.beating():
        env.api.change(core.Secret, SECRET, "kueue-system", metadata={"annotations": {REFUSED: "2026-01-01T00:00:00Z"}})
        await env.connected()
        assert env.nominated() == []
        why = f"gpu-c1: answers Unauthorized to the credential of secret {SECRET}"
        assert any(why in note for note in env.events("NoClusterToNominate"))
        renew(env)
        await settle()

        assert env.nominated() == ["gpu-c1"]


async def test_secret_of_somebody_else_is_not_marked(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()
    env.workload()

    async with env.beating():
        await env.connected()
        refuse(env)
        await advance(61)

        assert not is_refused(secret_of(env))
