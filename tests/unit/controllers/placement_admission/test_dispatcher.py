"""Each Workload is nominated for the best cluster first, and each foreign one for all at once."""

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.kueue_configuration import CONFIG_MAP
from fleetqueue.testing.builders import by_secret, condition
from fleetqueue.testing.virtual_time import advance, settle
from fleetqueue.testing.waking import woken

KUEUE = "kueue-system"
CLUSTERS = "fleetqueue.dev/clusters"
NOMINATION = "apply workloads/team-a/job/status"


@pytest.fixture
async def three_clusters(scene):
    """By score c2 is best, then c3, then c1."""
    scene.fleet("c1", "c2", "c3")
    scene.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", -70), ("c2", 50), ("c3", 20)):
        scene.score(name, score)
    scene.check()


# Whom


@pytest.mark.usefixtures("three_clusters")
async def test_the_best_cluster_is_nominated_alone(scene):
    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c2"]
        assert scene.writes[-1] == NOMINATION
        assert scene.events("Nominated") == [
            "gpu-c2; spread; gpu-c2: score 50, room unknown; gpu-c3: score 20, room unknown;"
            " gpu-c1: score -70, room unknown"
        ]


@pytest.mark.usefixtures("three_clusters")
async def test_a_cluster_with_room_comes_before_a_better_one_without(scene):
    scene.queue("c1", gpus=1)
    scene.queue("c2", gpus=1, used=1)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("three_clusters")
async def test_what_a_cohort_could_lend_is_not_guessed(scene):
    scene.queue("c2", gpus=0, cohortName="all")
    scene.queue("c3", gpus=0)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize(
    ("options", "member"),
    [
        pytest.param({"annotations": {CLUSTERS: "c1"}}, "gpu-c1", id="by the cluster's name"),
        pytest.param({"annotations": {CLUSTERS: "gpu-c3"}}, "gpu-c3", id="by the member's name"),
        pytest.param({"annotations": {CLUSTERS: " c1 , c3,"}}, "gpu-c3", id="several, the best of them"),
        pytest.param({"pod_annotations": {CLUSTERS: "c1"}}, "gpu-c1", id="on the pod template"),
        pytest.param({"annotations": {CLUSTERS: ""}}, "gpu-c2", id="empty means any"),
    ],
)
async def test_a_job_can_narrow_the_choice(scene, options, member):
    async with scene.beating():
        await scene.connected()
        scene.workload(**options)
        await settle()

        assert scene.nominated() == [member]


@pytest.mark.usefixtures("three_clusters")
async def test_a_job_that_allows_nobody_waits_with_a_reason(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.workload(annotations={CLUSTERS: "c9"})
        await settle()

        assert scene.nominated() == []
        (note,) = scene.events("NoClusterToNominate")
        assert note.startswith(f"{CLUSTERS} names c9, and there is no such cluster; gpu-c1: not among {CLUSTERS}")
        assert heart.dispatcher.admission_metrics.waiting._value.get() == 1


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize("name", ["c4", "gpu-c4"])
async def test_a_job_that_allows_a_cluster_that_is_not_selected_is_told_so(scene, name):
    scene.cluster("c4")

    async with scene.beating():
        await scene.connected()
        scene.workload(annotations={CLUSTERS: name})
        await settle()

        (note,) = scene.events("NoClusterToNominate")
        assert note.startswith(f"{CLUSTERS} names {name}, which placement gpu does not offer; ")


@pytest.mark.usefixtures("three_clusters")
async def test_a_cluster_that_is_not_connected_is_not_nominated(scene):
    async with scene.beating():
        await scene.connected()
        scene.disconnect("gpu-c2")
        await settle()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_draining_cluster_is_not_nominated(scene):
    scene.copy("c2", "other")

    async with scene.beating():
        await scene.connected()
        scene.select("c1", "c3")
        await settle()
        assert scene.lists() == ["gpu-c1", "gpu-c2", "gpu-c3"]
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c3"]
        assert "gpu-c2: draining" in scene.events("Nominated")[0]


@pytest.mark.usefixtures("three_clusters")
async def test_without_scores_the_first_by_name_is_taken(scene):
    for name in ("c1", "c2", "c3"):
        scene.api.remove(cluster.AddOnPlacementScore, "resource-usage-score", name)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c1"]


# Twenty jobs and one GPU


@pytest.mark.usefixtures("three_clusters")
async def test_two_jobs_do_not_chase_one_free_gpu(scene):
    for name in ("c1", "c2", "c3"):
        scene.queue(name, gpus=1)

    async with scene.beating():
        await scene.connected()
        for name in ("one", "two", "three"):
            scene.workload(name)
        await settle()

        chosen = [scene.nominated(name)[0] for name in ("one", "two", "three")]
        assert sorted(chosen) == ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_jobs_that_are_decided_at_the_same_moment_see_each_other_on_a_slow_hub(scene):
    for name in ("c1", "c2", "c3"):
        scene.queue(name, gpus=1)

    async with scene.beating():
        await scene.connected()
        scene.api.seconds_per_request = 0.5
        for name in ("one", "two", "three"):
            scene.workload(name)
        await advance(10)

        chosen = [scene.nominated(name)[0] for name in ("one", "two", "three")]
        assert sorted(chosen) == ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_job_that_just_started_lowers_the_score_until_the_score_shows_it(scene):
    """A GPU costs 10 points, and c2 is 30 points ahead of c3."""
    async with scene.beating(settle=10.0):
        await scene.connected()
        scene.workload("big", gpus=4, on="gpu-c2", checks={"mk": "Ready", "ac": "Ready"}, since=timestamp(clock.now()))
        await settle()
        scene.workload("one")
        await settle()
        assert scene.nominated("one") == ["gpu-c3"]

        await advance(20)
        scene.workload("two")
        await settle()

        assert scene.nominated("two") == ["gpu-c2"]


# When


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"quota": False}, id="it has no quota"),
        pytest.param({"evicted": True}, id="it is being evicted"),
        pytest.param({"finished": True}, id="it is finished"),
        pytest.param({"deleting": True}, id="it is being deleted"),
        pytest.param({"on": "gpu-c1"}, id="it runs"),
        pytest.param({"checks": {"mk": "Pending", "ac": "Retry"}}, id="our check was taken back"),
        pytest.param({"checks": {"mk": "Pending", "ac": "Ready", "other": "Pending"}}, id="another check waits"),
        pytest.param({"checks": {"mk": "Ready", "ac": "Ready"}}, id="MultiKueue is done"),
        pytest.param({"checks": {"mk": "Retry", "ac": "Ready"}}, id="MultiKueue gives it back"),
        pytest.param({"checks": {"ac": "Ready"}}, id="MultiKueue is not asked"),
    ],
)
async def test_nothing_is_nominated_while(scene, options):
    async with scene.beating():
        await scene.connected()
        scene.workload(**options)
        await advance(120)

        assert scene.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_a_workload_is_nominated_when_its_last_other_check_is_ready(scene):
    async with scene.beating():
        await scene.connected()
        scene.workload(checks={"mk": "Pending", "ac": "Ready", "other": "Pending"})
        await settle()
        scene.change_workload(checks={"mk": "Pending", "ac": "Ready", "other": "Ready"})
        await settle()

        assert scene.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("three_clusters")
async def test_under_another_dispatcher_nothing_is_nominated(scene):
    scene.dispatcher(kueue.ALL_AT_ONCE)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await advance(120)

        assert scene.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_when_the_dispatcher_becomes_ours_those_that_wait_are_nominated(scene):
    scene.dispatcher(kueue.ALL_AT_ONCE)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()
        scene.dispatcher("fleetqueue.dev/dispatcher")
        await settle()

        assert scene.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_second_look_writes_nothing(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.workload()
        await settle()
        scene.api.writes.clear()

        heart.dispatcher.wake("team-a/job")
        await settle()

        assert scene.api.writes == []


@pytest.mark.usefixtures("three_clusters")
async def test_what_kueues_admission_owns_is_kept_by_the_nomination(scene):
    """Dropping a field that it owns would take the quota away."""
    scene.workload(quota=False, checks={"mk": "Pending", "ac": "Ready"})
    reserved, assignment = condition("QuotaReserved"), {"name": "main", "count": 1}
    admission = {"clusterQueue": "queue", "podSetAssignments": [assignment]}

    async with scene.beating():
        await scene.connected()
        status = {"conditions": [reserved], "admission": admission}
        scene.api.apply_as("kueue-admission", kueue.Workload, "job", "team-a", status=status)
        await settle()

        found = scene.api.raw(kueue.Workload, "job", "team-a")["status"]
        assert found["nominatedClusterNames"] == ["gpu-c2"]
        assert found["admission"] == admission
        assert found["conditions"] == [reserved]


# Hand-written configs


@pytest.fixture
async def hand_written(scene):
    """A config of the user's own, with clusters a, b and c."""
    scene.fleet()
    scene.api.remove(kueue.AdmissionCheck, "mk")
    scene.multikueue_check("mk", "mine")
    scene.api.add(kueue.MultiKueueConfig.manifest("mine", spec={"clusters": ["a", "b", "c"]}))
    for name in ("a", "b", "c"):
        scene.api.add(kueue.MultiKueueCluster.manifest(name, spec=by_secret()))


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_config_gets_all_connected_clusters_at_once(scene):
    scene.connect("a", "c")

    async with scene.beating():
        scene.workload(checks={"mk": "Pending"})
        await settle()

        assert scene.nominated() == ["a", "c"]


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_cluster_that_connects_later_is_added(scene):
    scene.connect("a")

    async with scene.beating():
        scene.workload(checks={"mk": "Pending"})
        await settle()
        scene.connect("b")
        await settle()

        assert scene.nominated() == ["a", "b"]


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_config_without_a_connected_cluster_waits_with_a_reason(scene):
    async with scene.beating():
        scene.workload(checks={"mk": "Pending"})
        await settle()

        assert scene.nominated() == []
        assert scene.events("NoClusterToNominate") == ["a: not connected; b: not connected; c: not connected"]


async def test_a_workload_without_a_config_waits_until_it_is_there(scene):
    scene.fleet("c1")
    scene.workload()

    async with scene.beating():
        assert scene.nominated() == []
        scene.api.add(kueue.MultiKueueCluster.manifest("a", spec=by_secret()))
        scene.connect("a")
        scene.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["a"]}))
        await settle()

        assert scene.nominated() == ["a"]


# Who wakes it


@pytest.fixture
async def dispatcher(scene, follow):
    scene.fleet("c1")
    scene.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["gpu-c1"]}))
    scene.api.add(kueue.MultiKueueCluster.manifest("gpu-c1", spec=by_secret()))
    scene.workload("waits")
    scene.workload("runs", on="gpu-c1")
    heart = scene.heart()
    await follow(*heart.controllers)
    await woken(heart.dispatcher)
    return heart.dispatcher


async def test_a_workload_wakes_itself(scene, dispatcher):
    scene.change_workload("runs", finished=True)

    assert await woken(dispatcher) == {"team-a/runs"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda scene: scene.api.change(kueue.AdmissionCheck, "mk", metadata={"labels": {"a": "b"}}), id="a check"
        ),
        pytest.param(
            lambda scene: scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["other"]}), id="a config"
        ),
        pytest.param(lambda scene: scene.connect("gpu-c1"), id="a member"),
        pytest.param(
            lambda scene: scene.api.change(core.ConfigMap, CONFIG_MAP, KUEUE, data={"a": "b"}),
            id="Kueue's configuration",
        ),
    ],
)
async def test_those_that_wait_are_woken_by(scene, dispatcher, change):
    change(scene)

    assert await woken(dispatcher) == {"gpu"}
    await dispatcher.reconcile("gpu")
    assert await woken(dispatcher) == {"team-a/waits"}


async def test_a_check_of_ours_wakes_those_that_wait_for_it(scene, dispatcher):
    scene.check()

    assert await woken(dispatcher) == {"gpu"}


async def test_clusters_that_change_at_once_wake_those_that_wait_once(scene, dispatcher):
    members = [f"gpu-c{number}" for number in range(20)]
    for member in members[2:]:
        scene.api.add(kueue.MultiKueueCluster.manifest(member, spec=by_secret()))
    scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": members})
    await woken(dispatcher)

    for member in members[1:]:
        scene.connect(member)
    await settle()

    assert len(dispatcher.queue) == 1


@pytest.mark.usefixtures("three_clusters")
async def test_room_on_a_worker_wakes_those_that_nobody_could_be_nominated_for(scene):
    async with scene.beating() as heart:
        await settle()
        scene.workload()
        await settle()
        assert heart.dispatcher.queue.is_idle
        seen = len(scene.events("NoClusterToNominate"))
        asked = []
        heart.dispatcher.reconcile = lambda key: _note(asked, key)
        scene.queue("c1", gpus=4)
        await settle()

        assert seen == 1
        assert asked == ["team-a/job"]


async def _note(asked, key):
    if key not in asked:
        asked.append(key)


# Halfway


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.Conflict("changed"), id="a conflict"),
        pytest.param(errors.ServerError('failed calling webhook "vworkload.kb.io"'), id="Kueue does not answer"),
    ],
)
async def test_a_write_that_surely_did_not_happen_is_decided_anew(scene, error):
    async with scene.beating() as heart:
        await scene.connected()
        scene.api.fail_on(NOMINATION, error, times=1)
        scene.workload()
        await settle()
        assert scene.nominated() == []
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        scene.score("c3", 90)
        await advance(1)

        assert scene.nominated() == ["gpu-c3"]
        assert len(scene.events("Nominated")) == 1


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize(
    "error", [errors.Unreachable("lost"), errors.ServerError("etcd timed out")], ids=["no answer", "a server error"]
)
async def test_a_write_that_may_have_happened_counts_until_it_surely_has_not(scene, error):
    async with scene.beating() as heart:
        await scene.connected()
        scene.api.fail_on(NOMINATION, error, times=1)
        scene.workload()
        await settle()
        assert heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        await advance(30)
        assert scene.nominated() == []
        await advance(31)

        assert scene.nominated() == ["gpu-c2"], "nobody else would wake it"


@pytest.mark.usefixtures("three_clusters")
async def test_a_write_that_happened_although_the_answer_was_lost_is_not_repeated(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.api.fail_on(NOMINATION, errors.Unreachable("lost"), times=1, applied=True)
        scene.workload()
        await advance(50)

        assert scene.nominated() == ["gpu-c2"]
        assert scene.writes.count(NOMINATION) == 1
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")


@pytest.mark.usefixtures("three_clusters")
async def test_a_hub_that_cannot_be_read_costs_no_minute(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.api.fail_on("get workloads/*", errors.Unreachable("lost"), times=1)
        scene.workload()
        await settle()
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        await advance(1)

        assert scene.nominated() == ["gpu-c2"]


@pytest.fixture
async def decided(scene, follow, three_clusters):
    """The dispatcher, and a Workload as it was when the choice was made."""
    heart = scene.heart()
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    await scene.connected()
    scene.workload()
    await settle()
    return heart.dispatcher, scene.hub.get(kueue.Workload, "job", "team-a")


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        pytest.param({"quota": False}, "no longer waits", id="it lost its quota"),
        pytest.param({"on": "gpu-c3"}, "no longer waits", id="a winner is recorded"),
        pytest.param({"checks": {"mk": "Pending", "ac": "Retry"}}, "no longer waits", id="it was taken back"),
        pytest.param({"nominated": ["gpu-c3"]}, "changed meanwhile", id="somebody else nominated"),
    ],
)
async def test_a_workload_that_changed_meanwhile_is_left_alone(scene, decided, meanwhile, why):
    dispatcher, workload = decided
    scene.change_workload(**meanwhile)
    before = scene.nominated()

    with pytest.raises(errors.Conflict, match=why):
        await dispatcher._nominate(workload, ["gpu-c2"], "")

    assert scene.nominated() == before
    assert not dispatcher.sent_nominations.is_under_way("gpu-c2")


async def test_a_new_workload_of_the_same_name_is_left_alone(scene, decided):
    dispatcher, workload = decided
    scene.api.remove(kueue.Workload, "job", "team-a")
    scene.workload()

    with pytest.raises(errors.Conflict, match="changed meanwhile"):
        await dispatcher._nominate(workload, ["gpu-c2"], "")

    assert scene.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_a_config_that_is_deleted_while_a_cluster_is_asked_nominates_nobody(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.workload(nominated=["gpu-c1"])
        await advance(59)
        scene.workers["c1"].seconds_per_request = 4.0
        await advance(3)
        heart.configs.reconcile = _nothing
        scene.api.remove(kueue.MultiKueueConfig, "gpu")
        await advance(10)

        assert scene.nominated() == ["gpu-c1"]


async def _nothing(key):
    """Let nobody make the config again."""


@pytest.mark.embedded_only("a thousand jobs take minutes on a real server")
@pytest.mark.usefixtures("three_clusters")
async def test_jobs_that_are_over_leave_nothing_behind(scene):
    async with scene.beating() as heart:
        await scene.connected()
        for number in range(1000):
            scene.workload(f"job{number}")
            if number % 100 == 99:
                await settle()
                while_waiting = len(heart.dispatcher.safety._nominated)
                for done in range(number - 99, number + 1):
                    scene.change_workload(f"job{done}", finished=True, on="gpu-c1")
                await settle()

        assert while_waiting == 100
        assert heart.dispatcher.safety._nominated == {}
        assert heart.dispatcher.past_clusters._pasts == {}
