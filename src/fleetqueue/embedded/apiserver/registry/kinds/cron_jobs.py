"""CronJobs: their defaults, and the rules for schedules and time zones."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api import cron_schedules
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import filled, within
from fleetqueue.embedded.apiserver.registry.kinds.job_rules import spec_faults
from fleetqueue.embedded.apiserver.registry.kinds.jobs import template_default
from fleetqueue.embedded.apiserver.registry.strategy import Strategy

POLICIES: Final = ("Allow", "Forbid", "Replace")
LONGEST_NAME: Final = 52
"""The Jobs that it makes have eleven letters more."""
_DEFAULTS: Final[Manifest] = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}


def default(cron_job: Manifest) -> Manifest:
    return within(cron_job, "spec", _spec)


def _spec(spec: Manifest) -> Manifest:
    return within(filled(spec, _DEFAULTS), "jobTemplate", lambda template: within(template, "spec", template_default))


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec, name = new["spec"], new["metadata"]["name"]
    problems = list(_spec_faults(spec, ((old or {}).get("spec") or {}).get("timeZone")))
    if old is None and len(name) > LONGEST_NAME:
        problems.append(invalid_value("metadata.name", name, f"must be no more than {LONGEST_NAME} characters"))
    return problems


def _spec_faults(spec: Manifest, zone_before: str | None) -> Faults:
    if not spec.get("schedule"):
        yield required("spec.schedule")
    else:
        yield from _schedule_faults(spec["schedule"])
    yield from checks.non_negative(spec, "spec", "startingDeadlineSeconds")
    if spec.get("timeZone") != zone_before and spec.get("timeZone") is not None:
        yield from _zone_faults(spec["timeZone"])
    yield from checks.demanded(spec, "concurrencyPolicy", "spec", POLICIES)
    yield from spec_faults((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    yield from checks.non_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule_faults(schedule: str) -> Faults:
    if "TZ" in schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid_value("spec.schedule", schedule, detail)
        return
    try:
        cron_schedules.parse(schedule)
    except ValueError as error:
        yield invalid_value("spec.schedule", schedule, str(error))


def _zone_faults(zone: str) -> Faults:
    import zoneinfo  # few CronJobs name a zone

    if not zone:
        yield invalid_value("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid_value("spec.timeZone", zone, detail)
    elif zone not in zoneinfo.available_timezones():
        yield invalid_value("spec.timeZone", zone, f"unknown time zone {zone}")


STRATEGY: Final = Strategy(default=default, faults=faults)
