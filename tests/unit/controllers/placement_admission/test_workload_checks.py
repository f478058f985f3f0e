"""Our check on each Workload is answered: Ready so that jobs do not hang, Retry so that drains end."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.testing.builders import by_secret
from fleetqueue.testing.virtual_time import advance, settle
from fleetqueue.testing.waking import woken

RUNNING = {"mk": "Ready", "ac": "Ready"}
ASKED = {"mk": "Pending", "ac": "Pending"}
ANSWER = "apply workloads/team-a/job/status"


@pytest.fixture
async def two_clusters(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()


def message(env, check="ac"):
    return env.api.get(kueue.Workload, "job", "team-a").check(check).message


# Ready


@pytest.mark.usefixtures("two_clusters")
async def test_a_workload_with_quota_gets_ready(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED)
        await settle()

        assert env.state() == "Ready"
        assert message(env) == "placement gpu selects 2 clusters"


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    ("checks", "warnings"),
    [
        pytest.param({"ac": "Pending"}, 1, id="no MultiKueue check"),
        pytest.param(ASKED, 0, id="a MultiKueue check"),
        pytest.param({"ac": "Pending", "unseen": "Pending"}, 0, id="one that is not seen yet"),
    ],
)
async def test_a_workload_that_will_run_on_the_hub_is_warned_of(env, checks, warnings):
    async with env.beating():
        await env.connected()
        env.workload(checks=checks)
        await settle()

        assert env.state() == "Ready"
        assert len(env.events("NoMultiKueueCheck")) == warnings


@pytest.mark.usefixtures("two_clusters")
async def test_without_quota_nothing_is_said(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED, quota=False)
        await settle()
        assert env.state() == "Pending"
        env.change_workload(checks=ASKED)
        await settle()

        assert env.state() == "Ready"


@pytest.mark.usefixtures("two_clusters")
async def test_while_it_is_evicted_nothing_is_said(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED, evicted=True)
        await settle()

        assert env.state() == "Pending"


@pytest.mark.usefixtures("two_clusters")
async def test_after_kueue_has_reset_it_it_is_said_again(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED)
        await settle()
        env.change_workload(checks=ASKED, evicted=False)
        await settle()

        assert env.state() == "Ready"


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_look_writes_nothing(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload(checks={"ac": "Pending"})
        await settle()
        env.api.writes.clear()

        heart.checks.wake("team-a/job")
        await settle()

        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_before_any_cluster_is_connected_it_waits_with_a_reason(env):
    async with env.beating():
        env.workload(checks=ASKED)
        await settle()
        assert env.state() == "Pending"
        assert message(env) == "waiting: none of the selected clusters is connected"
        env.connect("gpu-c1")
        await settle()

        assert env.state() == "Ready"


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize("checks", [ASKED, {"mk": "Pending"}], ids=["with our check", "with MultiKueue's alone"])
async def test_a_slice_says_that_the_cluster_of_the_one_before_it_is_not_connected(env, checks):
    """Kueue writes that cluster into the slice with its quota, so that nobody ever nominates one."""
    async with env.beating() as heart:
        await env.connected()
        env.disconnect("gpu-c1")
        env.workload(checks=checks, on="gpu-c1")
        await settle()

        assert env.events("WaitingForCluster") == [
            "the slice whose place it takes is on gpu-c1, which is not connected"
        ]
        if "ac" in checks:
            assert env.state() == "Pending"
            assert message(env) == "waiting: the slice whose place it takes is on gpu-c1, which is not connected"
        env.api.writes.clear()
        heart.checks.wake("team-a/job")
        await settle()
        assert not [write for write in env.api.writes if "workloads" in write]
        env.connect("gpu-c1")
        await settle()
        assert "ac" not in checks or env.state() == "Ready"


async def test_before_any_cluster_is_selected_it_waits_with_a_reason(env):
    env.fleet("c1")
    env.placement("gpu")
    env.check()

    async with env.beating():
        env.workload(checks=ASKED)
        await settle()
        assert message(env) == "waiting: No clusters available for placement gpu"
        env.select("c1")
        await env.connected()

        assert env.state() == "Ready"


async def test_a_cluster_that_is_connected_before_it_is_listed_is_noticed(env):
    """With one member per cluster, another Placement may have connected it long ago."""
    env.fleet("c1", "c2")
    env.placement("other", "c1")
    env.check("other", "other")
    env.placement("gpu", "c2")
    env.check()

    async with env.beating(naming="cluster"):
        env.connect("c1")
        env.workload(checks=ASKED)
        await settle()
        assert env.state() == "Pending"
        env.select("c1", "c2")
        await settle()

        assert env.state() == "Ready"


async def test_two_checks_of_ours_on_one_workload_both_survive(env):
    env.fleet("c1")
    for name in ("gpu", "cpu"):
        env.placement(name, "c1")
        env.check(f"ac-{name}", name)

    async with env.beating():
        await env.connected()
        env.workload(checks={"mk": "Pending", "ac-gpu": "Pending", "ac-cpu": "Pending"})
        await advance(1)

        assert (env.state("ac-gpu"), env.state("ac-cpu")) == ("Ready", "Ready")
        env.change_workload(checks={"mk": "Pending", "ac-gpu": "Pending", "ac-cpu": "Ready"})
        await advance(1)
        assert (env.state("ac-gpu"), env.state("ac-cpu")) == ("Ready", "Ready")


@pytest.mark.usefixtures("two_clusters")
async def test_entries_of_others_are_left_alone(env):
    async with env.beating():
        await env.connected()
        env.workload(checks={"mk": ("Pending", "theirs"), "ac": "Pending", "other": ("Pending", "theirs too")})
        await settle()

        assert (env.state("mk"), message(env, "mk")) == ("Pending", "theirs")
        assert (env.state("other"), message(env, "other")) == ("Pending", "theirs too")


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"error": errors.Conflict("stale")}, id="conflict"),
        pytest.param({"error": errors.ServerError("boom")}, id="refused"),
        pytest.param({"error": errors.Unreachable("lost"), "applied": True}, id="done, but the answer is lost"),
    ],
)
async def test_if_the_answer_cannot_be_written_the_end_is_the_same(env, fault):
    async with env.beating():
        await env.connected()
        env.api.fail_on(ANSWER, fault["error"], times=2, applied=fault.get("applied", False))
        env.workload(checks={"ac": "Pending"})
        await advance(5)

        assert env.state() == "Ready"


# Retry: nominated


@pytest.fixture
async def nominated_for_c1(env, two_clusters):
    """The job is nominated for c1, which has its copy and does not admit it."""
    env.workload(nominated=["gpu-c1"])
    env.copy("c1")


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_that_is_nominated_for_a_draining_cluster_is_taken_back(env):
    async with env.beating():
        await env.connected()
        env.select("c2")
        await settle()

        assert env.state() == "Retry"
        assert message(env) == "taken back from gpu-c1, which is being drained"
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.events("TakenBack") == ["taken back from gpu-c1, which is being drained"]


@pytest.mark.usefixtures("nominated_for_c1")
async def test_then_kueue_removes_the_copy_and_the_drain_ends(env):
    async with env.beating():
        await env.connected()
        env.select("c2")
        await settle()
        env.change_workload(quota=False, checks=ASKED)
        env.remove_copy("c1")
        await advance(5)
        assert env.lists() == ["gpu-c2"]
        env.change_workload(evicted=False, checks=ASKED)
        await settle()

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("nominated_for_c1")
@pytest.mark.parametrize("dispatcher", [kueue.ALL_AT_ONCE, kueue.INCREMENTAL])
async def test_under_another_dispatcher_it_is_not_taken_back(env, dispatcher):
    """It would nominate the draining cluster again, and the Workload would be evicted without end."""
    env.dispatcher(dispatcher)

    async with env.beating():
        await env.connected()
        env.select("c2")
        await advance(60)

        assert env.state() == "Ready"
        assert env.lists() == ["gpu-c2", "gpu-c1"]


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_is_not_taken_back_from_a_cluster_that_is_silent(env):
    """Kueue could not remove the copy; the dispatcher waits for the cluster, and goes on without it in time."""
    async with env.beating(drain_poll=15.0):
        await env.connected()
        env.workers["c1"].cut(silently=True)
        env.select("c2")
        await advance(60)
        assert env.state() == "Ready"

        env.workers["c1"].heal()
        await advance(30)

        assert env.state() == "Retry"


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_is_not_taken_back_while_kueue_is_not_connected_to_its_cluster(env):
    async with env.beating():
        await env.connected()
        env.disconnect("gpu-c1")
        env.select("c2")
        await advance(60)
        assert env.state() == "Ready"

        env.connect("gpu-c1")
        await settle()

        assert env.state() == "Retry"


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_is_not_taken_back_while_another_nominated_cluster_is_silent(env):
    """It may run there, and taking it back would start it once more."""
    env.change_workload(nominated=["gpu-c1", "gpu-c2"])
    env.cluster("c3")

    async with env.beating():
        await env.connected()
        env.workers["c2"].cut()
        env.select("c2", "c3")
        await advance(60)

        assert env.state() == "Ready"


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_that_the_draining_cluster_has_just_admitted_stays_there(env):
    async with env.beating():
        await env.connected()
        env.remove_copy("c1")
        env.copy("c1", admitted=True)
        env.select("c2")
        await advance(60)

        assert env.state() == "Ready"


@pytest.mark.usefixtures("nominated_for_c1")
async def test_a_workload_whose_nominated_cluster_left_the_fleet_is_taken_back_when_it_is_given_up(env):
    async with env.beating(lost_timeout=900.0):
        await env.connected()
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        env.api.remove(cluster.ManagedCluster, "c1")
        env.select("c2")
        await advance(880)
        assert env.state() == "Ready"
        await advance(30)

        assert env.state() == "Retry"


async def test_a_nomination_that_arrives_after_its_cluster_was_unlisted_is_taken_back(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c2")
    env.check()

    async with env.beating():
        await env.connected()
        env.workload(nominated=["gpu-c1"])
        await settle()

        assert env.state() == "Retry"


@pytest.mark.usefixtures("two_clusters")
async def test_a_workload_that_runs_elsewhere_is_left_alone(env):
    env.workload(on="gpu-c2", checks=RUNNING)
    env.copy("c1", "other")

    async with env.beating(drain_timeout=10.0):
        await env.connected()
        env.select("c2")
        await advance(60)

        assert env.state() == "Ready"


# Retry: the drain timeout


@pytest.fixture
async def running_on_c1(env, two_clusters):
    env.workload(on="gpu-c1", checks=RUNNING)
    env.copy("c1", admitted=True)


@pytest.mark.usefixtures("running_on_c1")
async def test_without_a_timeout_a_running_workload_ends_where_it_runs(env):
    async with env.beating():
        await env.connected()
        env.select("c2")
        await advance(7200)

        assert env.state() == "Ready"


@pytest.mark.usefixtures("running_on_c1")
async def test_after_the_timeout_a_running_workload_is_taken_back_while_its_cluster_is_still_listed(env):
    async with env.beating(drain_timeout=300.0):
        await env.connected()
        env.select("c2")
        await advance(299)
        assert env.state() == "Ready"
        await advance(2)

        assert env.state() == "Retry"
        assert "the drain timeout has passed" in message(env)
        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_on_c1")
async def test_a_drain_that_began_before_a_restart_times_out_at_its_time(env):
    began = f"{clock.now() - timedelta(seconds=60):%Y-%m-%dT%H:%M:%S}"
    config = kueue.MultiKueueConfig.manifest(
        "gpu",
        labels={"app.kubernetes.io/managed-by": "fleetqueue"},
        annotations={DRAINING: f'{{"gpu-c1":"{began}"}}'},
        spec={"clusters": ["gpu-c1", "gpu-c2"]},
    )
    env.api.add(config)
    env.select("c2")
    labels = {"app.kubernetes.io/managed-by": "fleetqueue", "fleetqueue.dev/cluster": "c1"}
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
    spec = {"clusterSource": source}
    env.api.add(kueue.MultiKueueCluster.manifest("gpu-c1", labels=labels, spec=spec))
    env.connect("gpu-c1")

    async with env.beating(drain_timeout=90.0):
        await advance(29)
        assert env.state() == "Ready"
        await advance(2)

        assert env.state() == "Retry"


@pytest.mark.usefixtures("running_on_c1")
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda env: env.disconnect("gpu-c1"), id="Kueue is not connected"),
        pytest.param(lambda env: env.workers["c1"].cut(), id="it refuses us"),
        pytest.param(lambda env: env.workers["c1"].cut(silently=True), id="it is silent, and Kueue has not noticed"),
    ],
)
async def test_a_cluster_that_cannot_be_reached_keeps_its_work_beyond_the_timeout(env, loss):
    async with env.beating(drain_timeout=60.0):
        await env.connected()
        env.select("c2")
        loss(env)
        await advance(600)
        assert env.state() == "Ready"

        env.workers["c1"].heal()
        env.connect("gpu-c1")
        await advance(30)

        assert env.state() == "Retry"


@pytest.mark.usefixtures("running_on_c1")
async def test_a_cluster_that_is_selected_again_before_the_timeout_keeps_its_work(env):
    async with env.beating(drain_timeout=60.0):
        await env.connected()
        env.select("c2")
        await advance(50)
        env.select("c1", "c2")
        await advance(600)

        assert env.state() == "Ready"


# Who wakes it


@pytest.fixture
async def checks(env, follow):
    env.fleet("c1", "c2")
    env.check("ac", "gpu", active=True)
    ours = {"app.kubernetes.io/managed-by": "fleetqueue"}
    drain = {DRAINING: '{"gpu-c1":"2025-12-31T23:59:00Z"}'}
    spec = {"clusters": ["gpu-c1", "gpu-c2"]}
    env.api.add(
        kueue.MultiKueueConfig.manifest("gpu", labels=ours, annotations=drain, spec=spec),
        kueue.MultiKueueCluster.manifest("gpu-c1", labels=ours, spec=by_secret()),
        kueue.MultiKueueCluster.manifest("elsewhere", spec=by_secret()),
    )
    env.workload("drains", on="gpu-c1", checks=RUNNING)
    env.workload("runs", on="gpu-c2", checks=RUNNING)
    env.workload("asks", checks=ASKED)
    env.workload("other", checks={"other": "Pending"})
    heart = env.heart()
    await follow(*heart.controllers)
    await woken(heart.checks)
    return heart.checks


async def test_a_workload_wakes_itself(env, checks):
    env.change_workload("other", checks={"other": "Ready"})

    assert await woken(checks) == {"team-a/other"}


async def test_a_check_wakes_its_workloads(env, checks):
    env.api.change(kueue.AdmissionCheck, "ac", metadata={"labels": {"a": "b"}})

    assert await woken(checks) == {"team-a/drains", "team-a/runs", "team-a/asks"}


async def test_a_config_wakes_who_is_on_a_draining_cluster_and_who_waits(env, checks):
    env.api.change(kueue.MultiKueueConfig, "gpu", metadata={"labels": {"a": "b"}})

    assert await woken(checks) == {"team-a/drains", "team-a/asks"}


async def test_the_end_of_a_mark_wakes_who_was_on_that_cluster(env, checks):
    env.api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": {DRAINING: None}})

    assert "team-a/drains" in await woken(checks)


async def test_a_member_wakes_whom_its_connection_concerns(env, checks):
    env.connect("gpu-c1")

    assert await woken(checks) == {"gpu"}
    await checks.reconcile("gpu")
    assert await woken(checks) == {"team-a/drains", "team-a/asks"}


async def test_a_member_that_no_config_lists_wakes_nobody(env, checks):
    env.connect("elsewhere")

    assert await woken(checks) == set()


# Overlooked


@pytest.mark.usefixtures("two_clusters")
async def test_what_kueues_own_dispatcher_leaves_lying_is_touched_again(env):
    env.dispatcher(kueue.ALL_AT_ONCE)
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED)
        await settle()
        env.api.writes.clear()
        await advance(65)

        assert env.api.writes == [ANSWER, ANSWER]
        assert env.state() == "Ready"


@pytest.mark.usefixtures("two_clusters")
async def test_what_we_dispatch_ourselves_is_not_touched_again(env):
    async with env.beating():
        await env.connected()
        env.workload(checks=ASKED)
        await settle()
        env.api.writes.clear()
        await advance(55)

        assert env.api.writes == []


@pytest.mark.parametrize("dispatcher", [pytest.param(DISPATCHER_NAME, id="ours"), pytest.param(kueue.ALL_AT_ONCE)])
async def test_a_check_with_a_name_of_any_length_is_answered(env, dispatcher):
    name = ".".join(["c" * 60] * 4)
    env.fleet("c1", dispatcher=dispatcher)
    env.placement("gpu", "c1")
    env.check(name)

    async with env.beating():
        await env.connected()
        env.workload(checks={"mk": "Pending", name: "Pending"})
        await settle()

        assert env.state(name) == "Ready"
