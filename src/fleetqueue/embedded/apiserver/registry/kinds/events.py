"""Events: two APIs of one store. They are stored as core/v1; events.k8s.io/v1 is converted to it."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import path_segment, qualified_name
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.strategy import Strategy

PLACE: Final = ("", "events")
OLD_VERSION, NEW_VERSION = "v1", "events.k8s.io/v1"
NAMES: Final = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""The fields that have other names, from events.k8s.io/v1 to core/v1."""
OLD_NAMES: Final = {old: new for new, old in NAMES.items()}
FIXED: Final = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
ZEROS: Final[Manifest] = {"count": 0, **dict.fromkeys(("reason", "message", "type", "action"), "")}
ANYWHERE: Final = ("default", "kube-system")
LONGEST: Final = {"reportingInstance": 128, "action": 128, "reason": 128}
LONGEST_NOTE: Final = 1024


def to_store(event: Manifest) -> Manifest:
    """Return an event of events.k8s.io/v1 as one of core/v1."""
    after = {NAMES.get(name, name): value for name, value in event.items()}
    return {"reportingComponent": "", "reportingInstance": "", **after, "apiVersion": OLD_VERSION}


def from_store(event: Manifest) -> Manifest:
    after = {OLD_NAMES.get(name, name): value for name, value in event.items()}
    for name in ("reportingController", "reportingInstance"):
        if after.get(name) == "":
            del after[name]
    return {**after, "apiVersion": NEW_VERSION}


def old_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return list(_common_faults(new, "reportingComponent"))


def new_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    """Return what is wrong with an event of events.k8s.io/v1; fields have their names of core/v1, as upstream."""
    event = to_store(new)
    problems = list(_common_faults(event, "reportingController"))
    if old is None:
        return [*problems, *_series_faults(event), *_strict_faults(event)]
    before = to_store(old)
    if event.get("series") != before.get("series"):
        problems += _series_faults(event)
    for name in FIXED:
        if event.get(name) != before.get(name):
            field = OLD_NAMES[name] if name == "reportingComponent" else name
            problems.append(invalid_value(field, event.get(name, ZEROS.get(name)), checks.IMMUTABLE))
    return problems


def _common_faults(event: Manifest, controller: str) -> Faults:
    namespace, about = event["metadata"].get("namespace", ""), event.get("involvedObject") or {}
    place = about.get("namespace", "")
    field, mismatch = "involvedObject.namespace", "does not match event.namespace"
    if not event.get("eventTime"):
        if place != namespace and not (not place and namespace == "default"):
            yield invalid_value(field, place, mismatch)
        return
    if not place and namespace not in ANYWHERE:
        yield invalid_value(field, place, mismatch)
    who = event.get("reportingComponent", "")
    if not who:
        yield required(controller)
    yield from (invalid_value(controller, who, why) for why in qualified_name(who))
    for name, limit in LONGEST.items():
        value = event.get(name, "")
        if not value:
            yield required(name)
        elif len(value) > limit:
            yield invalid_value(name, "", f"can have at most {limit} characters")
    if len(event.get("message", "")) > LONGEST_NOTE:
        yield invalid_value("message", "", f"can have at most {LONGEST_NOTE} characters")


def _series_faults(event: Manifest) -> Faults:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid_value("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _strict_faults(event: Manifest) -> Faults:
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid_value("type", "", f"has invalid value: {event.get('type', '')}")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(name):
            yield invalid_value(name, "", "needs to be unset")


OLD: Final = Strategy(faults=old_faults, name_rule=path_segment)
NEW: Final = Strategy(faults=new_faults)
