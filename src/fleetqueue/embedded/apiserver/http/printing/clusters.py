"""Rows of what a cluster itself is made of: nodes, namespaces, events, leases, classes, webhooks, devices."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age
from fleetqueue.embedded.apiserver.http.printing.columns import Cells, Printer, columns
from fleetqueue.embedded.apiserver.http.printing.wording import (
    NONE,
    UNKNOWN,
    UNSET,
    at,
    condition,
    created,
    items,
    name_of,
)

ROLE_PREFIX: Final = "node-role.kubernetes.io/"
ROLE: Final = "kubernetes.io/role"
ADMISSION: Final = "admissionregistration.k8s.io"
FLOW: Final = "flowcontrol.apiserver.k8s.io"


def node(obj: Manifest, now: datetime) -> list[Any]:
    info = at(obj, "status", "nodeInfo") or {}
    shown = [name_of(obj), _node_state(obj), _roles(obj), age(created(obj), now), info.get("kubeletVersion", "")]
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    addresses = [_address(obj, kind) for kind in ("InternalIP", "ExternalIP")]
    return [*shown, *addresses, info.get("osImage") or UNKNOWN, kernel, info.get("containerRuntimeVersion") or UNKNOWN]


def _node_state(obj: Manifest) -> str:
    ready = condition(obj, "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if at(obj, "spec", "unschedulable") else state


def _roles(obj: Manifest) -> str:
    roles: set[str] = set()
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if key.startswith(ROLE_PREFIX):
            roles.add(key.removeprefix(ROLE_PREFIX))
        elif key == ROLE:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _address(obj: Manifest, kind: str) -> str:
    addresses = (one["address"] for one in items(obj, "status", "addresses") if one.get("type") == kind)
    return next(addresses, NONE)


def event(obj: Manifest, now: datetime) -> list[Any]:
    """Read an event of either group; they differ in the names of a few fields."""
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    first = age(_either(obj, "firstTimestamp") or obj.get("eventTime"), now)
    last_moment, series = _either(obj, "lastTimestamp"), obj.get("series")
    last = age(series.get("lastObservedTime"), now) if series else age(last_moment, now) if last_moment else first
    count = series.get("count", 0) if series else _either(obj, "count") or 1
    target = "/".join(filter(None, (str(about.get("kind", "")).lower(), about.get("name"))))
    message = str(obj.get("message") or obj.get("note") or "").strip()
    head = [last, obj.get("type", ""), obj.get("reason", ""), target, about.get("fieldPath", "")]
    return [*head, _source(obj, source), message, first, count, name_of(obj)]


def _either(obj: Manifest, field: str) -> Any:
    return obj.get(field) or obj.get(f"deprecated{field[0].upper()}{field[1:]}")


def _source(obj: Manifest, source: Manifest) -> str:
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    instance = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def namespace(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), at(obj, "status", "phase") or "", age(created(obj), now)]


def lease(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), at(obj, "spec", "holderIdentity") or "", age(created(obj), now)]


def priority_class(obj: Manifest, now: datetime) -> list[Any]:
    shown = [name_of(obj), obj.get("value", 0), bool(obj.get("globalDefault")), age(created(obj), now)]
    return [*shown, obj.get("preemptionPolicy", "")]


def runtime_class(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("handler", ""), age(created(obj), now)]


def named(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), age(created(obj), now)]


def counted(*path: str) -> Cells:
    """Return the cells of a kind of which one sees how many parts it has."""
    return lambda obj, now: [name_of(obj), len(items(obj, *path)), age(created(obj), now)]


def policy(parts: str) -> Cells:
    def cells(obj: Manifest, now: datetime) -> list[Any]:
        kind = at(obj, "spec", "paramKind")
        shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else UNSET
        return [name_of(obj), len(items(obj, "spec", parts)), shown, age(created(obj), now)]

    return cells


def policy_binding(obj: Manifest, now: datetime) -> list[Any]:
    reference = at(obj, "spec", "paramRef") or {}
    shown = f"{reference.get('namespace') or '*'}/{reference['name']}" if reference.get("name") else UNSET
    return [name_of(obj), at(obj, "spec", "policyName") or "", shown, age(created(obj), now)]


def flow_schema(obj: Manifest, now: datetime) -> list[Any]:
    spec, dangling = obj.get("spec") or {}, condition(obj, "Dangling") or {}
    level = at(spec, "priorityLevelConfiguration", "name") or ""
    method = at(spec, "distinguisherMethod", "type") or NONE
    shown = [name_of(obj), level, spec.get("matchingPrecedence", 0), method, age(created(obj), now)]
    return [*shown, dangling.get("status", "?")]


def priority_level(obj: Manifest, now: datetime) -> list[Any]:
    limited = at(obj, "spec", "limited") or {}
    queuing = at(limited, "limitResponse", "queuing") or {}
    shares = limited.get("nominalConcurrencyShares", NONE)
    queues = [queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")]
    return [name_of(obj), at(obj, "spec", "type") or "", shares, *queues, age(created(obj), now)]


def api_service(obj: Manifest, now: datetime) -> list[Any]:
    service, available = at(obj, "spec", "service"), condition(obj, "Available") or {}
    where = f"{service.get('namespace')}/{service.get('name')}" if service else "Local"
    state = str(available.get("status", "Unknown"))
    if state != "True" and available:
        state = f"{state} ({available.get('reason', '')})"
    return [name_of(obj), where, state, age(created(obj), now)]


def resource_claim(obj: Manifest, now: datetime) -> list[Any]:
    is_deleted = bool(obj["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if is_deleted else []
    if at(obj, "status", "allocation") is None:
        states += [] if is_deleted else ["pending"]
    else:
        states += ["allocated", *(["reserved"] if items(obj, "status", "reservedFor") else [])]
    return [name_of(obj), ",".join(states), age(created(obj), now)]


def resource_slice(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    shown = [spec.get("nodeName") or "", spec.get("driver", ""), at(spec, "pool", "name") or ""]
    return [name_of(obj), *shown, age(created(obj), now)]


def _created_at(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), created(obj)]


PLAIN: Final = Printer(columns("Name|Created At:date"), _created_at)
"""What a real server shows of kinds that it has no columns for."""
NODE_COLUMNS: Final = (
    "Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|Container-Runtime*"
)
EVENT_COLUMNS: Final = "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*"
LEVEL_COLUMNS: Final = "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age"
POLICY_BINDING: Final = Printer(columns("Name|PolicyName|ParamRef|Age"), policy_binding)
WEBHOOKS: Final = Printer(columns("Name|Webhooks:integer|Age"), counted("webhooks"))
CLUSTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "nodes"): Printer(columns(NODE_COLUMNS), node),
    ("", "events"): Printer(columns(EVENT_COLUMNS), event),
    ("events.k8s.io", "events"): Printer(columns(EVENT_COLUMNS), event),
    ("", "namespaces"): Printer(columns("Name|Status|Age"), namespace),
    ("coordination.k8s.io", "leases"): Printer(columns("Name|Holder|Age"), lease),
    ("scheduling.k8s.io", "priorityclasses"): Printer(
        columns("Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy"), priority_class
    ),
    ("node.k8s.io", "runtimeclasses"): Printer(columns("Name|Handler|Age"), runtime_class),
    (ADMISSION, "mutatingwebhookconfigurations"): WEBHOOKS,
    (ADMISSION, "validatingwebhookconfigurations"): WEBHOOKS,
    (ADMISSION, "validatingadmissionpolicies"): Printer(
        columns("Name|Validations:integer|ParamKind|Age"), policy("validations")
    ),
    (ADMISSION, "mutatingadmissionpolicies"): Printer(
        columns("Name|Mutations:integer|ParamKind|Age"), policy("mutations")
    ),
    (ADMISSION, "validatingadmissionpolicybindings"): POLICY_BINDING,
    (ADMISSION, "mutatingadmissionpolicybindings"): POLICY_BINDING,
    (FLOW, "flowschemas"): Printer(
        columns("Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL"), flow_schema
    ),
    (FLOW, "prioritylevelconfigurations"): Printer(columns(LEVEL_COLUMNS), priority_level),
    ("apiregistration.k8s.io", "apiservices"): Printer(columns("Name|Service|Available|Age"), api_service),
    ("resource.k8s.io", "deviceclasses"): Printer(columns("Name|Age"), named),
    ("resource.k8s.io", "resourceclaims"): Printer(columns("Name|State|Age"), resource_claim),
    ("resource.k8s.io", "resourceclaimtemplates"): Printer(columns("Name|Age"), named),
    ("resource.k8s.io", "resourceslices"): Printer(columns("Name|Node|Driver|Pool|Age"), resource_slice),
}
