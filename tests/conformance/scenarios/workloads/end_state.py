"""What a scenario ends in: the sets and CronJobs with their statuses, what they made, and what was said of them.

Times and uids are left out. The names of a StatefulSet's revisions are compared, those of a DaemonSet's are not: they
come of Go's own way to print a structure.
"""

import re
from typing import Any

from fleetqueue.api.batch_v1 import CONTROLLER_UID, JOB_NAME, Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.kubernetes.controller_revisions import POD_REVISION, ControllerRevision
from fleetqueue.embedded.kubernetes.cron_job_objects import CronJob
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet
from fleetqueue.embedded.kubernetes.stateful_set_claims import PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet

from .doing import Actor

EVENTS = Resource("", "v1", "Event", "events")
OWNERS: tuple[type[Object], ...] = (StatefulSet, DaemonSet, CronJob)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")
CHANCE = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
"""The end of a name that is drawn."""
OF_JOBS = ("job-name", "controller-uid", JOB_NAME, CONTROLLER_UID)
MINUTE = re.compile(r"-2\d{7}\b")
"""The end of the name of a CronJob's Job."""


async def end_state(actor: Actor) -> Any:
    listed = {kind: await _listed(actor, kind.resource) for kind in (*OWNERS, Pod, Job, ControllerRevision)}
    claims = await _listed(actor, PersistentVolumeClaim.resource)
    events = await _listed(actor, EVENTS)
    state = {
        "owners": {_title(kind, raw): _owner(raw) for kind in OWNERS for raw in listed[kind]},
        "pods": [_pod(raw) for raw in listed[Pod] if not _is_of_job(raw)],
        "jobs": [_job(raw) for raw in listed[Job]],
        "revisions": [_revision(raw) for raw in listed[ControllerRevision]],
        "claims": {raw["metadata"]["name"]: _claim(raw) for raw in claims},
        "events": [_event(raw) for raw in events if _is_told_of(raw)],
    }
    worded = _in_words(actor, state, _hashes(listed[ControllerRevision]))
    return {what: sorted(some, key=str) if isinstance(some, list) else some for what, some in worded.items()}


async def _listed(actor: Actor, resource: Resource) -> list[Manifest]:
    return (await actor.client.list(resource, actor.namespace)).items


def _title(kind: type[Object], raw: Manifest) -> str:
    return f"{kind.resource.kind} {raw['metadata']['name']}"


def _owner(raw: Manifest) -> Any:
    status = raw.get("status") or {}
    if "active" in status:
        kept = ("apiVersion", "kind", "name")
        status = {**status, "active": [{field: one[field] for field in kept} for one in status["active"]]}
    return {"status": status, "annotations": raw["metadata"].get("annotations") or {}, **_deletion(raw)}


def _pod(raw: Manifest) -> Any:
    metadata, spec = raw["metadata"], raw["spec"]
    shown = {
        "name": metadata["name"],
        "generateName": metadata.get("generateName"),
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "owners": _owners(raw),
        "hostname": spec.get("hostname"),
        "subdomain": spec.get("subdomain"),
        "image": spec["containers"][0]["image"],
        "volumes": [one for one in spec.get("volumes") or () if not one["name"].startswith("kube-api-access")],
        "phase": raw["status"]["phase"],
        **_deletion(raw),
    }
    if any(owner["kind"] == "DaemonSet" for owner in _owners(raw)):
        shown |= {"node": spec.get("nodeName"), "affinity": spec["affinity"], "tolerations": spec["tolerations"]}
    return shown


def _job(raw: Manifest) -> Any:
    metadata = raw["metadata"]
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in OF_JOBS}
    ends = [one["type"] for one in (raw.get("status") or {}).get("conditions") or ()]
    annotations = metadata.get("annotations") or {}
    return {
        "name": metadata["name"],
        "labels": labels,
        "annotations": annotations,
        "owners": _owners(raw),
        "ends": ends,
        **_deletion(raw),
    }


def _revision(raw: Manifest) -> Any:
    metadata = raw["metadata"]
    kept = ("labels", "annotations")
    return {
        "name": metadata["name"],
        "number": raw["revision"],
        "data": raw["data"],
        "owners": _owners(raw),
        **{field: metadata.get(field) or {} for field in kept},
    }


def _claim(raw: Manifest) -> Any:
    return {"labels": raw["metadata"].get("labels"), "owners": _owners(raw), "spec": raw["spec"], **_deletion(raw)}


def _owners(raw: Manifest) -> list[Manifest]:
    owners = raw["metadata"].get("ownerReferences") or ()
    return [{field: value for field, value in one.items() if field != "uid"} for one in owners]


def _deletion(raw: Manifest) -> Manifest:
    return {"deleted": True} if "deletionTimestamp" in raw["metadata"] else {}


def _is_of_job(raw: Manifest) -> bool:
    return any(owner["kind"] == "Job" for owner in _owners(raw))


def _is_told_of(event: Manifest) -> bool:
    """Tell whether it is about a set or a CronJob, and not about who was quicker with a claim."""
    is_ours = event["involvedObject"]["kind"] in {kind.resource.kind for kind in OWNERS}
    return is_ours and "the object has been modified" not in event["message"]


def _event(raw: Manifest) -> str:
    """Say what was told, but not how often: kwok deletes a pod by its name, sometimes the next one with it."""
    about = f"{raw['involvedObject']['kind']} {raw['involvedObject']['name']}"
    return f"{raw['type']} {raw['reason']} {raw['source']['component']} {about}: {raw['message']}"


def _hashes(revisions: list[Manifest]) -> dict[str, str]:
    """Return the hashes of DaemonSets' revisions, and how they are called in what comes out."""
    marks = {raw["metadata"]["labels"].get(POD_REVISION): f"HASH{raw['revision']}" for raw in revisions}
    return {mark: word for mark, word in marks.items() if mark is not None}


def _in_words(actor: Actor, value: Any, hashes: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_in_words(actor, key, hashes): _in_words(actor, one, hashes) for key, one in value.items()}
    if isinstance(value, list):
        return [_in_words(actor, one, hashes) for one in value]
    if not isinstance(value, str):
        return value
    for mark, word in hashes.items():
        value = value.replace(mark, word)
    text = MINUTE.sub("-MINUTE", CHANCE.sub("-*", TIME.sub("T", value)))
    return text.replace(actor.prefix, "$P")
