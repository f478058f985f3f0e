"""Rows of what runs pods: jobs, deployments and their like."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age, human, parsed
from fleetqueue.embedded.apiserver.http.printing.columns import Printer, columns
from fleetqueue.embedded.apiserver.http.printing.wording import (
    NONE,
    UNKNOWN,
    UNSET,
    at,
    capital,
    containers,
    created,
    items,
    labels,
    name_of,
    selector,
)

TEMPLATE: Final = "|Containers*|Images*|Selector*"
JOB_STATES: Final = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
"""Conditions of a job and what each is called, the weightiest first; the one without a name is its deletion."""


def _template(obj: Manifest) -> list[str]:
    return containers(at(obj, "spec", "template", "spec"))


def _status(obj: Manifest, name: str) -> int:
    return int(at(obj, "status", name) or 0)


def job(obj: Manifest, now: datetime) -> list[Any]:
    wide = [*_template(obj), selector(at(obj, "spec", "selector"))]
    shown = [name_of(obj), _job_state(obj), _completions(obj), _duration(obj, now), age(created(obj), now)]
    return [*shown, *wide]


def _job_state(obj: Manifest) -> str:
    for kind, state in JOB_STATES:
        if is_true(obj, kind) if kind else obj["metadata"].get("deletionTimestamp"):
            return state
    return "Running"


def _completions(obj: Manifest) -> str:
    done, wanted = _status(obj, "succeeded"), at(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    at_once = int(at(obj, "spec", "parallelism") or 0)
    return f"{done}/1 of {at_once}" if at_once > 1 else f"{done}/1"


def _duration(obj: Manifest, now: datetime) -> str:
    start = parsed(at(obj, "status", "startTime"))
    if start is None:
        return ""
    end = parsed(at(obj, "status", "completionTime")) or now
    return human((end - start).total_seconds())


def cron_job(obj: Manifest, now: datetime) -> list[Any]:
    spec, last = obj.get("spec") or {}, at(obj, "status", "lastScheduleTime")
    inner = at(spec, "jobTemplate", "spec")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        capital(spec.get("suspend")),
        len(items(obj, "status", "active")),
        age(last, now) if last else NONE,
        age(created(obj), now),
        *containers(at(inner, "template", "spec")),
        selector(at(inner, "selector")),
    ]


def deployment(obj: Manifest, now: datetime) -> list[Any]:
    ready = f"{_status(obj, 'readyReplicas')}/{at(obj, 'spec', 'replicas') or 0}"
    counts = [_status(obj, "updatedReplicas"), _status(obj, "availableReplicas")]
    wide = [*_template(obj), selector(at(obj, "spec", "selector"), "")]
    return [name_of(obj), ready, *counts, age(created(obj), now), *wide]


def replica_set(obj: Manifest, now: datetime) -> list[Any]:
    return [*_replicas(obj, now), *_template(obj), selector(at(obj, "spec", "selector"))]


def replication_controller(obj: Manifest, now: datetime) -> list[Any]:
    return [*_replicas(obj, now), *_template(obj), labels(at(obj, "spec", "selector"))]


def _replicas(obj: Manifest, now: datetime) -> list[Any]:
    counts = [at(obj, "spec", "replicas") or 0, _status(obj, "replicas"), _status(obj, "readyReplicas")]
    return [name_of(obj), *counts, age(created(obj), now)]


def stateful_set(obj: Manifest, now: datetime) -> list[Any]:
    ready = f"{_status(obj, 'readyReplicas')}/{at(obj, 'spec', 'replicas') or 0}"
    return [name_of(obj), ready, age(created(obj), now), *_template(obj)]


DAEMONS: Final = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def daemon_set(obj: Manifest, now: datetime) -> list[Any]:
    nodes = labels(at(obj, "spec", "template", "spec", "nodeSelector"))
    wide = [*_template(obj), selector(at(obj, "spec", "selector"))]
    return [name_of(obj), *(_status(obj, name) for name in DAEMONS), nodes, age(created(obj), now), *wide]


def disruption_budget(obj: Manifest, now: datetime) -> list[Any]:
    limits = [at(obj, "spec", name) for name in ("minAvailable", "maxUnavailable")]
    shown = ["N/A" if limit is None else str(limit) for limit in limits]
    return [name_of(obj), *shown, _status(obj, "disruptionsAllowed"), age(created(obj), now)]


def autoscaler(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    target = f"{at(spec, 'scaleTargetRef', 'kind')}/{at(spec, 'scaleTargetRef', 'name')}"
    least = str(spec["minReplicas"]) if spec.get("minReplicas") is not None else UNSET
    counts = [least, spec.get("maxReplicas", 0), _status(obj, "currentReplicas")]
    return [name_of(obj), target, _metrics(obj), *counts, age(created(obj), now)]


def _metrics(obj: Manifest) -> str:
    wanted, current = items(obj, "spec", "metrics"), items(obj, "status", "currentMetrics")
    metrics = [_metric(one, current[i] if i < len(current) else {}) for i, one in enumerate(wanted)]
    if len(metrics) > 2:
        return f"{', '.join(metrics[:2])} + {len(metrics) - 2} more..."
    return ", ".join(metrics) or NONE


def _metric(wanted: Manifest, status: Manifest) -> str:
    kind = str(wanted.get("type", ""))
    source = kind[:1].lower() + kind[1:]
    target, current = at(wanted, source, "target") or {}, at(status, source, "current") or {}
    resource = at(wanted, source, "name")
    before = f"{resource}: " if resource else ""
    if "averageValue" in target:
        after = "" if resource or kind == "Pods" else " (avg)"
        return f"{before}{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{after}"
    if resource:
        use, most = current.get("averageUtilization"), target.get("averageUtilization")
        return f"{before}{UNKNOWN if use is None else f'{use}%'}/{'<auto>' if most is None else f'{most}%'}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value')}" if target else "<unknown type>"


def pod_template(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), *containers(at(obj, "template", "spec")), labels(at(obj, "template", "metadata", "labels"))]


def controller_revision(obj: Manifest, now: datetime) -> list[Any]:
    owner = next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    shown = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind']}{'.' if group else ''}{group}".lower() + f"/{owner['name']}"
    return [name_of(obj), shown, obj.get("revision", 0), age(created(obj), now)]


COUNTS: Final = "Desired:integer|Current:integer|Ready:integer"
WORKLOADS: Final[Mapping[tuple[str, str], Printer]] = {
    ("batch", "jobs"): Printer(columns("Name|Status|Completions|Duration|Age" + TEMPLATE), job),
    ("batch", "cronjobs"): Printer(
        columns("Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age" + TEMPLATE), cron_job
    ),
    ("apps", "deployments"): Printer(columns("Name|Ready|Up-to-date|Available|Age" + TEMPLATE), deployment),
    ("apps", "replicasets"): Printer(columns(f"Name|{COUNTS}|Age" + TEMPLATE), replica_set),
    ("", "replicationcontrollers"): Printer(columns(f"Name|{COUNTS}|Age" + TEMPLATE), replication_controller),
    ("apps", "statefulsets"): Printer(columns("Name|Ready|Age|Containers*|Images*"), stateful_set),
    ("apps", "daemonsets"): Printer(
        columns(f"Name|{COUNTS}|Up-to-date:integer|Available:integer|Node Selector|Age" + TEMPLATE), daemon_set
    ),
    ("policy", "poddisruptionbudgets"): Printer(
        columns("Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age"), disruption_budget
    ),
    ("autoscaling", "horizontalpodautoscalers"): Printer(
        columns("Name|Reference|Targets|MinPods|MaxPods|Replicas|Age"), autoscaler
    ),
    ("", "podtemplates"): Printer(columns("Name|Containers|Images|Pod Labels"), pod_template),
    ("apps", "controllerrevisions"): Printer(columns("Name|Controller|Revision|Age"), controller_revision),
}
