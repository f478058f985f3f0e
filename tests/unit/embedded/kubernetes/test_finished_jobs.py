"""Jobs that ended are deleted when their time has come."""

import pytest

from fleetqueue import clock
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kubernetes.finished_jobs import FinishedJobController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}


async def finished(scene, kind="Complete", **spec):
    await scene.add(Job, "job", spec={"template": TEMPLATE, **spec})
    now = timestamp(clock.now())
    kinds = {"Complete": ("SuccessCriteriaMet", "Complete"), "Failed": ("FailureTarget", "Failed")}[kind]
    ends = [{"type": one, "status": "True", "lastTransitionTime": now} for one in kinds]
    times = {"startTime": now, "completionTime": now} if kind == "Complete" else {"startTime": now}
    await scene.set_status(Job, "job", conditions=ends, **times)
    await settle()


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
async def test_a_job_is_kept_for_as_long_as_it_asked(scene, kind):
    async with scene.running(FinishedJobController):
        await finished(scene, kind, ttlSecondsAfterFinished=60)
        await advance(59)
        assert await scene.get(Job, "job") is not None
        await advance(2)

        assert (await scene.get(Job, "job"))["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_job_that_did_not_ask_stays(scene):
    async with scene.running(FinishedJobController):
        await finished(scene)
        await advance(3600)

        assert scene.writes == []


async def test_a_job_that_runs_stays(scene):
    async with scene.running(FinishedJobController):
        await scene.add(Job, "job", spec={"template": TEMPLATE, "ttlSecondsAfterFinished": 0})
        await advance(3600)

        assert scene.writes == []


async def test_a_deletion_that_fails_is_tried_again(scene):
    async with scene.running(FinishedJobController):
        scene.fail_once("DELETE")
        await finished(scene, ttlSecondsAfterFinished=0)
        await advance(1)

        assert (await scene.get(Job, "job"))["metadata"]["deletionTimestamp"]
