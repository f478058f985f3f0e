"""What the hub is told of the fields of an object: well-known ones of some kinds, or those that paths lead to.

Mirrors: OCM work/spoke/statusfeedback
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api import json_paths
from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.scheme import Manifest

SYNCED: Final = "StatusFeedbackSynced"
_WELL_KNOWN: Final[dict[tuple[str, str], tuple[tuple[str, str], ...]]] = {
    ("apps/v1", "Deployment"): (
        ("ReadyReplicas", ".status.readyReplicas"),
        ("Replicas", ".status.replicas"),
        ("AvailableReplicas", ".status.availableReplicas"),
    ),
    ("apps/v1", "DaemonSet"): (
        ("NumberReady", ".status.numberReady"),
        ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
        ("NumberAvailable", ".status.numberAvailable"),
    ),
    ("batch/v1", "Job"): (
        ("JobComplete", '.status.conditions[?(@.type=="Complete")].status'),
        ("JobSucceeded", ".status.succeeded"),
    ),
    ("v1", "Pod"): (
        ("PodReady", '.status.conditions[?(@.type=="Ready")].status'),
        ("PodPhase", ".status.phase"),
    ),
}


def feedback(obj: Manifest, rules: Sequence[work.FeedbackRule]) -> tuple[list[Manifest], Condition]:
    """Return the values that the rules ask for, and how that went."""
    if not rules:
        return [], Condition(type=SYNCED, status=TRUE, reason="NoStatusFeedbackSynced")
    values: list[Manifest] = []
    problems: list[str] = []
    for rule in rules:
        wrong: list[str] = []
        values += _values(obj, rule, wrong)
        problems += [_aggregate(wrong)] if wrong else []
    if problems:
        message = f"Sync status feedback failed with error {_aggregate(problems)}"
        return values, Condition(type=SYNCED, status=FALSE, reason="StatusFeedbackSyncFailed", message=message)
    return values, Condition(type=SYNCED, status=TRUE, reason="StatusFeedbackSynced")


def _values(obj: Manifest, rule: work.FeedbackRule, wrong: list[str]) -> Iterable[Manifest]:
    for path in _paths(obj, rule, wrong):
        try:
            value = _value(path, obj)
        except ValueError as error:
            wrong.append(str(error))
            continue
        if value is not None:
            yield value


def _paths(obj: Manifest, rule: work.FeedbackRule, wrong: list[str]) -> Iterable[work.JsonPath]:
    group, _, version = obj["apiVersion"].rpartition("/")
    if rule.type == "WellKnownStatus":
        known = _WELL_KNOWN.get((obj["apiVersion"], obj["kind"]), ())
        if not known:
            what = f"{group}/{version}, Kind={obj['kind']}"
            wrong.append(f"cannot find the wellknown statuses for resource with gvk {what}")
        yield from (work.JsonPath(name=name, path=path) for name, path in known)
        return
    for path in rule.json_paths if rule.type == "JSONPaths" else ():
        if path.version and path.version != version:
            wrong.append(f"version set in the path {path.name} is not matched for the related resource")
        else:
            yield path


def _value(path: work.JsonPath, obj: Manifest) -> Manifest | None:
    """Return the first thing that a path leads to, None where there is nothing; raises ValueError."""
    try:
        matches = json_paths.find(path.path, obj)
    except ValueError as error:
        raise ValueError(f"failed to parse json path {path.path} of {path.name} with error: {error}") from None
    if not matches or matches[0] is None:
        return None
    return {"name": path.name, "fieldValue": _field_value(path.name, matches[0])}


def _field_value(name: str, value: Any) -> Manifest:
    if isinstance(value, bool):
        return {"type": "Boolean", "boolean": value}
    if isinstance(value, int):
        return {"type": "Integer", "integer": value}
    if isinstance(value, str):
        return {"type": "String", "string": value}
    types = {float: "float64", dict: "map[string]interface {}", list: "[]interface {}"}
    raise ValueError(f"the type {types[type(value)]} of the value for {name} is not found")


def _aggregate(problems: Sequence[str]) -> str:
    """Tell of several problems as Go does: each once."""
    unique_problems = list(dict.fromkeys(problems))
    return unique_problems[0] if len(unique_problems) == 1 else f"[{', '.join(unique_problems)}]"
