"""A cluster that admits a Workload and refuses its job gives it back, where another cluster could take it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.controllers.placement_admission.refused_jobs import Admission, admission_of
from fleetqueue.controllers.placement_admission.workers import WorkloadCopy
from fleetqueue.testing.virtual_time import advance, settle

RETRY = "apply workloads/team-a/job/status"
NOTE = (
    "admitted on gpu-c1 since 2025-12-31T23:00:00Z, but its job was not created there: the log of Kueue on the hub says"
    " why; look at the webhooks of gpu-c1, and at what the job needs there"
)
TAKEN_BACK = "taken back from gpu-c1, which has admitted it and where its job could not be created; gpu-c2 is next"
RESET = {"mk": "Pending", "ac": "Pending"}


def copy(*, admitted=True, job=False):
    return WorkloadCopy("team-a/job", is_admitted=admitted, created=None, has_job=job)


@pytest.mark.parametrize(
    ("found", "seen_for", "nominated_for", "admission"),
    [
        pytest.param(None, 0, 600, Admission.OPEN, id="no copy"),
        pytest.param(copy(admitted=False), 0, 600, Admission.OPEN, id="not admitted"),
        pytest.param(copy(), 59, 600, Admission.BEING_RECORDED, id="just admitted"),
        pytest.param(copy(), 60, 299, Admission.LATE, id="late, as in a burst"),
        pytest.param(copy(), 60, 300, Admission.REFUSED, id="for too long"),
        pytest.param(copy(), 300, 300, Admission.REFUSED, id="from the beginning"),
        pytest.param(copy(job=True), 600, 600, Admission.BEING_RECORDED, id="its job is there"),
    ],
)
def test_how_far_a_cluster_has_come(found, seen_for, nominated_for, admission):
    judged = admission_of(found, is_connected=True, seen_for=seen_for, nominated_for=nominated_for, timeout=60.0)

    assert judged is admission


def test_a_cluster_that_kueue_does_not_reach_refuses_nothing():
    judged = admission_of(copy(), is_connected=False, seen_for=600, nominated_for=600, timeout=60.0)

    assert judged is Admission.BEING_RECORDED


@pytest.fixture
async def refused_on_c1(env):
    """The job is nominated for c1, which has admitted it, and lets nobody create it."""
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2", "c3")
    env.check()
    env.workload()
    env.copy("c1", admitted=True, job=False)


def times_taken_back(heart):
    registry = heart.dispatcher.metrics.registry
    return registry.get_sample_value("fleetqueue_taken_back_total", {"reason": "job refused"})


def evicted(env):
    """Let Kueue do what it does after Retry."""
    env.remove_copy("c1")
    env.change_workload(evicted=False, checks=RESET)


@pytest.mark.usefixtures("refused_on_c1")
async def test_it_is_taken_back_and_another_cluster_is_nominated(env):
    async with env.beating(nomination_timeout=60.0) as heart:
        await env.connected()
        await advance(295)
        assert env.state("ac") == "Ready"
        await advance(20)

        assert env.state("ac") == "Retry"
        assert env.nominated() == ["gpu-c1"]
        assert env.events("TakenBack") == [TAKEN_BACK]
        assert times_taken_back(heart) == 1
        evicted(env)
        await advance(10)

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("refused_on_c1")
async def test_nothing_is_nominated_while_its_copy_is_there(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(315)
        env.change_workload(quota=False, evicted=True, checks=RESET)
        await advance(60)
        assert env.nominated() == []
        evicted(env)
        await advance(10)

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("refused_on_c1")
async def test_that_its_job_is_late_is_said_before(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(110)
        assert env.events("WaitingForCluster") == []
        await advance(30)

        assert env.events("WaitingForCluster") == [NOTE]


@pytest.mark.usefixtures("refused_on_c1")
async def test_while_kueue_evicts_it_is_quiet(env):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(315)
        env.api.writes.clear()
        await advance(900)

        assert env.api.writes == []


@pytest.mark.usefixtures("refused_on_c1")
async def test_a_cluster_that_has_the_job_keeps_it_however_late_kueue_records_that(env):
    env.remove_copy("c1")
    env.copy("c1", admitted=True)

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(3600)

        assert env.state("ac") == "Ready"
        assert env.nominated() == ["gpu-c1"]
        assert env.events("WaitingForCluster") == []


@pytest.mark.usefixtures("refused_on_c1")
async def test_a_cluster_that_kueue_has_lost_is_waited_for(env):
    """Kueue could not remove the copy, and may create the job when it is connected again."""
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        env.disconnect("gpu-c1")
        await advance(600)

        assert env.state("ac") == "Ready"


@pytest.mark.usefixtures("refused_on_c1")
async def test_a_copy_that_is_admitted_late_has_its_time_and_is_found(env):
    """The hub shows nothing of it: where all are nominated, they are asked now and then."""
    env.remove_copy("c1")
    env.copy("c1")
    env.copy("c2")
    env.copy("c3")

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(600)
        env.remove_copy("c1")
        env.copy("c1", admitted=True, job=False)
        await advance(59)
        assert env.state("ac") == "Ready"
        await advance(320)

        assert env.events("TakenBack") == [TAKEN_BACK]


async def test_where_no_other_cluster_could_take_it_it_stays_and_says_so(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()
    env.workload()
    env.copy("c1", admitted=True, job=False)

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(400)
        assert env.state("ac") == "Ready"
        assert sorted(env.events("WaitingForCluster")) == [NOTE, f"{NOTE}; no other cluster could take it"]
        env.api.writes.clear()
        await advance(240)
        assert env.writes == []

        env.cluster("c2")
        env.select("c1", "c2")
        await env.connected()
        await advance(90)

        assert env.events("TakenBack") == [TAKEN_BACK]


async def test_without_a_placement_check_it_stays_and_says_so(env):
    """Its queue goes by a config that somebody wrote by hand."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.workload(checks={"mk": "Pending"})
    env.copy("c1", admitted=True, job=False)

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(400)

        note = f"{NOTE}; its ClusterQueue has no placement check with which it could be taken back"
        assert sorted(env.events("WaitingForCluster")) == [NOTE, note]


@pytest.mark.usefixtures("refused_on_c1")
@pytest.mark.parametrize("applied", [False, True], ids=["not written", "answer lost"])
async def test_a_write_that_fails_is_made_again_and_the_cluster_comes_last_all_the_same(env, applied):
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(280)
        env.api.fail_on(RETRY, errors.Unreachable("lost"), times=1, applied=applied)
        await advance(40)
        assert env.state("ac") == "Retry"
        evicted(env)
        await advance(10)

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("refused_on_c1")
async def test_a_winner_that_is_recorded_at_the_last_moment_stays(env):
    """What our process has read is old: the write is a conflict."""
    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        await advance(280)
        env.workers["c1"].seconds_per_request = 4.0
        await advance(18)
        env.change_workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
        await settle()
        await advance(60)

        assert env.state("ac") == "Ready"
        assert env.events("TakenBack") == []
