"""What is due for a CronJob, decided from what is seen: every branch is a row."""

from datetime import timedelta

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kubernetes.cron_job_objects import SCHEDULED, CronJob, job_manifest
from fleetqueue.embedded.kubernetes.cron_job_plan import decide, surplus_jobs
from fleetqueue.testing.virtual_time import START

MINUTE, HOUR = 60, 3600
RUNNING = {"name": "nightly-1", "namespace": "default", "uid": "running"}


def at(seconds):
    return timestamp(START + timedelta(seconds=seconds))


def a_cron_job(schedule="*/10 * * * *", last=None, active=(), **spec):
    """Make one that is there since midnight."""
    status = {"active": list(active), **({"lastScheduleTime": at(last)} if last is not None else {})}
    metadata = {"name": "nightly", "namespace": "default", "uid": "u", "creationTimestamp": at(0)}
    return CronJob.view({"metadata": metadata, "spec": {"schedule": schedule, **spec}, "status": status})


def decided(cron_job, seconds):
    return decide(cron_job, START + timedelta(seconds=seconds))


def seconds_of(moment):
    return (moment - START).total_seconds() if moment is not None else None


@pytest.mark.parametrize(
    ("cron_job", "now", "start"),
    [
        pytest.param(a_cron_job(), 599, None, id="its first time has not come"),
        pytest.param(a_cron_job(), 600.1, 600, id="its first time"),
        pytest.param(a_cron_job(last=600), 700, None, id="its time was served"),
        pytest.param(a_cron_job(last=600), 1300, 1200, id="the next one"),
        pytest.param(a_cron_job(), 35 * MINUTE, 1800, id="of several that were missed, the latest"),
        pytest.param(a_cron_job("30 6-16/4 * * *"), 15 * HOUR, 14.5 * HOUR, id="also where they are not evenly apart"),
        pytest.param(a_cron_job("@every 7m"), 16 * MINUTE, 14 * MINUTE, id="an interval counts from the beginning"),
        pytest.param(a_cron_job(suspend=True), 700, None, id="suspended"),
        pytest.param(a_cron_job(startingDeadlineSeconds=200), 700, 600, id="late, and within its deadline"),
        pytest.param(a_cron_job(startingDeadlineSeconds=50), 700, None, id="too late"),
        pytest.param(a_cron_job(active=[RUNNING]), 700, 600, id="beside another"),
        pytest.param(a_cron_job(active=[RUNNING], concurrencyPolicy="Forbid"), 700, None, id="not beside another"),
        pytest.param(a_cron_job(concurrencyPolicy="Forbid"), 700, 600, id="alone"),
        pytest.param(a_cron_job(active=[RUNNING], concurrencyPolicy="Replace"), 700, 600, id="instead of another"),
        pytest.param(
            a_cron_job(active=[{**RUNNING, "name": f"nightly-{int(START.timestamp()) // 60 + 10}"}]),
            700,
            None,
            id="its Job runs already, only the time was not noted",
        ),
        pytest.param(a_cron_job("0 9 * * *", timeZone="Asia/Shanghai"), 3700, 3600, id="in its own time zone"),
        pytest.param(a_cron_job("0 0 30 2 *"), 700, None, id="never"),
        pytest.param(a_cron_job("* 3 * * *"), 12 * HOUR, None, id="as upstream, none where the estimate fails"),
    ],
)
def test_for_which_time_a_job_starts(cron_job, now, start):
    assert seconds_of(decided(cron_job, now).start) == start


@pytest.mark.parametrize(
    ("cron_job", "now", "event"),
    [
        pytest.param(a_cron_job(), 700, "", id="nothing to say"),
        pytest.param(
            a_cron_job("* * * * *"),
            3 * HOUR,
            "Warning TooManyMissedTimes: too many missed start times. Set or decrease"
            " .spec.startingDeadlineSeconds or check clock skew",
            id="many were missed",
        ),
        pytest.param(a_cron_job("* * * * *", startingDeadlineSeconds=300), 3 * HOUR, "", id="but few count"),
        pytest.param(
            a_cron_job(active=[RUNNING], concurrencyPolicy="Forbid"),
            700,
            "Normal JobAlreadyActive: Not starting job because prior execution is running and"
            " concurrency policy is Forbid",
            id="another runs",
        ),
        pytest.param(
            a_cron_job("0 0 30 2 *"),
            700,
            "Warning InvalidSchedule: invalid schedule: 0 0 30 2 * : time difference between two schedules is"
            " less than 1 second",
            id="never",
        ),
        pytest.param(
            a_cron_job("x * * * *"),
            700,
            'Warning UnparseableSchedule: unparseable schedule: "x * * * *" : failed to parse int from x:'
            ' strconv.Atoi: parsing "x": invalid syntax',
            id="no schedule",
        ),
        pytest.param(
            a_cron_job(timeZone="No/Where"),
            700,
            'Warning UnknownTimeZone: invalid timeZone: "No/Where": unknown time zone No/Where',
            id="no time zone",
        ),
    ],
)
def test_what_is_said(cron_job, now, event):
    told = [f"{event.kind} {event.reason}: {event.note}" for event in decided(cron_job, now).events]

    assert told == ([event] if event else [])


@pytest.mark.parametrize(
    ("cron_job", "now", "wait"),
    [
        pytest.param(a_cron_job(), 590, 10.1, id="until its first time, and a little more"),
        pytest.param(a_cron_job(), 700, 500.1, id="until the next one"),
        pytest.param(a_cron_job(startingDeadlineSeconds=50), 700, 500.1, id="also after a time that was missed"),
        pytest.param(a_cron_job("* 3 * * *"), 12 * HOUR, 15 * HOUR + 0.1, id="from now, where the estimate fails"),
        pytest.param(a_cron_job(suspend=True), 700, None, id="a change wakes it"),
        pytest.param(a_cron_job("0 0 30 2 *"), 700, None, id="no time comes"),
    ],
)
def test_when_it_is_looked_at_again(cron_job, now, wait):
    assert decided(cron_job, now).look_again == (pytest.approx(wait) if wait is not None else None)


def test_only_replace_deletes_what_runs():
    plans = {policy: decided(a_cron_job(concurrencyPolicy=policy), 700) for policy in ("Allow", "Forbid", "Replace")}

    assert {policy: plan.replaces for policy, plan in plans.items()} == {
        "Allow": False,
        "Forbid": False,
        "Replace": True,
    }


def an_ended_job(name, kind, started=None):
    status = {"conditions": [{"type": kind, "status": "True"}], **({"startTime": at(started)} if started else {})}
    return Job.view({"metadata": {"name": name, "namespace": "default", "uid": name}, "status": status})


JOBS = [
    an_ended_job("b", "Complete", started=20),
    an_ended_job("a", "Complete", started=30),
    an_ended_job("c", "Complete", started=10),
    an_ended_job("e", "Failed", started=5),
    an_ended_job("d", "Failed", started=5),
    an_ended_job("f", "Failed"),
    an_ended_job("runs", "Suspended", started=1),
]


@pytest.mark.parametrize(
    ("limits", "surplus"),
    [
        pytest.param({}, [], id="all are kept"),
        pytest.param({"successfulJobsHistoryLimit": 2}, ["c"], id="those that started first go first"),
        pytest.param({"successfulJobsHistoryLimit": 0}, ["c", "b", "a"], id="none is kept"),
        pytest.param({"failedJobsHistoryLimit": 1}, ["d", "e"], id="then by name, and last what has no start"),
        pytest.param({"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3}, [], id="none is too many"),
    ],
)
def test_which_jobs_are_too_many(limits, surplus):
    assert [job.name for job in surplus_jobs(a_cron_job(**limits), JOBS)] == surplus


def test_the_job_of_a_moment():
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"parallelism": 2}}
    cron_job = a_cron_job(jobTemplate=template, timeZone="Asia/Shanghai")

    assert job_manifest(cron_job, START) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"nightly-{int(START.timestamp()) // 60}",
            "namespace": "default",
            "labels": {"a": "b"},
            "annotations": {"c": "d", SCHEDULED: "2026-01-01T08:00:00+08:00"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "nightly",
                    "uid": "u",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"parallelism": 2},
    }


def test_the_moment_is_written_in_utc_where_there_is_no_zone():
    annotations = job_manifest(a_cron_job(), START)["metadata"]["annotations"]

    assert annotations == {SCHEDULED: "2026-01-01T00:00:00Z"}
