"""Decide what is due for a CronJob: which time it has missed, whether a Job may start for it, which Jobs may go."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

from fleetqueue.api.batch_v1 import COMPLETE, FAILED, Job
from fleetqueue.api.conditions import is_true
from fleetqueue.api.cron_schedules import Schedule
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.embedded.kubernetes.cron_job_objects import CronJob

DELTA: Final = 0.1
"""Seconds that it looks later than its time, so that the clocks of others may differ a little."""
MANY: Final = 100
TOO_MANY: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
IS_RUNNING: Final = "Not starting job because prior execution is running and concurrency policy is Forbid"
SENSELESS: Final = "time difference between two schedules is less than 1 second"


class MissedCount(Enum):
    NONE = "none"
    FEW = "few"
    MANY = "many"


@dataclass(frozen=True, slots=True)
class MissedTimes:
    since: datetime
    """The last time that was served, or when the CronJob was made."""
    latest: datetime | None = None
    """The latest time since then that has passed."""
    count: MissedCount = MissedCount.NONE


@dataclass(frozen=True, slots=True)
class CronJobEvent:
    kind: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class CronJobPlan:
    start: datetime | None = None
    """For which time a Job is started."""
    replaces: bool = False
    """Whether the Jobs that run are deleted first."""
    events: Sequence[CronJobEvent] = ()
    look_again: float | None = None
    """Seconds until the next time; None where none comes."""


def decide(cron_job: CronJob, now: datetime) -> CronJobPlan:
    """Choose what to do now. No I/O: every branch is one row of a test table."""
    try:
        _ = cron_job.zone
    except (LookupError, ValueError):
        zone = cron_job.spec.time_zone
        return _said(WARNING, "UnknownTimeZone", f'invalid timeZone: "{zone}": unknown time zone {zone}')
    if cron_job.spec.suspend:
        return CronJobPlan()
    try:
        schedule = cron_job.timetable()
    except ValueError as error:
        return _said(WARNING, "UnparseableSchedule", f'unparseable schedule: "{cron_job.spec.schedule}" : {error}')
    try:
        missed = missed_times(cron_job, now, schedule, within_deadline=True)
    except ValueError as error:
        return _said(WARNING, "InvalidSchedule", f"invalid schedule: {cron_job.spec.schedule} : {error}")
    return _started(cron_job, now, schedule, missed)


def _said(kind: str, reason: str, note: str) -> CronJobPlan:
    return CronJobPlan(events=[CronJobEvent(kind, reason, note)])


def _started(cron_job: CronJob, now: datetime, schedule: Schedule, missed: MissedTimes) -> CronJobPlan:
    moment, again = missed.latest, seconds_to_next(cron_job, now, schedule)
    if moment is None:
        return CronJobPlan(look_again=again)
    events = [CronJobEvent(WARNING, "TooManyMissedTimes", TOO_MANY)] if missed.count is MissedCount.MANY else []
    active = cron_job.status.active
    if cron_job.status.last_schedule_time == moment or cron_job.job_name(moment) in {job.name for job in active}:
        return CronJobPlan(events=events, look_again=again)
    if cron_job.spec.concurrency_policy == "Forbid" and active:
        return CronJobPlan(events=[*events, CronJobEvent(NORMAL, "JobAlreadyActive", IS_RUNNING)], look_again=again)
    return CronJobPlan(moment, cron_job.spec.concurrency_policy == "Replace", events, again)


def missed_times(cron_job: CronJob, now: datetime, schedule: Schedule, *, within_deadline: bool) -> MissedTimes:
    """Return the latest time that has passed since the last one; raises ValueError where a schedule has no times.

    How many have passed is estimated from the distance of the first two, and the latest is looked for from there on,
    as upstream does it. A time beyond the deadline is not seen at all, so that none is ever said to be missed.
    """
    since = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    assert since is not None
    if within_deadline and cron_job.spec.starting_deadline_seconds is not None:
        since = max(since, now - timedelta(seconds=cron_job.spec.starting_deadline_seconds))
    first = schedule.next(since)
    if first is not None and now < first:
        return MissedTimes(since)
    second = schedule.next(first) if first is not None else None
    if first is not None and second is not None and now < second:
        return MissedTimes(since, first)
    distance = round((second - first).total_seconds()) if first is not None and second is not None else 0
    if first is None or distance < 1:
        raise ValueError(SENSELESS)
    number = int((now - first).total_seconds()) // distance + 1
    latest = _latest(schedule, first + timedelta(seconds=(number - 2) * distance), now)
    return MissedTimes(since, latest, MissedCount.MANY if number > MANY else MissedCount.FEW)


def _latest(schedule: Schedule, after: datetime, now: datetime) -> datetime | None:
    latest, moment = None, schedule.next(after)
    while moment is not None and moment <= now:
        latest, moment = moment, schedule.next(moment)
    return latest


def seconds_to_next(cron_job: CronJob, now: datetime, schedule: Schedule) -> float | None:
    """Return when the next time comes, and a little more; None where none does."""
    try:
        missed = missed_times(cron_job, now, schedule, within_deadline=False)
    except ValueError:
        after = now
    else:
        after = missed.latest or (missed.since if missed.count is MissedCount.NONE else now)
    moment = schedule.next(after)
    return (moment - now).total_seconds() + DELTA if moment is not None else None


def surplus_jobs(cron_job: CronJob, jobs: Iterable[Job]) -> list[Job]:
    """Return the Jobs that ended longest ago, beyond those that are kept."""
    ended = sorted((job for job in jobs if job.has_ended), key=_start)
    kept = (
        (COMPLETE, cron_job.spec.successful_jobs_history_limit),
        (FAILED, cron_job.spec.failed_jobs_history_limit),
    )
    surplus: list[Job] = []
    for kind, limit in kept:
        alike = [job for job in ended if is_true(job.status.conditions, kind)]
        surplus += alike[: max(len(alike) - limit, 0)] if limit is not None else []
    return [job for job in surplus if not job.is_deleting]


def _start(job: Job) -> tuple[bool, datetime | None, str]:
    started = job.status.start_time
    return started is None, started or datetime.min.replace(tzinfo=UTC), job.name
