"""What a job scenario ends in: jobs, Workloads, queues, events and refusals; without what always differs."""

import json
import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .doing import Actor, workload_names

OWN_LABELS = ("job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid")
POD_FIELDS = ("nodeSelector", "tolerations", "schedulingGates")
STATUS_FIELDS = ("admission", "reclaimablePods", "schedulingStats")
PAST = "accumulatedPastExecutionTimeSeconds"
LEFT_OUT = "PodsReady"
"""Whether pods become ready depends on how many there is room for on each cluster's nodes."""
BY_CHANCE = ("AdmissionGateCleared",)
"""Reasons of events that Kueue gives only if its workload controller looks before its scheduler does."""
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
HASH = re.compile(r"job-([a-z]+)-[0-9a-f]{5}\b")


async def end_state(client: Client, actor: Actor) -> dict[str, Any]:
    namespace, prefix = actor.namespace, actor.prefix
    jobs = (await client.list(Job.resource, namespace)).items
    workloads = (await client.list(kueue.Workload.resource, namespace)).items
    queues = [raw for raw in (await client.list(kueue.ClusterQueue.resource)).items if _is_of(raw, prefix)]
    locals_ = (await client.list(kueue.LocalQueue.resource, namespace)).items
    events = (await client.list(Event.resource, namespace)).items
    end = {
        "jobs": {raw["metadata"]["name"]: _job(raw) for raw in jobs},
        "workloads": {raw["metadata"]["name"]: _workload(raw) for raw in workloads},
        "queues": {raw["metadata"]["name"]: _queue(raw) for raw in queues},
        "local queues": {raw["metadata"]["name"]: _queue(raw) for raw in locals_},
        "events": sorted({_sentence(event) for event in events if _is_told(event)}),
        "refusals": actor.refusals,
    }
    text = json.dumps(end, sort_keys=True, ensure_ascii=False)
    for raw in (*jobs, *workloads):
        text = text.replace(raw["metadata"]["uid"], f"uid of {raw['metadata']['name']}")
    for name, called in workload_names(workloads):
        text = text.replace(name, called)
    text = HASH.sub(r"workload of \1", TIMES.sub("T", text))
    found: dict[str, Any] = json.loads(text.replace(prefix, ""))
    return found


def _is_told(event: Manifest) -> bool:
    return "kueue" in event.get("reportingController", "") and event["reason"] not in BY_CHANCE


def _is_of(raw: Manifest, prefix: str) -> bool:
    return bool(raw["metadata"]["name"].startswith(prefix))


def _job(raw: Manifest) -> Manifest:
    spec, template = raw["spec"], raw["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k not in OWN_LABELS}
    return {
        "labels": raw["metadata"].get("labels") or {},
        "annotations": raw["metadata"].get("annotations") or {},
        **{field: spec.get(field) for field in ("suspend", "parallelism", "completions", "managedBy")},
        "pod labels": labels,
        "pod annotations": metadata.get("annotations") or {},
        **{field: template["spec"].get(field) for field in POD_FIELDS},
        "started": "startTime" in (raw.get("status") or {}),
        "conditions": sorted(
            c["type"] for c in (raw.get("status") or {}).get("conditions") or () if c["status"] == "True"
        ),
    }


def _workload(raw: Manifest) -> Manifest:
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    return {
        "labels": metadata.get("labels") or {},
        "finalizers": metadata.get("finalizers") or [],
        "owners": [[o["kind"], o["name"], o.get("controller", False)] for o in metadata.get("ownerReferences") or ()],
        "spec": {k: v for k, v in spec.items() if k != "podSets"},
        "pod sets": [_pod_set(each) for each in spec.get("podSets") or ()],
        **{field: status[field] for field in STATUS_FIELDS if field in status},
        "ran before": PAST in status,
        "requeue count": (status.get("requeueState") or {}).get("count"),
        "checks": [
            {k: v for k, v in check.items() if k != "lastTransitionTime"}
            for check in status.get("admissionChecks") or ()
        ],
        "conditions": {
            each["type"]: f"{each['status']} {each['reason']}: {each['message']}"
            for each in status.get("conditions") or ()
            if each["type"] != LEFT_OUT
        },
    }


def _pod_set(raw: Manifest) -> Manifest:
    template = raw["template"]
    return {
        **{k: v for k, v in raw.items() if k != "template"},
        "metadata": {k: v for k, v in (template.get("metadata") or {}).items() if k in ("labels", "annotations")},
        "containers": template["spec"]["containers"],
        **{field: template["spec"].get(field) for field in POD_FIELDS},
    }


def _queue(raw: Manifest) -> Manifest:
    status = raw.get("status") or {}
    told = {c["type"]: f"{c['status']} {c['reason']}: {c['message']}" for c in status.get("conditions") or ()}
    return {**{k: v for k, v in status.items() if k != "conditions"}, "conditions": told}


def _sentence(event: Manifest) -> str:
    note = re.sub(r"was \d+s", "was Ns", event.get("note", ""))
    about = event["regarding"]
    said = f"{event['type']} {event['reason']} {event.get('action')}"
    return f"{event['reportingController']}: {about['kind']} {about['name']}: {said}: {note}"
