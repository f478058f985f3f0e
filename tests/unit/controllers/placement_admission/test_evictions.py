"""An eviction that Kueue leaves unfinished is finished, once no cluster has a copy of the job."""

from datetime import UTC, datetime

import pytest

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fence import LOST_WORKER
from fleetqueue.api.fleetqueue import GIVEN_UP
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.controllers.placement_admission.evictions import lacking
from fleetqueue.testing.builders import condition, pod_template
from fleetqueue.testing.virtual_time import advance

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SINCE = timestamp(NOW)
RESET = {"mk": "Pending", "ac": "Pending"}
"""How the checks stand after an eviction."""
STATUS_WRITE = "patch jobs/team-a/job/status"
RESUMED = condition("Suspended", False, "JobResumed", since=SINCE)
SUSPENDED = condition("Suspended", True, "JobSuspended", since=SINCE)
COUNTED = condition("SuccessCriteriaMet", False, since=SINCE)


def job_manifest(
    *, suspend=True, managed_by=kueue.MULTIKUEUE_CONTROLLER, active=1, started=SINCE, conditions=(RESUMED,)
):
    spec = {"suspend": suspend, "managedBy": managed_by, "template": pod_template()}
    status = {"active": active, "ready": active, "conditions": list(conditions)}
    if started:
        status["startTime"] = started
    return Job.manifest("job", "team-a", spec=spec, status=status)


# What a Job lacks


def test_a_job_that_was_stopped_gets_what_its_status_lacks():
    status = lacking(job_manifest(conditions=(COUNTED, RESUMED)), NOW)

    suspended = status["conditions"][1]
    assert (status["active"], status["ready"], status["terminating"]) == (0, 0, 0)
    assert status["conditions"][0] == COUNTED
    assert (suspended["type"], suspended["status"], suspended["lastTransitionTime"]) == ("Suspended", "True", SINCE)


@pytest.mark.parametrize(
    ("job", "lacks"),
    [
        pytest.param({}, True, id="counts pods and says that it runs"),
        pytest.param({"active": 0}, True, id="says that it runs"),
        pytest.param({"conditions": (SUSPENDED,)}, True, id="counts pods"),
        pytest.param({"active": 0, "conditions": (SUSPENDED,)}, False, id="says all"),
        pytest.param({"active": 0, "started": "", "conditions": ()}, False, id="it was never started"),
        pytest.param({"suspend": False}, False, id="not stopped by Kueue yet"),
        pytest.param({"managed_by": ""}, False, id="not MultiKueue's"),
        pytest.param({"conditions": ({"type": "Complete", "status": "True"},)}, False, id="complete"),
        pytest.param({"conditions": ({"type": "Failed", "status": "True"},)}, False, id="failed"),
    ],
)
def test_what_a_job_lacks(job, lacks):
    assert bool(lacking(job_manifest(**job), NOW)) == lacks


# What the controller does


@pytest.fixture
async def evicted(env):
    """A job that ran on c1; its copy is gone, and Kueue has stopped it on the hub."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.api.add(job_manifest())
    uid = env.api.get(Job, "job", "team-a").uid
    env.workload(checks=RESET, evicted=True, owner="Job", owner_uid=uid)


def counted(env):
    return env.api.get(Job, "job", "team-a").status.active


@pytest.mark.usefixtures("evicted")
async def test_the_job_gets_its_last_status_and_the_user_a_reason(env):
    async with env.beating() as heart:
        await advance(6)

        assert counted(env) == 0
        assert "no cluster has a copy any more" in env.events("EvictionFinished")[0]
        assert heart.evictions.admission_metrics.evictions_finished._value.get() == 1


@pytest.fixture
async def deleted(env):
    """A job that ran on c1, whose Workload somebody deletes; Kueue has stopped it on the hub."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.api.add(job_manifest())
    uid = env.api.get(Job, "job", "team-a").uid
    env.workload(checks={"mk": "Ready", "ac": "Ready"}, on="gpu-c1", owner="Job", owner_uid=uid, deleting=True)


@pytest.mark.usefixtures("deleted")
async def test_a_job_whose_workload_is_deleted_gets_its_last_status_once_no_cluster_has_a_copy(env):
    env.copy("c1")

    async with env.beating():
        await advance(60)
        assert counted(env) == 1
        env.remove_copy("c1")
        await advance(12)

        assert counted(env) == 0
        assert "queue the Job again" in env.events("EvictionFinished")[0]


@pytest.mark.usefixtures("deleted")
async def test_no_cluster_is_given_up_for_a_workload_that_is_deleted(env):
    env.workers["c1"].cut()

    async with env.beating():
        await advance(7200)
        assert counted(env) == 1
        env.workers["c1"].heal()
        await advance(60)

        assert counted(env) == 0


@pytest.mark.usefixtures("evicted")
async def test_the_second_time_it_is_quiet(env):
    async with env.beating():
        await advance(6)
        assert STATUS_WRITE in env.writes
        env.api.writes.clear()
        await advance(600)

        assert STATUS_WRITE not in env.writes


@pytest.mark.usefixtures("evicted")
async def test_a_copy_is_waited_for(env):
    env.copy("c2")

    async with env.beating():
        await advance(60)
        assert counted(env) == 1
        env.remove_copy("c2")
        await advance(12)

        assert counted(env) == 0


@pytest.mark.usefixtures("evicted")
async def test_a_cluster_that_cannot_be_asked_is_waited_for(env):
    env.workers["c2"].cut()

    async with env.beating():
        await advance(60)
        assert counted(env) == 1
        assert "gpu-c2 cannot be asked" in env.events("WaitingForCluster")[0]
        env.workers["c2"].heal()
        await advance(30)

        assert counted(env) == 0


@pytest.mark.usefixtures("evicted")
@pytest.mark.parametrize("policy", ["wait", "fence"])
async def test_of_a_job_that_must_not_run_twice_it_is_ended_while_the_cluster_does_not_answer(env, policy):
    """Our dispatcher starts it nowhere else, and it can go on where it is."""
    env.api.change(kueue.Workload, "job", "team-a", metadata={"annotations": {LOST_WORKER: policy}})
    env.workers["c2"].cut()

    async with env.beating():
        await advance(30)

        assert counted(env) == 0
        assert env.nominated() == []
        assert any("it can go on there when it answers" in note for note in env.events("EvictionFinished"))


@pytest.mark.usefixtures("evicted")
async def test_under_another_dispatcher_it_is_not_ended_before_the_cluster_answers(env):
    env.api.change(kueue.Workload, "job", "team-a", metadata={"annotations": {LOST_WORKER: "wait"}})
    env.api.change(core.ConfigMap, CONFIG_MAP, "kueue-system", data={CONFIG_KEY: "multiKueue: {}"})
    env.workers["c2"].cut()

    async with env.beating():
        await advance(60)

        assert counted(env) == 1


@pytest.mark.usefixtures("evicted")
async def test_a_cluster_that_was_given_up_unasked_is_named(env):
    env.change_workload(on="gpu-c2", checks={"mk": "Ready", "ac": "Ready"})
    env.workers["c2"].cut()

    async with env.beating():
        env.select("c1")
        env.change_workload(checks=RESET, evicted=True)
        await advance(60)
        assert counted(env) == 1
        env.api.change(kueue.MultiKueueCluster, "gpu-c2", metadata={"annotations": {GIVEN_UP: "true"}})
        await advance(30)

        assert counted(env) == 0
        (note,) = env.events("EvictionFinished")
        assert note.startswith(
            "no cluster that answers has a copy any more (gpu-c2: given up unasked, the job may still"
        )


@pytest.mark.usefixtures("evicted")
async def test_kueue_has_a_few_seconds_to_end_it_itself(env):
    env.change_workload(checks=RESET)

    async with env.beating():
        env.change_workload(checks=RESET, evicted=True, evicted_since=timestamp(clock.now()))
        await advance(4)
        assert counted(env) == 1
        await advance(2)

        assert counted(env) == 0


@pytest.mark.usefixtures("evicted")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"evicted": False}, id="with quota again"),
        pytest.param({"evicted": True, "quota": False}, id="the eviction has ended"),
        pytest.param({"evicted": True, "finished": True}, id="finished"),
        pytest.param({"evicted": True, "checks": {"ac": "Pending"}}, id="no MultiKueue check"),
    ],
)
async def test_other_workloads_are_left_alone(env, change):
    env.change_workload(**{"checks": RESET, **change})

    async with env.beating():
        await advance(60)

        assert counted(env) == 1


@pytest.mark.usefixtures("evicted")
@pytest.mark.parametrize(
    ("dispatcher", "left"),
    [("fleetqueue.dev/dispatcher", 0), ("kueue.x-k8s.io/multikueue-dispatcher-all-at-once", 1)],
    ids=["ours: Kueue has no way out", "Kueue's own: it nominates again"],
)
async def test_a_workload_without_a_check_of_ours_is_finished_where_we_dispatch(env, dispatcher, left):
    env.dispatcher(dispatcher)
    env.change_workload(checks={"mk": "Pending"}, evicted=True)

    async with env.beating():
        await advance(60)

        assert counted(env) == left


@pytest.mark.usefixtures("evicted")
async def test_a_job_of_the_same_name_that_came_later_is_left_alone(env):
    env.api.remove(Job, "job", "team-a")
    env.api.add(job_manifest())

    async with env.beating():
        await advance(60)

        assert counted(env) == 1


@pytest.mark.usefixtures("evicted")
async def test_a_job_that_is_gone_needs_nothing(env):
    env.api.remove(Job, "job", "team-a")

    async with env.beating():
        await advance(60)

        assert STATUS_WRITE not in env.writes


@pytest.mark.usefixtures("evicted")
async def test_of_other_kinds_the_user_learns_what_to_do(env):
    env.api.remove(kueue.Workload, "job", "team-a")
    env.workload(checks=RESET, evicted=True, owner="RayJob")

    async with env.beating():
        await advance(6)

        assert "Kueue still waits for RayJob job to stop" in env.events("EvictionStuck")[0]


@pytest.mark.usefixtures("evicted")
async def test_without_the_config_nobody_knows_where_to_look(env):
    env.api.change(kueue.AdmissionCheck, "mk", spec={"parameters": {"name": "missing"}})

    async with env.beating():
        await advance(60)

        assert counted(env) == 1


@pytest.mark.usefixtures("evicted")
async def test_a_write_that_failed_is_tried_again(env):
    env.api.fail_on(STATUS_WRITE, errors.Conflict("the Job changed meanwhile"), times=1)

    async with env.beating():
        await advance(12)

        assert counted(env) == 0
