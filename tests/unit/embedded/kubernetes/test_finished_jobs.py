"""Jobs that ended are deleted when their time has come."""

import pytest

from fleetqueue import clock
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kubernetes.finished_jobs import FinishedJobController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}


async def finished(env, kind="Complete", **spec):
    await env.add(Job, "job", spec={"template": TEMPLATE, **spec})
    now = timestamp(clock.now())
    kinds = {"Complete": ("SuccessCriteriaMet", "Complete"), "Failed": ("FailureTarget", "Failed")}[kind]
    ends = [{"type": one, "status": "True", "lastTransitionTime": now} for one in kinds]
    times = {"startTime": now, "completionTime": now} if kind == "Complete" else {"startTime": now}
    await env.set_status(Job, "job", conditions=ends, **times)
    await settle()


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
async def test_a_job_is_kept_for_as_long_as_it_asked(env, kind):
    async with env.running(FinishedJobController):
        await finished(env, kind, ttlSecondsAfterFinished=60)
        await advance(59)
        assert await env.get(Job, "job") is not None
        await advance(2)

        assert (await env.get(Job, "job"))["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_job_that_did_not_ask_stays(env):
    async with env.running(FinishedJobController):
        await finished(env)
        await advance(3600)

        assert env.writes == []


async def test_a_job_that_runs_stays(env):
    async with env.running(FinishedJobController):
        await env.add(Job, "job", spec={"template": TEMPLATE, "ttlSecondsAfterFinished": 0})
        await advance(3600)

        assert env.writes == []


async def test_a_deletion_that_fails_is_tried_again(env):
    async with env.running(FinishedJobController):
        env.fail_once("DELETE")
        await finished(env, ttlSecondsAfterFinished=0)
        await advance(1)

        assert (await env.get(Job, "job"))["metadata"]["deletionTimestamp"]
