"""Jobs, Workloads, queues and events as the scenarios of Kueue compare them: whole, without what always differs.

Times become signs, since the two sides have other clocks; whether those of a Job fit together is said in words.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import COMPLETE, FAILED
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.rules.workload_slices import REPLACED, is_elastic

TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
A_MOMENT = 2.0
"""Seconds that Kubernetes may look at its clock twice in, on a slow machine."""
RUN_FOR = "fleetqueue.dev/run-for"
PODS_READY = "PodsReady"
SECONDS_RUN = "accumulatedPastExecutionTimeSeconds"
BY_CHANCE = ("AdmissionGateCleared", REPLACED)
"""Reasons of events that Kueue gives only if its workload controller looks before its scheduler does.

That a slice was replaced it only says if its scheduler looks before its job controller does.
"""
LAST_GENERATION = 9
"""More than any job of a scenario has."""


def named(listed: list[Manifest], show: Callable[[Manifest], Manifest]) -> dict[str, Manifest]:
    return {raw["metadata"]["name"]: show(raw) for raw in listed}


def job(raw: Manifest) -> Manifest:
    return {**header(raw), "spec": raw["spec"], "status": told(raw), **_times(raw)}


def _times(raw: Manifest) -> Manifest:
    """Tell whether a Job that has ended ran as long as its pods do, and ended when it says so."""
    status = raw.get("status") or {}
    ends = [
        each["lastTransitionTime"]
        for each in status.get("conditions") or ()
        if each["type"] in (COMPLETE, FAILED) and each["status"] == "True"
    ]
    if not ends or "startTime" not in status:
        return {}
    planned = raw["spec"]["template"]["metadata"]["annotations"][RUN_FOR].removesuffix("s")
    return {
        "ran its time": _seconds(status["startTime"], ends[0]) >= int(planned),
        "ended when it says so": abs(_seconds(status.get("completionTime", ends[0]), ends[0])) <= A_MOMENT,
    }


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def other_job(raw: Manifest) -> Manifest:
    """Return a job of a custom kind: what Go writes of empty fields, or leaves out, is no difference."""
    return {**header(raw), "spec": _without_empty(raw["spec"]), "status": told(raw)}


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner not in (None, "", {}, []) and inner is not False}
    return [_without_empty(inner) for inner in value] if isinstance(value, list) else value


def workload(raw: Manifest) -> Manifest:
    found = {**header(raw), "spec": {**raw["spec"], "podSets": [*map(_pod_set, raw["spec"]["podSets"])]}}
    found["status"] = told(raw)
    _keep_certain(found["status"]["conditions"])
    return found


def _pod_set(raw: Manifest) -> Manifest:
    """Return a pod set; Go writes the metadata of a template of a custom kind also where there is none."""
    template = {name: value for name, value in raw.get("template", {}).items() if name != "metadata" or value}
    return {**raw, **({"template": template} if template else {})}


def _keep_certain(said: dict[str, str]) -> None:
    """Leave out what depends on who looks first.

    Of PodsReady that is the generation, since another controller may deactivate the Workload meanwhile; and all of it
    once the job has ended, maybe before anybody saw its pods ready. Of a slice that was replaced it is who says so.
    """
    if kueue.FINISHED in said:
        said.pop(PODS_READY, None)
        if REPLACED in said[kueue.FINISHED]:
            said[kueue.FINISHED] = f"True {REPLACED}"
    if PODS_READY in said:
        said[PODS_READY] = said[PODS_READY].partition(" (generation")[0]


def pod(raw: Manifest) -> Manifest:
    """Return a pod without its name, which is made up: whether it may be scheduled, and what it was given for that."""
    spec, metadata = raw["spec"], raw["metadata"]
    return {
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "gates": [gate["name"] for gate in spec.get("schedulingGates") or ()],
        "node selector": spec.get("nodeSelector") or {},
        "phase": (raw.get("status") or {}).get("phase"),
    }


def queue(raw: Manifest) -> Manifest:
    return {"status": told(raw)}


def header(raw: Manifest) -> Manifest:
    metadata = raw["metadata"]
    return {
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "finalizers": metadata.get("finalizers") or [],
        "owners": metadata.get("ownerReferences") or [],
    }


def told(raw: Manifest) -> Manifest:
    """Return the whole status: conditions by their type, and of seconds only that there are some."""
    status = raw.get("status") or {}
    found = {**status, "conditions": conditions(raw)}
    return {**found, SECONDS_RUN: "some"} if SECONDS_RUN in status else found


def conditions(raw: Manifest) -> dict[str, str]:
    return {each["type"]: sentence(each) for each in (raw.get("status") or {}).get("conditions") or ()}


def sentence(condition: Manifest) -> str:
    seen = f" (generation {condition['observedGeneration']})" if "observedGeneration" in condition else ""
    return f"{condition['status']} {condition.get('reason', '')}: {condition.get('message', '')}{seen}"


def events(listed: list[Manifest], by: Sequence[str] = ("kueue",)) -> dict[str, list[str]]:
    """Return what Kueue said of each object, each sentence once.

    Args:
        by: of which some stands in the name of each controller that is listened to.
    """
    said: dict[str, set[str]] = {}
    for event in listed:
        controller = event.get("reportingController", "")
        if any(name in controller for name in by) and event["reason"] not in BY_CHANCE:
            about = event["regarding"]
            said.setdefault(f"{about['kind']} {about['name']}", set()).add(_saying(event))
    return {about: sorted(sentences) for about, sentences in said.items()}


def _saying(event: Manifest) -> str:
    note = re.sub(r"was \d+s", "was Ns", event.get("note", ""))
    return f"{event['reportingController']}: {event['type']} {event['reason']} {event.get('action')}: {note}"


def slice_names(made: Iterable[Manifest], kind: type[Object]) -> Iterator[tuple[str, str]]:
    """Return the names that Kueue gives to Workloads of elastic jobs, and how they are called: by the generation."""
    resource = kind.resource
    for metadata in (raw["metadata"] for raw in made if raw.get("kind") == resource.kind and is_elastic(raw)):
        for number in range(1, LAST_GENERATION + 1):
            name = workload_name(resource.kind, resource.group, metadata["name"], metadata["uid"], str(number))
            yield name, f"slice {number} of {metadata['name']}"


def in_words(end: Any, names: Mapping[str, str], hashed: re.Pattern[str], prefix: str) -> dict[str, Any]:
    """Return an end state with signs for times, words for what is made up, and without the scenario's prefix.

    Args:
        names: what uids and made up names are called.
        hashed: a made up name that may be of an object that is gone; its group is the name of its job.
    """
    text = json.dumps(end, sort_keys=True, ensure_ascii=False)
    for name, called in names.items():
        text = text.replace(name, called)
    text = hashed.sub(r"workload of \1", TIMES.sub("T", text))
    found: dict[str, Any] = json.loads(text.replace(prefix, ""))
    return found
