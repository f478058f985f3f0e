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
async def three_clusters(env):
    """By score c2 is best, then c3, then c1."""
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", -70), ("c2", 50), ("c3", 20)):
        env.score(name, score)
    env.check()


# Whom


@pytest.mark.usefixtures("three_clusters")
async def test_the_best_cluster_is_nominated_alone(env):
    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c2"]
        assert env.writes[-1] == NOMINATION
        assert env.events("Nominated") == [
            "gpu-c2; spread; gpu-c2: score 50, room unknown; gpu-c3: score 20, room unknown;"
            " gpu-c1: score -70, room unknown"
        ]


@pytest.mark.usefixtures("three_clusters")
async def test_a_cluster_with_room_comes_before_a_better_one_without(env):
    env.queue("c1", gpus=1)
    env.queue("c2", gpus=1, used=1)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("three_clusters")
async def test_what_a_cohort_could_lend_is_not_guessed(env):
    env.queue("c2", gpus=0, cohortName="all")
    env.queue("c3", gpus=0)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c2"]


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
async def test_a_job_can_narrow_the_choice(env, options, member):
    async with env.beating():
        await env.connected()
        env.workload(**options)
        await settle()

        assert env.nominated() == [member]


@pytest.mark.usefixtures("three_clusters")
async def test_a_job_that_allows_nobody_waits_with_a_reason(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload(annotations={CLUSTERS: "c9"})
        await settle()

        assert env.nominated() == []
        (note,) = env.events("NoClusterToNominate")
        assert note.startswith(f"{CLUSTERS} names c9, and there is no such cluster; gpu-c1: not among {CLUSTERS}")
        assert heart.dispatcher.admission_metrics.waiting._value.get() == 1


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize("name", ["c4", "gpu-c4"])
async def test_a_job_that_allows_a_cluster_that_is_not_selected_is_told_so(env, name):
    env.cluster("c4")

    async with env.beating():
        await env.connected()
        env.workload(annotations={CLUSTERS: name})
        await settle()

        (note,) = env.events("NoClusterToNominate")
        assert note.startswith(f"{CLUSTERS} names {name}, which placement gpu does not offer; ")


@pytest.mark.usefixtures("three_clusters")
async def test_a_cluster_that_is_not_connected_is_not_nominated(env):
    async with env.beating():
        await env.connected()
        env.disconnect("gpu-c2")
        await settle()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_draining_cluster_is_not_nominated(env):
    env.copy("c2", "other")

    async with env.beating():
        await env.connected()
        env.select("c1", "c3")
        await settle()
        assert env.lists() == ["gpu-c1", "gpu-c2", "gpu-c3"]
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c3"]
        assert "gpu-c2: draining" in env.events("Nominated")[0]


@pytest.mark.usefixtures("three_clusters")
async def test_without_scores_the_first_by_name_is_taken(env):
    for name in ("c1", "c2", "c3"):
        env.api.remove(cluster.AddOnPlacementScore, "resource-usage-score", name)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c1"]


# Twenty jobs and one GPU


@pytest.mark.usefixtures("three_clusters")
async def test_two_jobs_do_not_chase_one_free_gpu(env):
    for name in ("c1", "c2", "c3"):
        env.queue(name, gpus=1)

    async with env.beating():
        await env.connected()
        for name in ("one", "two", "three"):
            env.workload(name)
        await settle()

        chosen = [env.nominated(name)[0] for name in ("one", "two", "three")]
        assert sorted(chosen) == ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_jobs_that_are_decided_at_the_same_moment_see_each_other_on_a_slow_hub(env):
    for name in ("c1", "c2", "c3"):
        env.queue(name, gpus=1)

    async with env.beating():
        await env.connected()
        env.api.seconds_per_request = 0.5
        for name in ("one", "two", "three"):
            env.workload(name)
        await advance(10)

        chosen = [env.nominated(name)[0] for name in ("one", "two", "three")]
        assert sorted(chosen) == ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_job_that_just_started_lowers_the_score_until_the_score_shows_it(env):
    """A GPU costs 10 points, and c2 is 30 points ahead of c3."""
    async with env.beating(settle=10.0):
        await env.connected()
        env.workload("big", gpus=4, on="gpu-c2", checks={"mk": "Ready", "ac": "Ready"}, since=timestamp(clock.now()))
        await settle()
        env.workload("one")
        await settle()
        assert env.nominated("one") == ["gpu-c3"]

        await advance(20)
        env.workload("two")
        await settle()

        assert env.nominated("two") == ["gpu-c2"]


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
async def test_nothing_is_nominated_while(env, options):
    async with env.beating():
        await env.connected()
        env.workload(**options)
        await advance(120)

        assert env.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_a_workload_is_nominated_when_its_last_other_check_is_ready(env):
    async with env.beating():
        await env.connected()
        env.workload(checks={"mk": "Pending", "ac": "Ready", "other": "Pending"})
        await settle()
        env.change_workload(checks={"mk": "Pending", "ac": "Ready", "other": "Ready"})
        await settle()

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("three_clusters")
async def test_under_another_dispatcher_nothing_is_nominated(env):
    env.dispatcher(kueue.ALL_AT_ONCE)

    async with env.beating():
        await env.connected()
        env.workload()
        await advance(120)

        assert env.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_when_the_dispatcher_becomes_ours_those_that_wait_are_nominated(env):
    env.dispatcher(kueue.ALL_AT_ONCE)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()
        env.dispatcher("fleetqueue.dev/dispatcher")
        await settle()

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("three_clusters")
async def test_a_second_look_writes_nothing(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload()
        await settle()
        env.api.writes.clear()

        heart.dispatcher.wake("team-a/job")
        await settle()

        assert env.api.writes == []


@pytest.mark.usefixtures("three_clusters")
async def test_what_kueues_admission_owns_is_kept_by_the_nomination(env):
    """Dropping a field that it owns would take the quota away."""
    env.workload(quota=False, checks={"mk": "Pending", "ac": "Ready"})
    reserved, assignment = condition("QuotaReserved"), {"name": "main", "count": 1}
    admission = {"clusterQueue": "queue", "podSetAssignments": [assignment]}

    async with env.beating():
        await env.connected()
        status = {"conditions": [reserved], "admission": admission}
        env.api.apply_as("kueue-admission", kueue.Workload, "job", "team-a", status=status)
        await settle()

        written = env.api.raw(kueue.Workload, "job", "team-a")["status"]
        assert written["nominatedClusterNames"] == ["gpu-c2"]
        assert written["admission"] == admission
        assert written["conditions"] == [reserved]


# Hand-written configs


@pytest.fixture
async def hand_written(env):
    """A config of the user's own, with clusters a, b and c."""
    env.fleet()
    env.api.remove(kueue.AdmissionCheck, "mk")
    env.multikueue_check("mk", "mine")
    env.api.add(kueue.MultiKueueConfig.manifest("mine", spec={"clusters": ["a", "b", "c"]}))
    for name in ("a", "b", "c"):
        env.api.add(kueue.MultiKueueCluster.manifest(name, spec=by_secret()))


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_config_gets_all_connected_clusters_at_once(env):
    env.connect("a", "c")

    async with env.beating():
        env.workload(checks={"mk": "Pending"})
        await settle()

        assert env.nominated() == ["a", "c"]


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_cluster_that_connects_later_is_added(env):
    env.connect("a")

    async with env.beating():
        env.workload(checks={"mk": "Pending"})
        await settle()
        env.connect("b")
        await settle()

        assert env.nominated() == ["a", "b"]


@pytest.mark.usefixtures("hand_written")
async def test_a_foreign_config_without_a_connected_cluster_waits_with_a_reason(env):
    async with env.beating():
        env.workload(checks={"mk": "Pending"})
        await settle()

        assert env.nominated() == []
        assert env.events("NoClusterToNominate") == ["a: not connected; b: not connected; c: not connected"]


async def test_a_workload_without_a_config_waits_until_it_is_there(env):
    env.fleet("c1")
    env.workload()

    async with env.beating():
        assert env.nominated() == []
        env.api.add(kueue.MultiKueueCluster.manifest("a", spec=by_secret()))
        env.connect("a")
        env.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["a"]}))
        await settle()

        assert env.nominated() == ["a"]


# Who wakes it


@pytest.fixture
async def dispatcher(env, follow):
    env.fleet("c1")
    env.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["gpu-c1"]}))
    env.api.add(kueue.MultiKueueCluster.manifest("gpu-c1", spec=by_secret()))
    env.workload("waits")
    env.workload("runs", on="gpu-c1")
    heart = env.heart()
    await follow(*heart.controllers)
    await woken(heart.dispatcher)
    return heart.dispatcher


async def test_a_workload_wakes_itself(env, dispatcher):
    env.change_workload("runs", finished=True)

    assert await woken(dispatcher) == {"team-a/runs"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda env: env.api.change(kueue.AdmissionCheck, "mk", metadata={"labels": {"a": "b"}}), id="a check"
        ),
        pytest.param(
            lambda env: env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["other"]}), id="a config"
        ),
        pytest.param(lambda env: env.connect("gpu-c1"), id="a member"),
        pytest.param(
            lambda env: env.api.change(core.ConfigMap, CONFIG_MAP, KUEUE, data={"a": "b"}),
            id="Kueue's configuration",
        ),
    ],
)
async def test_those_that_wait_are_woken_by(env, dispatcher, change):
    change(env)

    assert await woken(dispatcher) == {"gpu"}
    await dispatcher.reconcile("gpu")
    assert await woken(dispatcher) == {"team-a/waits"}


async def test_a_check_of_ours_wakes_those_that_wait_for_it(env, dispatcher):
    env.check()

    assert await woken(dispatcher) == {"gpu"}


async def test_clusters_that_change_at_once_wake_those_that_wait_once(env, dispatcher):
    members = [f"gpu-c{number}" for number in range(20)]
    for member in members[2:]:
        env.api.add(kueue.MultiKueueCluster.manifest(member, spec=by_secret()))
    env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": members})
    await woken(dispatcher)

    for member in members[1:]:
        env.connect(member)
    await settle()

    assert len(dispatcher.queue) == 1


@pytest.mark.usefixtures("three_clusters")
async def test_room_on_a_worker_wakes_those_that_nobody_could_be_nominated_for(env):
    async with env.beating() as heart:
        await settle()
        env.workload()
        await settle()
        assert heart.dispatcher.queue.is_idle
        seen = len(env.events("NoClusterToNominate"))
        asked = []
        heart.dispatcher.reconcile = lambda key: _note(asked, key)
        env.queue("c1", gpus=4)
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
async def test_a_write_that_surely_did_not_happen_is_decided_anew(env, error):
    async with env.beating() as heart:
        await env.connected()
        env.api.fail_on(NOMINATION, error, times=1)
        env.workload()
        await settle()
        assert env.nominated() == []
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        env.score("c3", 90)
        await advance(1)

        assert env.nominated() == ["gpu-c3"]
        assert len(env.events("Nominated")) == 1


@pytest.mark.usefixtures("three_clusters")
@pytest.mark.parametrize(
    "error", [errors.Unreachable("lost"), errors.ServerError("etcd timed out")], ids=["no answer", "a server error"]
)
async def test_a_write_that_may_have_happened_counts_until_it_surely_has_not(env, error):
    async with env.beating() as heart:
        await env.connected()
        env.api.fail_on(NOMINATION, error, times=1)
        env.workload()
        await settle()
        assert heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        await advance(30)
        assert env.nominated() == []
        await advance(31)

        assert env.nominated() == ["gpu-c2"], "nobody else would wake it"


@pytest.mark.usefixtures("three_clusters")
async def test_a_write_that_happened_although_the_answer_was_lost_is_not_repeated(env):
    async with env.beating() as heart:
        await env.connected()
        env.api.fail_on(NOMINATION, errors.Unreachable("lost"), times=1, applied=True)
        env.workload()
        await advance(50)

        assert env.nominated() == ["gpu-c2"]
        assert env.writes.count(NOMINATION) == 1
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")


@pytest.mark.usefixtures("three_clusters")
async def test_a_hub_that_cannot_be_read_costs_no_minute(env):
    async with env.beating() as heart:
        await env.connected()
        env.api.fail_on("get workloads/*", errors.Unreachable("lost"), times=1)
        env.workload()
        await settle()
        assert not heart.dispatcher.sent_nominations.is_under_way("gpu-c2")
        await advance(1)

        assert env.nominated() == ["gpu-c2"]


@pytest.fixture
async def decided(env, follow, three_clusters):
    """The dispatcher, and a Workload as it was when the choice was made."""
    heart = env.heart()
    await follow(*heart.controllers)
    await heart.configs.reconcile("gpu")
    await env.connected()
    env.workload()
    await settle()
    return heart.dispatcher, env.hub.get(kueue.Workload, "job", "team-a")


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        pytest.param({"quota": False}, "no longer waits", id="it lost its quota"),
        pytest.param({"on": "gpu-c3"}, "no longer waits", id="a winner is recorded"),
        pytest.param({"checks": {"mk": "Pending", "ac": "Retry"}}, "no longer waits", id="it was taken back"),
        pytest.param({"nominated": ["gpu-c3"]}, "changed meanwhile", id="somebody else nominated"),
    ],
)
async def test_a_workload_that_changed_meanwhile_is_left_alone(env, decided, meanwhile, why):
    dispatcher, workload = decided
    env.change_workload(**meanwhile)
    before = env.nominated()

    with pytest.raises(errors.Conflict, match=why):
        await dispatcher._nominate(workload, env.hub.get(kueue.MultiKueueConfig, "gpu"), ["gpu-c2"], "")

    assert env.nominated() == before
    assert not dispatcher.sent_nominations.is_under_way("gpu-c2")


async def test_a_new_workload_of_the_same_name_is_left_alone(env, decided):
    dispatcher, workload = decided
    env.api.remove(kueue.Workload, "job", "team-a")
    env.workload()

    with pytest.raises(errors.Conflict, match="changed meanwhile"):
        await dispatcher._nominate(workload, env.hub.get(kueue.MultiKueueConfig, "gpu"), ["gpu-c2"], "")

    assert env.nominated() == []


@pytest.mark.usefixtures("three_clusters")
async def test_a_config_that_is_deleted_while_a_cluster_is_asked_nominates_nobody(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload(nominated=["gpu-c1"])
        await advance(59)
        env.workers["c1"].seconds_per_request = 4.0
        await advance(3)
        heart.configs.reconcile = _nothing
        env.api.remove(kueue.MultiKueueConfig, "gpu")
        await advance(10)

        assert env.nominated() == ["gpu-c1"]


async def _nothing(key):
    """Let nobody make the config again."""


@pytest.mark.embedded_only("a thousand jobs take minutes on a real server")
@pytest.mark.usefixtures("three_clusters")
async def test_jobs_that_are_over_leave_nothing_behind(env):
    async with env.beating() as heart:
        await env.connected()
        for number in range(1000):
            env.workload(f"job{number}")
            if number % 100 == 99:
                await settle()
                while_waiting = len(heart.dispatcher.safety._nominated)
                for done in range(number - 99, number + 1):
                    env.change_workload(f"job{done}", finished=True, on="gpu-c1")
                await settle()

        assert while_waiting == 100
        assert heart.dispatcher.safety._nominated == {}
        assert heart.dispatcher.past_clusters._pasts == {}
