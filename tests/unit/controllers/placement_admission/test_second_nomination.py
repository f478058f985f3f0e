"""A nomination is only ever added to: after a time, and while nothing can run that nobody knows of."""

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.conditions import timestamp
from fleetqueue.testing.virtual_time import advance, settle

NOMINATION = "apply workloads/team-a/job/status"
TAKEN_BACK = {"evicted": False}
"""A Workload that was evicted, and has had quota again for long."""
DATED = pytest.mark.embedded_only("a real server has a clock of its own")


def just_taken_back():
    """A Workload that was evicted, and got quota again this very second."""
    return {**TAKEN_BACK, "quota_since": timestamp(clock.now())}


@pytest.fixture
async def three_clusters(env):
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2", "c3")
    env.check()


@pytest.fixture
async def waiting_on_c1(env, three_clusters):
    """The job is nominated for c1, which has its copy and no room for it."""
    env.workload()
    env.copy("c1")


@pytest.mark.usefixtures("waiting_on_c1")
async def test_after_the_timeout_the_next_cluster_is_appended(env):
    env.copy("c2")
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(59)
        assert env.nominated() == ["gpu-c1"]
        await advance(2)
        assert env.nominated() == ["gpu-c1", "gpu-c2"]
        await advance(60)

        assert env.nominated() == ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_copy_that_kueue_has_not_brought_yet_is_waited_for_longer(env):
    env.remove_copy("c1")

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(290)
        assert env.nominated() == ["gpu-c1"]
        await advance(20)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_when_all_are_nominated_it_is_quiet(env):
    env.copy("c2")
    env.copy("c3")
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(200)
        env.api.writes.clear()
        await advance(600)

        assert env.nominated() == ["gpu-c1", "gpu-c2", "gpu-c3"]
        assert env.api.writes == []


@pytest.mark.usefixtures("waiting_on_c1")
async def test_where_kueue_never_brings_it_that_is_said(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(1200)

        assert env.nominated() == ["gpu-c1", "gpu-c2", "gpu-c3"]
        assert env.events("WaitingForCluster")[-1] == (
            "Kueue has not brought it to gpu-c2, gpu-c3, and nobody else can be nominated; are namespace team-a"
            " and LocalQueue queue there?"
        )


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_change_on_the_hub_does_not_shorten_the_time(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(30)
        env.disconnect("gpu-c3")
        env.connect("gpu-c3")
        env.api.change(kueue.Workload, "job", "team-a", metadata={"labels": {"a": "b"}})
        await advance(29)

        assert env.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_restart_begins_the_time_anew(env):
    env.change_workload(nominated=["gpu-c1"])

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(59)
        assert env.nominated() == ["gpu-c1"]
        await advance(2)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_cluster_that_has_admitted_it_is_waited_for(env):
    async with env.beating(nomination_timeout=60.0, settle=10.0):
        await env.connected()
        env.remove_copy("c1")
        env.copy("c1", admitted=True)
        await advance(600)
        assert env.nominated() == ["gpu-c1"]

        env.change_workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
        await advance(600)

        assert env.writes.count(NOMINATION) == 1


@pytest.mark.usefixtures("waiting_on_c1")
@pytest.mark.parametrize("silently", [False, True], ids=["refuses", "is silent"])
async def test_a_cluster_that_cannot_be_asked_is_waited_for_until_it_counts_as_lost(env, silently):
    async with env.beating(nomination_timeout=60.0, lost_timeout=900.0):
        await env.connected()
        env.workers["c1"].cut(silently=silently)
        env.disconnect("gpu-c1")
        await advance(880)
        assert env.nominated() == ["gpu-c1"]
        assert any("gpu-c1 cannot be asked" in note for note in env.events("WaitingForCluster"))
        await advance(60)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_silence_long_ago_does_not_count(env):
    async with env.beating(nomination_timeout=60.0, lost_timeout=900.0):
        await env.connected()
        env.workers["c1"].cut()
        await advance(65)
        env.workers["c1"].heal()
        env.change_workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
        await advance(3600)
        env.workers["c1"].cut()
        env.workload("later", nominated=["gpu-c1"])
        await advance(300)

        assert env.nominated("later") == ["gpu-c1"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_cluster_that_answers_again_ends_the_waiting(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        await advance(300)
        env.workers["c1"].heal()
        await advance(30)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_every_nominated_cluster_must_answer(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(61)
        assert env.nominated() == ["gpu-c1", "gpu-c2"]
        env.workers["c2"].cut()
        env.disconnect("gpu-c2")
        await advance(300)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_cluster_that_left_the_fleet_and_is_silent_is_waited_for_like_any_other(env):
    async with env.beating(nomination_timeout=60.0, lost_timeout=900.0):
        await env.connected()
        env.workers["c1"].cut()
        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(900)
        assert env.nominated() == ["gpu-c1"]
        await advance(90)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


async def test_a_member_that_nobody_lists_any_more_is_not_waited_for(env):
    """A nomination can arrive late, when its cluster was unlisted and its member deleted."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c2")
    env.workload(nominated=["gpu-c1"], checks={"mk": "Pending", "other": "Ready"})
    env.check()

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(301)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_cluster_that_begins_to_drain_while_another_is_asked_is_not_nominated(env):
    """The choice is made after the waiting, from what the hub says then."""
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(58)
        env.workers["c1"].seconds_per_request = 4.0
        env.copy("c2", "other")
        await advance(3)
        env.select("c1", "c3")
        await advance(10)

        assert env.nominated() == ["gpu-c1", "gpu-c3"]


def allow_more_clusters(api):
    """Let the hub have a later Kueue, whose configs may list more than 20 clusters."""
    name = str(kueue.MultiKueueConfig.resource)
    versions = api.raw(CustomResourceDefinition, name)["spec"]["versions"]
    for version in versions:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["clusters"]["maxItems"] = 30
    api.change(CustomResourceDefinition, name, spec={"versions": versions})


@pytest.mark.embedded_only("a real server would have the changed CRD for all tests that follow")
async def test_never_more_than_twenty_are_nominated(env):
    allow_more_clusters(env.api)
    names = [f"c{number:02}" for number in range(21)]
    env.fleet(*names)
    env.placement("gpu", *names)
    env.check()

    async with env.beating(limit=30, nomination_timeout=1.0):
        await env.connected()
        env.workload()
        await advance(150)

        assert len(env.nominated()) == 20


@pytest.mark.usefixtures("waiting_on_c1")
async def test_an_evicted_workload_begins_anew(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(50)
        env.change_workload(quota=False, checks={"mk": "Pending", "ac": "Pending"})
        env.remove_copy("c1")
        await settle()
        env.change_workload(evicted=False)
        await settle()
        assert env.nominated() == ["gpu-c1"]
        await advance(50)

        assert env.nominated() == ["gpu-c1"]


# What was taken back, and may still run where it was


@pytest.fixture
async def taken_back(env, three_clusters):
    """The job ran on c1, which drains; Kueue has evicted it, but not removed the copy yet."""
    env.copy("c1", admitted=True)
    env.copy("c1", "keeps-it-draining")


@DATED
@pytest.mark.usefixtures("taken_back")
async def test_a_workload_is_not_started_elsewhere_before_its_copy_is_gone(env):
    env.workload(**just_taken_back())

    async with env.beating():
        await env.connected()
        env.select("c2", "c3")
        await advance(9)
        assert env.nominated() == []

        env.remove_copy("c1")
        await advance(2)
        assert env.nominated() == ["gpu-c2"]
        await advance(15)  # the drain looks again, too


@DATED
@pytest.mark.usefixtures("taken_back")
async def test_where_kueue_overlooks_a_copy_its_cluster_is_nominated_again_though_it_drains(env):
    """Kueue was about to bring it when its Workload was taken back, and did not look until it had quota again."""
    env.workload(**just_taken_back())

    async with env.beating():
        await env.connected()
        env.select("c2", "c3")
        await advance(60)

        assert env.nominated() == ["gpu-c1"]
        assert env.events("Nominated") == ["gpu-c1; gpu-c1 still has its copy, which Kueue did not remove"]


@DATED
@pytest.mark.usefixtures("three_clusters")
async def test_a_copy_that_arrives_where_it_was_taken_back_from_keeps_the_job_there(env):
    async with env.beating():
        await env.connected()
        env.copy("c1", "keeps-it-draining")
        env.workload(nominated=["gpu-c1"])
        env.select("c2", "c3")
        await settle()
        env.change_workload(**just_taken_back())
        await advance(3)
        assert env.nominated() == []
        env.copy("c1", admitted=True)
        await advance(1)

        assert env.nominated() == ["gpu-c1"]


@DATED
@pytest.mark.usefixtures("three_clusters")
async def test_a_copy_that_arrives_where_it_was_taken_back_from_is_found_though_another_is_nominated(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        env.copy("c1", "keeps-it-draining")
        env.workload(nominated=["gpu-c1"])
        env.select("c2", "c3")
        await settle()
        env.change_workload(**just_taken_back())
        await advance(6)
        assert env.nominated() == ["gpu-c2"]
        env.copy("c1", admitted=True)
        await advance(11)

        assert env.nominated() == ["gpu-c2", "gpu-c1"]


@DATED
@pytest.mark.usefixtures("taken_back")
async def test_while_the_draining_cluster_is_silent_it_may_run_there(env):
    env.workload(**just_taken_back())

    async with env.beating(lost_timeout=900.0):
        await env.connected()
        env.select("c2", "c3")
        await settle()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        await advance(800)
        assert env.nominated() == []
        assert any("gpu-c1 cannot be asked" in note for note in env.events("WaitingForCluster"))

        await advance(120)

        assert env.nominated() == ["gpu-c2"]


@DATED
@pytest.mark.usefixtures("taken_back")
async def test_a_cluster_that_kueue_lost_long_ago_counts_as_silent_from_its_last_answer_to_us(env):
    env.workload(**just_taken_back())

    async with env.beating(lost_timeout=900.0):
        await env.connected()
        env.select("c2", "c3")
        env.disconnect("gpu-c1")
        await advance(2000)
        env.workers["c1"].cut()
        await advance(600)
        assert env.nominated() == []

        await advance(400)

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("taken_back")
async def test_also_where_its_cluster_was_selected_again_meanwhile(env):
    """Its mark is gone, and its copy is not."""
    async with env.beating():
        await env.connected()
        env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
        await settle()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        env.change_workload(**TAKEN_BACK)
        await advance(300)

        assert env.nominated() == []


async def test_a_workload_does_not_wait_for_a_silent_cluster_that_it_never_was_on(env):
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2", "c3")
    env.check()

    async with env.beating():
        await env.connected()
        env.workload(on="gpu-c2", checks={"mk": "Ready", "ac": "Ready"})
        await settle()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        env.change_workload(**TAKEN_BACK)
        await settle()

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("taken_back")
async def test_a_workload_that_never_ran_does_not_wait_for_a_silent_draining_cluster(env):
    async with env.beating():
        await env.connected()
        env.select("c2", "c3")
        await settle()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        env.workload("new")
        await settle()

        assert env.nominated("new") == ["gpu-c2"]


# A worker that does not answer


@pytest.mark.usefixtures("three_clusters")
async def test_a_hundred_questions_to_a_silent_cluster_do_not_hold_up_a_new_job(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        for number in range(100):
            env.workload(f"old-{number:03}", nominated=["gpu-c1"])
        await advance(1)
        env.workers["c1"].cut(silently=True)
        await advance(64)
        env.workload("new")
        await advance(6)

        assert len(env.nominated("new")) == 1


@pytest.mark.usefixtures("waiting_on_c1")
async def test_a_worker_that_answers_kueue_but_never_us_is_not_waited_for_without_end(env):
    async with env.beating(nomination_timeout=60.0, lost_timeout=900.0):
        await env.connected()
        env.workers["c1"].fail_on("get workloads/*", errors.Forbidden("no"))
        await advance(900)
        assert env.nominated() == ["gpu-c1"]
        await advance(90)

        assert env.nominated() == ["gpu-c1", "gpu-c2"]
