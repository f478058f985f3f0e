"""A dropped cluster stays listed until nothing of ours is left on it."""

import asyncio
from contextlib import suppress

import orjson
import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import GIVEN_UP
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.testing import builders
from fleetqueue.testing.virtual_time import advance, settle

RUNNING = {"mk": "Ready", "ac": "Ready"}


def marks(env):
    annotations = env.api.get(kueue.MultiKueueConfig, "gpu").metadata.annotations
    return orjson.loads(annotations.get(DRAINING, "{}"))


def finish(env, name="job"):
    env.change_workload(name, finished=True, on="gpu-c1", checks=RUNNING)
    env.remove_copy("c1", name)


@pytest.mark.usefixtures("running_job")
async def test_a_dropped_cluster_with_a_job_is_marked_and_stays_listed(env):
    async with env.beating():
        env.select("c2")
        await advance(600)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(env)) == ["gpu-c1"]
        draining = env.says("Draining")
        assert (draining.status, draining.reason) == ("True", "ClustersDraining")
        assert draining.message == "still listed until empty: gpu-c1 (1 workload)"
        assert env.says("Active").status == "True"


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_goes_on_is_quiet(env):
    async with env.beating() as heart:
        env.select("c2")
        await advance(60)
        env.api.writes.clear()

        heart.configs.wake("gpu")
        await advance(60)

        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_cluster_is_unlisted_only_in_a_later_look_than_the_one_that_marks_it(env, follow):
    heart = env.heart()
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    env.select("c2")
    await settle()

    with pytest.raises(errors.RetryLater):
        await heart.configs.reconcile("gpu")
    assert env.lists() == ["gpu-c1", "gpu-c2"]
    assert list(marks(env)) == ["gpu-c1"]
    await settle()
    with suppress(errors.RetryLater):  # where the cache is quick, it sees the unlisted cluster at once
        await heart.configs.reconcile("gpu")

    assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_decision_that_is_created_anew_and_not_filled_yet_drops_nothing(env):
    """OCM creates a decision first, and fills it in a second write."""
    async with env.beating():
        await env.connected()
        env.workload()
        await settle()
        nominated = env.nominated()
        env.api.remove(cluster.PlacementDecision, "gpu-decision-1", "kueue-system")
        labels = {cluster.PLACEMENT_LABEL: "gpu"}
        env.api.add(cluster.PlacementDecision.manifest("gpu-decision-1", "kueue-system", labels=labels))
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert not marks(env)
        assert (env.nominated(), env.state()) == (nominated, "Ready")

        satisfied = [builders.condition("PlacementSatisfied", "False", reason="NoManagedClusterMatched")]
        env.api.change(cluster.Placement, "gpu", "kueue-system", status={"conditions": satisfied})
        await settle()

        assert env.lists() == list(marks(env)) == nominated  # it is meant to be empty


def lists_of(env, name):
    return sum(request.startswith("list workloads") for request in env.workers[name].requests)


@pytest.mark.usefixtures("running_job")
async def test_jobs_that_go_elsewhere_do_not_ask_a_draining_cluster(env):
    async with env.beating() as heart:
        env.select("c2")
        await settle()
        before = lists_of(env, "c1")
        for number in range(50):
            env.workload(f"job{number}")
            await settle()
            env.change_workload(f"job{number}", on="gpu-c2", checks=RUNNING)
            await settle()
        after = lists_of(env, "c1")
        await advance(heart.configs.settings.drain_poll + 1)

        assert after == before
        assert lists_of(env, "c1") == before + 1


@pytest.mark.usefixtures("two_clusters")
async def test_a_draining_cluster_is_asked_once_a_poll_while_jobs_leave_it(env):
    for number in range(50):
        env.workload(f"job{number}", on="gpu-c1", checks=RUNNING)
        env.copy("c1", f"job{number}", admitted=True)
    async with env.beating():
        env.select("c2")
        await settle()
        before = lists_of(env, "c1")
        for number in range(49):
            finish(env, f"job{number}")
            await settle()
        asked = lists_of(env, "c1") - before
        finish(env, "job49")
        await settle()

        assert asked == 0
        assert lists_of(env, "c1") - before <= 2, "the hub has none there: it is asked, and once more when unlisted"
        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_when_the_job_has_ended_it_is_unlisted_and_its_member_goes_a_little_later(env):
    async with env.beating(linger=3.0):
        env.select("c2")
        await advance(60)

        finish(env)
        await settle()
        await advance(1)
        assert env.lists() == ["gpu-c2"]
        assert marks(env) == {}
        assert env.members() == ["gpu-c1", "gpu-c2"]
        await advance(3)

        assert env.members() == ["gpu-c2"]
        assert env.says("Draining") is None
        assert env.events("DrainEnded") == ["gpu-c1 holds nothing any more and was unlisted"]


@pytest.mark.usefixtures("running_job")
async def test_a_copy_that_goes_without_a_change_on_the_hub_is_noticed_by_asking_again(env):
    async with env.beating(drain_poll=15.0):
        env.select("c2")
        await advance(60)
        env.change_workload(finished=True, on="gpu-c1", checks=RUNNING)
        await settle()
        assert env.lists() == ["gpu-c1", "gpu-c2"]

        env.remove_copy("c1")
        await advance(15)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_answers_again_goes_on_draining(env):
    async with env.beating():
        env.workers["c1"].cut()
        env.select("c2")
        await advance(300)
        assert "cannot be asked" in env.says("Draining").message

        env.workers["c1"].heal()
        await advance(15)
        assert env.says("Draining").message == "still listed until empty: gpu-c1 (1 workload)"
        finish(env)
        await advance(15)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_is_selected_again_simply_serves(env):
    async with env.beating():
        env.select("c2")
        await advance(60)

        env.select("c1", "c2")
        await settle()

        assert marks(env) == {}
        assert env.says("Draining") is None


@pytest.mark.usefixtures("running_job")
async def test_a_drain_survives_a_restart_and_keeps_its_beginning(env):
    config = kueue.MultiKueueConfig.manifest(
        "gpu",
        labels={"app.kubernetes.io/managed-by": "fleetqueue"},
        annotations={DRAINING: '{"gpu-c1":"2025-12-31T23:00:00Z"}'},
        spec={"clusters": ["gpu-c1", "gpu-c2"]},
    )
    env.api.add(config)
    env.select("c2")

    async with env.beating():
        assert marks(env) == {"gpu-c1": "2025-12-31T23:00:00Z"}


@pytest.mark.usefixtures("running_job")
async def test_an_empty_choice_with_running_work_keeps_it_and_says_why(env):
    async with env.beating():
        env.select()
        await advance(300)

        assert env.lists() == ["gpu-c1"]
        active = env.says("Active")
        assert (active.status, active.reason) == ("False", "NoClustersAvailable")
        assert active.message == "No clusters available for placement gpu; running work goes on in gpu-c1"


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_choice_without_work_leaves_nothing(env):
    async with env.beating():
        env.select()
        await advance(60)

        assert env.lists() is None
        assert env.members() == []
        assert env.says("Active").message == "No clusters available for placement gpu"


@pytest.mark.usefixtures("two_clusters")
async def test_work_that_appears_while_a_cluster_is_being_unlisted_takes_it_back(env):
    async with env.beating(linger=3.0):
        env.select("c2")
        await settle()
        assert env.lists() == ["gpu-c2"]

        env.copy("c1")
        await advance(4)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(env)) == ["gpu-c1"]
        env.remove_copy("c1")
        await advance(60)
        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_work_that_appears_after_the_last_cluster_was_unlisted_brings_the_config_back(env):
    async with env.beating(linger=3.0):
        env.select()
        await settle()
        assert env.lists() is None

        env.copy("c1")
        await advance(4)

        assert env.lists() == ["gpu-c1"]
        assert env.members() == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_came_back_and_is_dropped_again_gets_its_last_look_again(env):
    async with env.beating(linger=3.0):
        env.select("c2")
        await advance(1)
        env.select("c1", "c2")
        await advance(600)
        env.select()
        await settle()
        assert env.lists() is None
        await advance(1)

        assert env.members() == ["gpu-c1", "gpu-c2"]


async def test_taking_a_cluster_back_never_pushes_another_one_out(env):
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.workload(on="gpu-c3", checks=RUNNING)

    async with env.beating(limit=2, linger=3.0):
        env.select("c2", "c3")
        await settle()
        assert env.lists() == ["gpu-c2", "gpu-c3"]

        env.copy("c1", "late")
        env.copy("c3", admitted=True)
        await advance(30)

        assert env.lists() == ["gpu-c2", "gpu-c3"]
        assert "gpu-c1" in env.members()


@pytest.mark.usefixtures("two_clusters")
async def test_an_unlisted_cluster_that_stops_answering_keeps_its_member_and_is_not_asked_all_the_time(env):
    async with env.beating(linger=3.0, drain_poll=15.0) as heart:
        env.select("c2")
        await settle()
        env.workers["c1"].cut(silently=True)
        await advance(60)

        assert env.members() == ["gpu-c1", "gpu-c2"]
        assert heart.configs.queue.is_idle
        env.workers["c1"].heal()
        await advance(20)
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_the_connection_to_a_retired_cluster_is_closed(env):
    async with env.beating():
        assert env.workers["c1"].open_watches == 2
        env.select("c2")
        await advance(60)

        assert env.workers["c1"].open_watches == 0
        assert env.workers["c2"].open_watches == 2


@pytest.mark.usefixtures("running_job")
async def test_a_draining_member_that_somebody_deletes_is_made_again_and_stays_listed(env):
    """Unlisting it would make Kueue start the job elsewhere, while its copy runs on."""
    async with env.beating():
        env.select("c2")
        await advance(60)

        env.api.remove(kueue.MultiKueueCluster, "gpu-c1")
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.members() == ["gpu-c1", "gpu-c2"]
        member = env.api.get(kueue.MultiKueueCluster, "gpu-c1")
        assert member.spec.cluster_source.kube_config.location == "kueue-admin-c1-kubeconfig"


@pytest.mark.usefixtures("running_job")
async def test_a_mark_that_somebody_removes_begins_the_drain_anew(env):
    async with env.beating():
        env.select("c2")
        await advance(60)

        env.api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": {DRAINING: None}})
        await advance(60)

        assert list(marks(env)) == ["gpu-c1"]
        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_config_that_somebody_deletes_comes_back_with_what_was_draining(env):
    async with env.beating():
        env.select("c2")
        await advance(60)

        env.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(env)) == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_also_where_only_the_worker_knows_of_its_work(env):
    env.copy("c1", "unknown-to-the-hub")

    async with env.beating():
        env.select("c2")
        await advance(60)

        env.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_draining_cluster_that_somebody_takes_off_the_list_is_put_back_at_once(env):
    async with env.beating():
        env.select("c2")
        await advance(60)

        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_cluster_that_somebody_takes_off_the_list_stays_off_in_the_end(env):
    env.copy("c1", "late")

    async with env.beating():
        env.select("c2")
        await advance(60)
        env.remove_copy("c1", "late")

        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await advance(10)

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_leaves_the_fleet_but_still_answers_is_drained_like_any_other(env):
    async with env.beating():
        env.select("c2")
        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(300)
        assert env.lists() == ["gpu-c1", "gpu-c2"]

        finish(env)
        await advance(60)

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_is_drained_also_where_somebody_deletes_its_member(env):
    async with env.beating():
        env.select("c2")
        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(60)

        env.api.remove(kueue.MultiKueueCluster, "gpu-c1")
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.members() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_is_listed_again_where_somebody_takes_it_off(env):
    async with env.beating():
        env.select("c2")
        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(60)

        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_is_forced_takes_its_jobs_back_while_the_cluster_is_listed(env):
    async with env.beating():
        await env.connected()
        env.select("c2")
        await advance(60)
        assert env.state() == "Ready"

        env.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await settle()

        assert env.state() == "Retry"
        assert env.events("TakenBack") == ["taken back from gpu-c1: it was given up with `fleetqueue unjoin --force`"]
        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    "write", ["patch multikueueconfigs/gpu", "delete multikueueclusters/gpu-c1", "apply admissionchecks/ac/status"]
)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("applied", [False, True], ids=["refused", "done, but the answer is lost"])
async def test_if_any_write_of_a_drain_fails_the_end_is_the_same(env, write, times, applied):
    async with env.beating():
        env.api.fail_on(write, errors.Unreachable("lost"), times=times, applied=applied)
        env.select("c2")
        await advance(60)

        assert env.lists() == ["gpu-c2"]
        assert marks(env) == {}
        assert env.members() == ["gpu-c2"]
        assert env.says("Active").status == "True"
        assert env.says("Draining") is None


@pytest.mark.usefixtures("running_job")
async def test_a_config_that_changed_while_it_was_planned_is_planned_anew(env, follow):
    """As another leader may have changed it: with its newest version, an old plan would undo that."""
    heart = env.heart()
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    await env.connected()
    env.select("c2")
    await settle()
    with pytest.raises(errors.RetryLater):
        await heart.configs.reconcile("gpu")
    await settle()
    env.workers["c1"].seconds_per_request = 2.0
    planning = asyncio.create_task(heart.configs.reconcile("gpu"))
    await advance(1)
    env.api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": {DRAINING: None}})
    await settle()

    with pytest.raises(errors.Conflict, match="changed meanwhile"):
        await planning

    assert marks(env) == {}
