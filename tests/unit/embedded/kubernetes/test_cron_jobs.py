"""CronJobs start Jobs when their time comes, and say how it goes."""

from datetime import timedelta

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kubernetes.cron_job_objects import SCHEDULED, CronJob
from fleetqueue.embedded.kubernetes.cron_jobs import CronJobController
from fleetqueue.testing.virtual_time import START, advance, settle

pytestmark = pytest.mark.virtual_time

POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}
TEMPLATE = {"metadata": {"labels": {"app": "report"}}, "spec": {"template": {"spec": POD}}}
MINUTE_OF_START = int(START.timestamp()) // 60


def at(minute):
    return timestamp(START + timedelta(minutes=minute))


def job_name(minute):
    return f"report-{MINUTE_OF_START + minute}"


async def make(env, schedule="*/10 * * * *", **spec):
    made = await env.add(CronJob, "report", spec={"schedule": schedule, "jobTemplate": TEMPLATE, **spec})
    await settle()
    return made


async def status(env):
    return (await env.get(CronJob, "report")).get("status", {})


async def active(env):
    return [reference["name"] for reference in (await status(env)).get("active", ())]


async def end(env, name, kind="Complete"):
    done = timestamp(START + timedelta(hours=1))
    before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
    conditions = [{"type": one, "status": "True", "lastTransitionTime": done} for one in (before, kind)]
    times = {"startTime": done, **({"completionTime": done, "succeeded": 1} if kind == "Complete" else {})}
    await env.set_status(Job, name, conditions=conditions, **times)
    await settle()


async def test_a_job_starts_at_every_time(env):
    async with env.running(CronJobController):
        await make(env)
        await advance(9 * 60)
        assert await env.names(Job) == []
        await advance(12 * 60)

        assert await env.names(Job) == [job_name(10), job_name(20)]
        first = await env.get(Job, job_name(10))
        assert first["metadata"]["labels"]["app"] == "report"
        assert first["metadata"]["annotations"][SCHEDULED] == at(10)
        assert first["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
        assert await active(env) == [job_name(10), job_name(20)]
        assert (await status(env))["lastScheduleTime"] == at(20)
        assert await env.events("SuccessfulCreate") == [f"Created job {job_name(10)}", f"Created job {job_name(20)}"]


async def test_the_status_names_the_very_job(env):
    async with env.running(CronJobController):
        await make(env)
        await advance(601)

        job = (await env.get(Job, job_name(10)))["metadata"]
        assert (await status(env))["active"] == [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job["name"],
                "namespace": "default",
                "uid": job["uid"],
                "resourceVersion": job["resourceVersion"],
            }
        ]


async def test_a_job_that_has_ended_is_active_no_more(env):
    async with env.running(CronJobController):
        await make(env)
        await advance(1201)
        await end(env, job_name(10))
        await end(env, job_name(20), "Failed")

        assert await status(env) == {"lastScheduleTime": at(20), "lastSuccessfulTime": at(60)}
        assert await env.events("SawCompletedJob") == [
            f"Saw completed job: {job_name(10)}, condition: Complete",
            f"Saw completed job: {job_name(20)}, condition: Failed",
        ]


async def test_jobs_that_have_ended_are_kept_up_to_a_number(env):
    async with env.running(CronJobController):
        await make(env, "* * * * *", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
        await advance(181)
        for minute, kind in ((1, "Complete"), (2, "Complete"), (3, "Failed")):
            await end(env, job_name(minute), kind)

        assert await env.names(Job) == [job_name(2)]
        assert sorted(await env.events("SuccessfulDelete")) == [
            f"Deleted job {job_name(1)}",
            f"Deleted job {job_name(3)}",
        ]


async def test_one_job_at_a_time_where_the_policy_forbids_more(env):
    async with env.running(CronJobController):
        await make(env, concurrencyPolicy="Forbid")
        await advance(1201)
        assert await env.names(Job) == [job_name(10)]
        assert len(await env.events("JobAlreadyActive")) == 1
        await end(env, job_name(10))

        assert await active(env) == [job_name(20)]


async def test_a_job_replaces_the_one_that_runs(env):
    async with env.running(CronJobController):
        await make(env, concurrencyPolicy="Replace")
        await advance(1201)

        assert await env.names(Job) == [job_name(20)]
        assert await active(env) == [job_name(20)]
        assert await env.events("SuccessfulDelete") == [f"Deleted job {job_name(10)}"]


async def test_a_job_that_somebody_deleted_is_missed(env):
    async with env.running(CronJobController):
        await make(env)
        await advance(601)
        await env.delete(Job, job_name(10))
        await settle()

        assert await active(env) == []
        assert await env.events("MissingJob") == [f"Active job went missing: {job_name(10)}"]
        assert await env.names(Job) == []


async def test_suspended_it_starts_nothing_and_then_only_the_latest(env):
    async with env.running(CronJobController):
        await make(env, suspend=True)
        await advance(35 * 60)
        assert await env.names(Job) == []
        await env.change(CronJob, "report", spec={"suspend": False})
        await settle()

        assert await env.names(Job) == [job_name(30)]


async def test_another_schedule_counts_from_its_next_time(env):
    async with env.running(CronJobController):
        await make(env, "0 */2 * * *")
        await advance(61 * 60)
        await env.change(CronJob, "report", spec={"schedule": "*/30 * * * *"})
        await advance(60)
        assert await env.names(Job) == []
        await advance(30 * 60)

        assert await env.names(Job) == [job_name(90)]


async def test_a_time_zone_of_its_own(env):
    async with env.running(CronJobController):
        await make(env, "0 9 * * *", timeZone="Asia/Shanghai")
        await advance(3601)

        (name,) = await env.names(Job)
        assert name == job_name(60)
        annotations = (await env.get(Job, name))["metadata"]["annotations"]
        assert annotations[SCHEDULED] == "2026-01-01T09:00:00+08:00"


async def test_what_was_missed_while_nobody_looked_is_started_late(env):
    await make(env)
    await advance(25 * 60)

    async with env.running(CronJobController):
        assert await env.names(Job) == [job_name(20)]


async def test_one_that_is_being_deleted_starts_nothing(env):
    async with env.running(CronJobController):
        await env.add(
            CronJob, "report", spec={"schedule": "* * * * *", "jobTemplate": TEMPLATE}, finalizers=["example.com/keep"]
        )
        await env.delete(CronJob, "report")
        await advance(300)

        assert await env.names(Job) == []


async def test_a_job_that_it_did_not_start_is_told_of(env, owner_of):
    async with env.running(CronJobController):
        cron_job = await make(env)
        owners = [owner_of(cron_job, controller=True)]
        await env.add(Job, "by-hand", spec=TEMPLATE["spec"], owners=owners)
        await settle()

        assert await env.events("UnexpectedJob") == ["Saw a job that the controller did not create or forgot: by-hand"]
        assert await active(env) == []
        await env.delete(Job, "by-hand")  # it is told of at every look


async def test_a_job_whose_start_could_not_be_noted_is_taken_for_it(env):
    async with env.running(CronJobController):
        await make(env)
        env.fail_once("PATCH /apis/batch/v1/namespaces/default/cronjobs/report/status")
        await advance(605)

        assert await env.names(Job) == [job_name(10)]
        assert await active(env) == [job_name(10)]
        assert (await status(env))["lastScheduleTime"] == at(10)


async def test_a_name_that_a_stranger_took_is_left_alone(env):
    async with env.running(CronJobController):
        await make(env)
        await env.add(Job, job_name(10), spec=TEMPLATE["spec"])
        await advance(601)
        assert await active(env) == []
        await advance(600)

        assert await active(env) == [job_name(20)]


async def test_a_job_that_is_refused_is_tried_again(env):
    async with env.running(CronJobController):
        await make(env)
        env.refuse("POST /apis/batch/v1/namespaces/default/jobs")
        await advance(605)
        assert (await env.events("FailedCreate"))[0] == "Error creating job: exceeded quota"
        env.refuse("")
        await advance(60)

        assert await active(env) == [job_name(10)]


async def test_what_was_done_before_a_failure_is_noted(env):
    async with env.running(CronJobController):
        await make(env, concurrencyPolicy="Replace")
        await advance(700)
        env.refuse("POST /apis/batch/v1/namespaces/default/jobs")
        await advance(505)
        assert await active(env) == []
        env.refuse("")
        await advance(60)

        assert await active(env) == [job_name(20)]
        assert await env.events("MissingJob") == []


async def test_a_second_look_writes_nothing(env):
    async with env.running(CronJobController) as (controller,):
        await make(env)
        await advance(605)
        env.writes.clear()
        controller.wake("default/report")
        await settle()

        assert env.writes == []


async def test_without_cron_jobs_it_has_nothing_to_do(env):
    async with env.running(CronJobController) as (controller,):
        await env.add(Job, "alone", spec=TEMPLATE["spec"])
        await advance(3600)

        assert controller.queue.is_idle
        assert env.writes == []
