"""What a queue scenario ends in: what scheduling wrote and said, and how the queues stand."""

import json
import re
from collections.abc import Mapping
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

CONDITIONS = (kueue.QUOTA_RESERVED, kueue.ADMITTED, kueue.EVICTED, kueue.PREEMPTED)
FIELDS = ("admission", "resourceRequests", "schedulingStats")
BY_OTHERS = "Inadmissible"
"""The reason that the life of Workloads, not scheduling, writes."""
ANY_NOTE = ("Pending", "PreemptedWorkload")
"""Events of one reason about one version of an object are one, with the first note; which is first is a matter of time.
Why somebody waits in the end stands in its condition."""

Standing = Mapping[str, Any]
"""How a ClusterQueue stands: its counts, what is reserved in it, and why it cannot admit."""


async def workloads(client: Client, namespace: str, prefix: str) -> dict[str, Any]:
    found = (await client.list(kueue.Workload.resource, namespace)).items
    events = (await client.list(Event.resource, namespace)).items
    names = {raw["metadata"]["uid"]: raw["metadata"]["name"] for raw in found}
    ends = {
        "workloads": {raw["metadata"]["name"]: _status(raw) for raw in found},
        "events": sorted({_sentence(event) for event in events if _is_of_scheduling(event)}),
    }
    text = json.dumps(ends)
    for uid, name in names.items():
        text = text.replace(uid, f"uid of {name}")
    plain: dict[str, Any] = json.loads(text.replace(prefix, ""))
    return plain


def standing(raw: Manifest) -> Standing:
    """Read how a ClusterQueue stands from the status that Kueue wrote."""
    status = raw["status"]
    active = next(each for each in status["conditions"] if each["type"] == "Active")
    return {
        "pending": status.get("pendingWorkloads", 0),
        "reserving": status.get("reservingWorkloads", 0),
        "admitted": status.get("admittedWorkloads", 0),
        "reservation": _totals(status.get("flavorsReservation") or ()),
        "usage": _totals(status.get("flavorsUsage") or ()),
        "active": [active["reason"], active["message"]],
    }


def _totals(flavors: Any) -> dict[str, str]:
    totals = {f"{f['name']}/{r['name']}": r["total"] for f in flavors for r in f["resources"]}
    return {name: total for name, total in totals.items() if total != "0"}


def _status(raw: Manifest) -> Manifest:
    status = raw.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each["type"] in CONDITIONS]
    told = {each["type"]: _said(each) for each in conditions if each["reason"] != BY_OTHERS}
    return {**{field: status[field] for field in FIELDS if status.get(field)}, "conditions": told}


def _said(condition: Manifest) -> str:
    return f"{condition['status']} {condition['reason']}: {condition['message']}"


def _is_of_scheduling(event: Manifest) -> bool:
    return event.get("reportingController") == kueue.ADMISSION_MANAGER and event["regarding"]["kind"] == "Workload"


def _sentence(event: Manifest) -> str:
    note = re.sub(r"was \d+s", "was Ns", event.get("note", ""))
    if event["reason"] in ANY_NOTE:
        note = "..."
    return f"{event['type']} {event['reason']} {event['action']} {event['regarding']['name']}: {note}"
