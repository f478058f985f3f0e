"""A dropped cluster stays listed until nothing of ours is left on it."""

import asyncio
from contextlib import suppress

import orjson
import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import GIVEN_UP
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.testing import builders
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"
RUNNING = {"mk": "Ready", "ac": "Ready"}


@pytest.fixture
async def two_clusters(scene):
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2")
    scene.check()


@pytest.fixture
async def running_job(scene, two_clusters):
    """A job runs on c1."""
    scene.workload(on="gpu-c1", checks=RUNNING)
    scene.copy("c1", admitted=True)


def marks(scene):
    annotations = scene.api.get(kueue.MultiKueueConfig, "gpu").metadata.annotations
    return orjson.loads(annotations.get(DRAINING, "{}"))


def finish(scene, name="job"):
    scene.change_workload(name, finished=True, on="gpu-c1", checks=RUNNING)
    scene.remove_copy("c1", name)


# Beginning


@pytest.mark.usefixtures("running_job")
async def test_a_dropped_cluster_with_a_job_is_marked_and_stays_listed(scene):
    async with scene.beating():
        scene.select("c2")
        await advance(600)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(scene)) == ["gpu-c1"]
        draining = scene.says("Draining")
        assert (draining.status, draining.reason) == ("True", "ClustersDraining")
        assert draining.message == "still listed until empty: gpu-c1 (1 workload)"
        assert scene.says("Active").status == "True"


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_goes_on_is_quiet(scene):
    async with scene.beating() as heart:
        scene.select("c2")
        await advance(60)
        scene.api.writes.clear()

        heart.configs.wake("gpu")
        await advance(60)

        assert scene.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_cluster_is_unlisted_only_in_a_later_look_than_the_one_that_marks_it(scene, follow):
    heart = scene.heart()
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    scene.select("c2")
    await settle()

    with pytest.raises(errors.RetryLater):
        await heart.configs.reconcile("gpu")
    assert scene.lists() == ["gpu-c1", "gpu-c2"]
    assert list(marks(scene)) == ["gpu-c1"]
    await settle()
    with suppress(errors.RetryLater):  # where the cache is quick, it sees the unlisted cluster at once
        await heart.configs.reconcile("gpu")

    assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_decision_that_is_created_anew_and_not_filled_yet_drops_nothing(scene):
    """OCM creates a decision first, and fills it in a second write."""
    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()
        nominated = scene.nominated()
        scene.api.remove(cluster.PlacementDecision, "gpu-decision-1", "kueue-system")
        labels = {cluster.PLACEMENT_LABEL: "gpu"}
        scene.api.add(cluster.PlacementDecision.manifest("gpu-decision-1", "kueue-system", labels=labels))
        await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert not marks(scene)
        assert (scene.nominated(), scene.state()) == (nominated, "Ready")

        satisfied = [builders.condition("PlacementSatisfied", "False", reason="NoManagedClusterMatched")]
        scene.api.change(cluster.Placement, "gpu", "kueue-system", status={"conditions": satisfied})
        await settle()

        assert scene.lists() == list(marks(scene)) == nominated  # it is meant to be empty


# Going on


def lists_of(scene, name):
    return sum(request.startswith("list workloads") for request in scene.workers[name].requests)


@pytest.mark.usefixtures("running_job")
async def test_jobs_that_go_elsewhere_do_not_ask_a_draining_cluster(scene):
    async with scene.beating() as heart:
        scene.select("c2")
        await settle()
        before = lists_of(scene, "c1")
        for number in range(50):
            scene.workload(f"job{number}")
            await settle()
            scene.change_workload(f"job{number}", on="gpu-c2", checks=RUNNING)
            await settle()
        after = lists_of(scene, "c1")
        await advance(heart.configs.settings.drain_poll)

        assert after == before
        assert lists_of(scene, "c1") == before + 1


@pytest.mark.usefixtures("two_clusters")
async def test_a_draining_cluster_is_asked_once_a_poll_while_jobs_leave_it(scene):
    for number in range(50):
        scene.workload(f"job{number}", on="gpu-c1", checks=RUNNING)
        scene.copy("c1", f"job{number}", admitted=True)
    async with scene.beating():
        scene.select("c2")
        await settle()
        before = lists_of(scene, "c1")
        for number in range(49):
            finish(scene, f"job{number}")
            await settle()
        asked = lists_of(scene, "c1") - before
        finish(scene, "job49")
        await settle()

        assert asked == 0
        assert lists_of(scene, "c1") - before <= 2, "the hub has none there: it is asked, and once more when unlisted"
        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(
            lambda scene: scene.workload(on="gpu-c1", checks=RUNNING), id="the hub says that a job runs there"
        ),
        pytest.param(lambda scene: scene.copy("c1"), id="the worker has a copy that the hub does not know"),
        pytest.param(lambda scene: scene.job("c1"), id="the worker has a Job without a Workload"),
        pytest.param(
            lambda scene: scene.job("c1", workload="job"), id="the worker has a Job, and its Workload is gone"
        ),
        pytest.param(lambda scene: scene.workers["c1"].cut(), id="the worker refuses connections"),
        pytest.param(lambda scene: scene.workers["c1"].cut(silently=True), id="the worker says nothing"),
        pytest.param(
            lambda scene: scene.workers["c1"].fail_on("list workloads*", errors.Forbidden("no")),
            id="the worker forbids it",
        ),
        pytest.param(
            lambda scene: scene.workers["c1"].fail_on("list workloads*", errors.NotFound("no CRD")), id="no Kueue there"
        ),
        pytest.param(
            lambda scene: scene.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE), id="its secret is gone"
        ),
        pytest.param(
            lambda scene: scene.api.change(
                core.Secret, "kueue-admin-c1-kubeconfig", KUEUE, data={"kubeconfig": "bm9uc2Vuc2U="}
            ),
            id="its kubeconfig is broken",
        ),
    ],
)
async def test_it_stays_listed_while(scene, arrange):
    async with scene.beating():
        arrange(scene)
        scene.select("c2")
        await advance(300)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert "gpu-c1" in scene.says("Draining").message


@pytest.mark.usefixtures("running_job")
async def test_a_drain_ends_where_the_credential_may_not_list_jobs(scene):
    scene.workers["c1"].fail_on("list jobs*", errors.Forbidden("no"))

    async with scene.beating():
        scene.select("c2")
        await advance(300)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]

        finish(scene)
        await advance(60)

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_it_stays_listed_while_a_nomination_is_under_way(scene, a_workload):
    async with scene.beating() as heart:
        heart.dispatcher.sent_nominations.add(a_workload(), ["gpu-c1"])
        scene.select("c2")
        await advance(30)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        await advance(60)

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_copies_of_another_hub_do_not_hold_it(scene):
    scene.copy("c1", "theirs", origin="another-hub")
    scene.job("c1", "theirs", origin="another-hub")

    async with scene.beating():
        scene.select("c2")
        await advance(60)

        assert scene.lists() == ["gpu-c2"]


async def test_the_origin_of_copies_is_read_from_kueues_configuration(scene):
    scene.fleet("c1", "c2", origin="hub-7")
    scene.placement("gpu", "c1", "c2")
    scene.check()
    scene.copy("c1", origin="hub-7")

    async with scene.beating():
        scene.select("c2")
        await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_silent_cluster_does_not_stall_other_placements(scene):
    scene.placement("cpu", "c2")
    scene.check("cpu", "cpu")

    async with scene.beating():
        scene.workers["c1"].cut(silently=True)
        scene.select("c2")
        await settle()
        scene.select("c1", "c2", placement="cpu")
        await settle()

        assert scene.lists("cpu") == ["cpu-c1", "cpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_several_draining_clusters_are_asked_at_once(scene):
    scene.cluster("c3")

    async with scene.beating() as heart:
        scene.select("c1", "c2", "c3")
        await settle()
        for name in ("c1", "c2", "c3"):
            scene.workers[name].cut(silently=True)
        scene.select()
        await settle()
        await advance(6)
        started = asyncio.get_running_loop().time()

        with pytest.raises(errors.RetryLater):
            await heart.configs.reconcile("gpu")

        assert asyncio.get_running_loop().time() - started < 10


# Ending


@pytest.mark.usefixtures("running_job")
async def test_when_the_job_has_ended_it_is_unlisted_and_its_member_goes_a_little_later(scene):
    async with scene.beating(linger=3.0):
        scene.select("c2")
        await advance(60)

        finish(scene)
        await settle()
        await advance(1)
        assert scene.lists() == ["gpu-c2"]
        assert marks(scene) == {}
        assert scene.members() == ["gpu-c1", "gpu-c2"]
        await advance(3)

        assert scene.members() == ["gpu-c2"]
        assert scene.says("Draining") is None
        assert scene.events("DrainEnded") == ["gpu-c1 holds nothing any more and was unlisted"]


@pytest.mark.usefixtures("running_job")
async def test_a_copy_that_goes_without_a_change_on_the_hub_is_noticed_by_asking_again(scene):
    async with scene.beating(drain_poll=15.0):
        scene.select("c2")
        await advance(60)
        scene.change_workload(finished=True, on="gpu-c1", checks=RUNNING)
        await settle()
        assert scene.lists() == ["gpu-c1", "gpu-c2"]

        scene.remove_copy("c1")
        await advance(15)

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_answers_again_goes_on_draining(scene):
    async with scene.beating():
        scene.workers["c1"].cut()
        scene.select("c2")
        await advance(300)
        assert "cannot be asked" in scene.says("Draining").message

        scene.workers["c1"].heal()
        await advance(15)
        assert scene.says("Draining").message == "still listed until empty: gpu-c1 (1 workload)"
        finish(scene)
        await advance(15)

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_is_selected_again_simply_serves(scene):
    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.select("c1", "c2")
        await settle()

        assert marks(scene) == {}
        assert scene.says("Draining") is None


@pytest.mark.usefixtures("running_job")
async def test_a_drain_survives_a_restart_and_keeps_its_beginning(scene):
    config = kueue.MultiKueueConfig.manifest(
        "gpu",
        labels={"app.kubernetes.io/managed-by": "fleetqueue"},
        annotations={DRAINING: '{"gpu-c1":"2025-12-31T23:00:00Z"}'},
        spec={"clusters": ["gpu-c1", "gpu-c2"]},
    )
    scene.api.add(config)
    scene.select("c2")

    async with scene.beating():
        assert marks(scene) == {"gpu-c1": "2025-12-31T23:00:00Z"}


# An empty choice


@pytest.mark.usefixtures("running_job")
async def test_an_empty_choice_with_running_work_keeps_it_and_says_why(scene):
    async with scene.beating():
        scene.select()
        await advance(300)

        assert scene.lists() == ["gpu-c1"]
        active = scene.says("Active")
        assert (active.status, active.reason) == ("False", "NoClustersAvailable")
        assert active.message == "No clusters available for placement gpu; running work goes on in gpu-c1"


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_choice_without_work_leaves_nothing(scene):
    async with scene.beating():
        scene.select()
        await advance(60)

        assert scene.lists() is None
        assert scene.members() == []
        assert scene.says("Active").message == "No clusters available for placement gpu"


# The last look


@pytest.mark.usefixtures("two_clusters")
async def test_work_that_appears_while_a_cluster_is_being_unlisted_takes_it_back(scene):
    async with scene.beating(linger=3.0):
        scene.select("c2")
        await settle()
        assert scene.lists() == ["gpu-c2"]

        scene.copy("c1")
        await advance(4)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(scene)) == ["gpu-c1"]
        scene.remove_copy("c1")
        await advance(60)
        assert scene.lists() == ["gpu-c2"]
        assert scene.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_work_that_appears_after_the_last_cluster_was_unlisted_brings_the_config_back(scene):
    async with scene.beating(linger=3.0):
        scene.select()
        await settle()
        assert scene.lists() is None

        scene.copy("c1")
        await advance(4)

        assert scene.lists() == ["gpu-c1"]
        assert scene.members() == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_came_back_and_is_dropped_again_gets_its_last_look_again(scene):
    async with scene.beating(linger=3.0):
        scene.select("c2")
        await advance(1)
        scene.select("c1", "c2")
        await advance(600)
        scene.select()
        await settle()
        assert scene.lists() is None
        await advance(1)

        assert scene.members() == ["gpu-c1", "gpu-c2"]


async def test_taking_a_cluster_back_never_pushes_another_one_out(scene):
    scene.fleet("c1", "c2", "c3")
    scene.placement("gpu", "c1", "c2")
    scene.check()
    scene.workload(on="gpu-c3", checks=RUNNING)

    async with scene.beating(limit=2, linger=3.0):
        scene.select("c2", "c3")
        await settle()
        assert scene.lists() == ["gpu-c2", "gpu-c3"]

        scene.copy("c1", "late")
        scene.copy("c3", admitted=True)
        await advance(30)

        assert scene.lists() == ["gpu-c2", "gpu-c3"]
        assert "gpu-c1" in scene.members()


@pytest.mark.usefixtures("two_clusters")
async def test_an_unlisted_cluster_that_stops_answering_keeps_its_member_and_is_not_asked_all_the_time(scene):
    async with scene.beating(linger=3.0, drain_poll=15.0) as heart:
        scene.select("c2")
        await settle()
        scene.workers["c1"].cut(silently=True)
        await advance(60)

        assert scene.members() == ["gpu-c1", "gpu-c2"]
        assert heart.configs.queue.is_idle
        scene.workers["c1"].heal()
        await advance(20)
        assert scene.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_the_connection_to_a_retired_cluster_is_closed(scene):
    async with scene.beating():
        assert scene.workers["c1"].open_watches == 2
        scene.select("c2")
        await advance(60)

        assert scene.workers["c1"].open_watches == 0
        assert scene.workers["c2"].open_watches == 2


# Hands of others


@pytest.mark.usefixtures("running_job")
async def test_a_draining_member_that_somebody_deletes_is_made_again_and_stays_listed(scene):
    """Unlisting it would make Kueue start the job elsewhere, while its copy runs on."""
    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.api.remove(kueue.MultiKueueCluster, "gpu-c1")
        await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.members() == ["gpu-c1", "gpu-c2"]
        member = scene.api.get(kueue.MultiKueueCluster, "gpu-c1")
        assert member.spec.cluster_source.kube_config.location == "kueue-admin-c1-kubeconfig"


@pytest.mark.usefixtures("running_job")
async def test_a_mark_that_somebody_removes_begins_the_drain_anew(scene):
    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": {DRAINING: None}})
        await advance(60)

        assert list(marks(scene)) == ["gpu-c1"]
        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_config_that_somebody_deletes_comes_back_with_what_was_draining(scene):
    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert list(marks(scene)) == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_also_where_only_the_worker_knows_of_its_work(scene):
    scene.copy("c1", "unknown-to-the-hub")

    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_draining_cluster_that_somebody_takes_off_the_list_is_put_back_at_once(scene):
    async with scene.beating():
        scene.select("c2")
        await advance(60)

        scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_an_empty_cluster_that_somebody_takes_off_the_list_stays_off_in_the_end(scene):
    scene.copy("c1", "late")

    async with scene.beating():
        scene.select("c2")
        await advance(60)
        scene.remove_copy("c1", "late")

        scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await advance(10)

        assert scene.lists() == ["gpu-c2"]
        assert scene.members() == ["gpu-c2"]


# A cluster that leaves the fleet


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_leaves_the_fleet_but_still_answers_is_drained_like_any_other(scene):
    async with scene.beating():
        scene.select("c2")
        scene.api.remove(cluster.ManagedCluster, "c1")
        await advance(300)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]

        finish(scene)
        await advance(60)

        assert scene.lists() == ["gpu-c2"]
        assert scene.members() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
@pytest.mark.parametrize(
    "silence",
    [
        pytest.param(lambda scene: scene.workers["c1"].cut(), id="cannot be reached"),
        pytest.param(
            lambda scene: scene.workers["c1"].fail_on("list *", errors.Unauthorized("no"), times=1000),
            id="refuses our credential",
        ),
        pytest.param(
            lambda scene: scene.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE), id="lost its credential"
        ),
    ],
)
async def test_a_cluster_that_left_the_fleet_and_cannot_be_asked_is_given_up_only_when_kueue_gives_it_up(
    scene, silence
):
    async with scene.beating(lost_timeout=900.0):
        scene.select("c2")
        await settle()
        silence(scene)
        scene.api.remove(cluster.ManagedCluster, "c1")
        await advance(890)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert "its ManagedCluster is gone or another cluster's: join it again" in scene.says("Draining").message
        assert "given up after 900 s of silence" in scene.says("Draining").message
        await advance(60)

        assert scene.lists() == ["gpu-c2"]
        assert scene.members() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_kueue_lost_long_ago_is_given_up_as_soon_as_it_has_left(scene):
    async with scene.beating(lost_timeout=900.0):
        scene.workers["c1"].cut()
        scene.disconnect("gpu-c1")
        scene.select("c2")
        await advance(3600)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]

        scene.api.remove(cluster.ManagedCluster, "c1")
        await advance(30)

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_and_answers_now_and_then_is_not_given_up(scene):
    async with scene.beating(lost_timeout=900.0):
        scene.select("c2")
        scene.api.remove(cluster.ManagedCluster, "c1")
        for _ in range(3):
            scene.workers["c1"].cut()
            await advance(600)
            scene.workers["c1"].heal()
            await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_is_drained_also_where_somebody_deletes_its_member(scene):
    async with scene.beating():
        scene.select("c2")
        scene.api.remove(cluster.ManagedCluster, "c1")
        await advance(60)

        scene.api.remove(kueue.MultiKueueCluster, "gpu-c1")
        await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.members() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_is_listed_again_where_somebody_takes_it_off(scene):
    async with scene.beating():
        scene.select("c2")
        scene.api.remove(cluster.ManagedCluster, "c1")
        await advance(60)

        scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_is_forced_takes_its_jobs_back_while_the_cluster_is_listed(scene):
    async with scene.beating():
        await scene.connected()
        scene.select("c2")
        await advance(60)
        assert scene.state() == "Ready"

        scene.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await settle()

        assert scene.state() == "Retry"
        assert scene.events("TakenBack") == ["taken back from gpu-c1: it was given up with `fleetqueue unjoin --force`"]
        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_is_forced_does_not_wait_for_a_silent_cluster(scene):
    async with scene.beating():
        scene.workers["c1"].cut()
        scene.select("c2")
        await advance(60)

        scene.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await advance(30)

        assert scene.lists() == ["gpu-c2"]
        assert scene.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_is_selected_again_forgets_that_it_was_given_up(scene):
    async with scene.beating():
        scene.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await settle()

        assert GIVEN_UP not in scene.api.get(kueue.MultiKueueCluster, "gpu-c1").metadata.annotations


# Halfway


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    "write", ["patch multikueueconfigs/gpu", "delete multikueueclusters/gpu-c1", "apply admissionchecks/ac/status"]
)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("applied", [False, True], ids=["refused", "done, but the answer is lost"])
async def test_if_any_write_of_a_drain_fails_the_end_is_the_same(scene, write, times, applied):
    async with scene.beating():
        scene.api.fail_on(write, errors.Unreachable("lost"), times=times, applied=applied)
        scene.select("c2")
        await advance(60)

        assert scene.lists() == ["gpu-c2"]
        assert marks(scene) == {}
        assert scene.members() == ["gpu-c2"]
        assert scene.says("Active").status == "True"
        assert scene.says("Draining") is None


# Coming back


@pytest.fixture
async def old_copy(scene):
    """A job runs on c2; c1, which was given up, still has a copy of it."""
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c2")
    scene.check()
    scene.workload(on="gpu-c2", checks=RUNNING)
    scene.copy("c2", admitted=True)
    scene.copy("c1", admitted=True)


@pytest.mark.usefixtures("old_copy")
async def test_a_cluster_with_an_old_copy_of_a_job_that_is_elsewhere_is_not_listed_yet(scene):
    async with scene.beating():
        await settle()
        scene.select("c1", "c2")
        await advance(600)

        assert scene.lists() == ["gpu-c2"]
        assert "left out: gpu-c1 (it has old copies of jobs that are elsewhere now" in scene.says("Active").message
        assert "Workload team-a/job (1 in all)" in scene.says("Active").message

        scene.remove_copy("c1")
        await advance(60)
        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("old_copy")
async def test_when_the_job_has_ended_elsewhere_the_cluster_is_listed(scene):
    async with scene.beating():
        await settle()
        scene.select("c1", "c2")
        await settle()
        scene.change_workload(finished=True, on="gpu-c2", checks=RUNNING)
        await advance(60)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
