"""What a MultiKueue scenario ends in: on the hub and on each worker; without what always differs."""

import json
import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .doing import Actor
from .form import WORKERS

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
HASH = re.compile(r"\b(?:job|jobset)-([a-z]+)-[0-9a-f]{5}\b")
OWN_LABELS = ("job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid")
LEFT_OUT = ("PodsReady",)
RAW_ERRORS = "ClientConnectionFailed"
"""Its message is whatever the transport says."""


async def end_state(actor: Actor) -> dict[str, Any]:
    hub = actor.clients["hub"]
    end: dict[str, Any] = {"hub": await _cluster(hub, actor, is_hub=True)}
    for name in WORKERS:
        end[name] = await _cluster(actor.clients[name], actor, is_hub=False)
    for what, kind in (("clusters", kueue.MultiKueueCluster), ("checks", kueue.AdmissionCheck)):
        items = [raw for raw in (await hub.list(kind.resource)).items if _is_of(raw, actor.prefix)]
        end[what] = {raw["metadata"]["name"]: _conditions(raw) for raw in items}
    events = (await hub.list(Event.resource, actor.namespace)).items
    end["events"] = sorted({_sentence(event) for event in events if event["reason"] == "MultiKueue"})
    text = TIMES.sub("T", json.dumps(end, sort_keys=True, ensure_ascii=False))
    found: dict[str, Any] = json.loads(HASH.sub(r"workload of \1", text).replace(actor.prefix, ""))
    return found


async def _cluster(client: Client, actor: Actor, *, is_hub: bool) -> Manifest:
    jobs = (await client.list(Job.resource, actor.namespace)).items
    workloads = (await client.list(kueue.Workload.resource, actor.namespace)).items
    found = {
        "jobs": {raw["metadata"]["name"]: _job(raw) for raw in jobs if not _is_of_job_set(raw)},
        "workloads": {raw["metadata"]["name"]: _workload(raw, is_hub=is_hub) for raw in workloads},
    }
    if actor.has_job_sets:
        job_sets = (await client.list(JobSet.resource, actor.namespace)).items
        found["job sets"] = {raw["metadata"]["name"]: _job_set(raw) for raw in job_sets}
    return found


def _is_of(raw: Manifest, prefix: str) -> bool:
    return bool(raw["metadata"]["name"].startswith(prefix))


def _job(raw: Manifest) -> Manifest:
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    return {
        "labels": {name: value for name, value in (metadata.get("labels") or {}).items() if name not in OWN_LABELS},
        "annotations": metadata.get("annotations") or {},
        "suspend": spec.get("suspend", False),
        "managedBy": spec.get("managedBy"),
        "active": status.get("active", 0),
        "succeeded": status.get("succeeded", 0),
        "conditions": sorted(each["type"] for each in status.get("conditions") or () if each["status"] == "True"),
    }


def _is_of_job_set(raw: Manifest) -> bool:
    """Tell whether a Job was made by our stand-in for JobSet's controller, which nobody judges here."""
    return any(owner["kind"] == JobSet.resource.kind for owner in raw["metadata"].get("ownerReferences") or ())


def _job_set(raw: Manifest) -> Manifest:
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    return {
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "suspend": spec.get("suspend", False),
        "managedBy": spec.get("managedBy"),
        "parts": {each["name"]: _counts(each) for each in status.get("replicatedJobsStatus") or ()},
        "conditions": sorted(each["type"] for each in status.get("conditions") or () if each["status"] == "True"),
    }


def _counts(part: Manifest) -> dict[str, int]:
    return {what: count for what, count in part.items() if what != "name" and count}


def _workload(raw: Manifest, *, is_hub: bool) -> Manifest:
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != kueue.JOB_UID_LABEL}
    found = {
        "labels": labels,
        "owners": [owner["kind"] for owner in metadata.get("ownerReferences") or ()],
        "active": spec.get("active"),
        "conditions": _conditions(raw),
    }
    if is_hub:
        found["checks"] = {
            each["name"]: [each["state"], each.get("message", "")] for each in status.get("admissionChecks") or ()
        }
        found["cluster"] = status.get("clusterName")
        found["nominated"] = sorted(status.get("nominatedClusterNames") or ())
        found["evictions"] = (status.get("schedulingStats") or {}).get("evictions")
    return found


def _conditions(raw: Manifest) -> dict[str, str]:
    told = (raw.get("status") or {}).get("conditions") or ()
    return {
        each["type"]: f"{each['status']} {each['reason']}: {'' if each['reason'] == RAW_ERRORS else each['message']}"
        for each in told
        if each["type"] not in LEFT_OUT
    }


def _sentence(event: Manifest) -> str:
    return f"{event['reportingController']}: {event['type']} {event['reason']}: {event.get('note', '')}"
