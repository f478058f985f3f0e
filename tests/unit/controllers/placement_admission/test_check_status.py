"""What the checks of a Placement say of it, and of its clusters."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import MISSING_KINDS
from fleetqueue.testing.virtual_time import advance, settle

from .conftest import condition

KUEUE = "kueue-system"


@pytest.fixture
async def one_cluster(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check("ac", "gpu")


@pytest.mark.usefixtures("one_cluster")
async def test_both_checks_say_the_same(env):
    env.check("second", "gpu")

    async with env.beating():
        assert env.says("Active", "ac").message == env.says("Active", "second").message
        assert env.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("one_cluster")
async def test_what_kueue_says_of_a_worker_that_it_refuses_is_said_on_the_check(env):
    refusal = {
        "type": "Active",
        "status": "False",
        "reason": "ClientConnectionFailed",
        "message": "statefulsets.apps is forbidden",
        "lastTransitionTime": "2025-12-31T23:00:00Z",
    }

    async with env.beating():
        before = env.says("Active").message
        env.api.change(kueue.MultiKueueCluster, "gpu-c1", status={"conditions": [refusal]})
        await settle()
        refused = env.says("Active")
        env.connect("gpu-c1")
        await settle()

        assert before == env.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"
        assert refused.status == "True"
        assert refused.message == (
            "MultiKueueConfig and MultiKueueCluster generated; Kueue is not connected: "
            "gpu-c1 (ClientConnectionFailed: statefulsets.apps is forbidden)"
        )


@pytest.mark.usefixtures("one_cluster")
async def test_kinds_that_a_worker_lacks_are_said_on_the_check(env):
    async with env.beating():
        annotations = {MISSING_KINDS: "the worker does not serve ray.io/rayjob"}
        env.api.change(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE, metadata={"annotations": annotations})
        await settle()

        assert "lacks a kind of its configuration: gpu-c1 (the worker does not serve ray.io/rayjob); install" in (
            env.says("Active").message
        )
        assert env.lists() == ["gpu-c1"]


# Active again


@pytest.fixture
async def queue_in_use(env, one_cluster):
    """A ClusterQueue goes by the check, and Kueue says that it is active."""
    checks = {"admissionChecks": [{"name": "mk"}, {"name": "ac"}]}
    env.api.add(kueue.ClusterQueue.manifest("team", spec={"admissionChecksStrategy": checks}))
    say_active(env, "True")


def say_active(env, status, queue="team"):
    env.api.change(kueue.ClusterQueue, queue, status={"conditions": [condition("Active", status)]})


@pytest.mark.usefixtures("queue_in_use")
async def test_a_check_is_active_again_only_after_kueue_has_shown_that_it_was_not(env):
    async with env.beating():
        env.select()
        await settle()
        env.select("c1")
        await advance(3)
        assert env.lists() == ["gpu-c1"]
        assert env.says("Active").message == "No clusters available for placement gpu"
        say_active(env, "False")
        await settle()

        assert env.says("Active").status == "True"


@pytest.mark.usefixtures("queue_in_use")
async def test_a_kueue_that_shows_nothing_is_not_waited_for_long(env):
    async with env.beating():
        env.select()
        await settle()
        env.select("c1")
        await advance(29)
        assert env.says("Active").status == "False"
        await advance(2)

        assert env.says("Active").status == "True"


@pytest.mark.usefixtures("queue_in_use")
async def test_queues_with_other_checks_are_not_waited_for(env):
    other = {"admissionChecks": [{"name": "mk"}]}
    env.api.change(kueue.ClusterQueue, "team", spec={"admissionChecksStrategy": other})

    async with env.beating():
        env.select()
        await settle()
        env.select("c1")
        await settle()

        assert env.says("Active").status == "True"
