"""What a scenario ends in: pods and what is above them, Workloads, queues, events and refusals.

Names that are drawn, as those of a Deployment's pods, become `*`, and the hash of a role becomes the name of the first
pod that has it: so objects are listed in the order of what is said of them. What the admission plugins of a real API
server give every pod is left out.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from .. import pod_objects as pod_shown  # noqa: TID252
from .doing import Actor
from .form import KINDS

DRAWN = r"[bcdfghjklmnpqrstvwxz2456789]"
WORKLOAD_NAME = re.compile(rf"\b(?P<job>(?:{'|'.join(('job', *KINDS))})-[a-z0-9-]+)-[0-9a-f]{{5}}\b")
POD_NAME = re.compile(rf"\b(?P<owner>[a-z]+)-{DRAWN}{{8,10}}-{DRAWN}{{5}}\b")
REPLICA_SET_NAME = re.compile(rf"\b(?P<owner>[a-z]+)-{DRAWN}{{8,10}}\b")
OF_JOB = re.compile(rf"\b(?P<owner>[a-z]+)-{DRAWN}{{5}}\b")
DRAWN_NAMES = {
    WORKLOAD_NAME: r"\g<job>-HASH",
    POD_NAME: r"\g<owner>-*-*",
    REPLICA_SET_NAME: r"\g<owner>-*",
    OF_JOB: r"\g<owner>-*",
}
"""The names of Workloads, pods of Deployments, ReplicaSets and pods of Jobs, and what they become, in this order."""
OF_GROUP = re.compile(r"(?P<set>leaderworkerset-[a-z]+)-\d+-[0-9a-f]{5}\b")
OWNERS_ADDED = re.compile(r"Added \d+ owner")
UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INCOMPLETE = "ErrWorkloadCompose"
LISTED = ("podSets", "podSetAssignments", "reclaimablePods", "owners")
"""Lists of Workloads whose order comes of hashes and of chance."""


async def end_state(client: Client, actor: Actor) -> dict[str, Any]:
    async def listed(kind: type[Object], namespace: str = actor.namespace) -> list[Manifest]:
        return (await client.list(kind.resource, namespace)).items

    parents = {kind.resource.kind: await listed(kind) for kind in (*KINDS.values(), Job) if kind is not Pod}
    pods, workloads = await listed(Pod), await listed(kueue.Workload)
    queues = [raw for raw in await listed(kueue.ClusterQueue, "") if raw["metadata"]["name"].startswith(actor.prefix)]
    end = {
        "parents": {kind: _each(found, _parent) for kind, found in parents.items() if found},
        "pods": _each(pods, pod_shown.pod),
        "workloads": [_certain(one, actor) for one in _each(workloads, pod_shown.workload)],
        "queues": shown.named(queues, shown.queue),
        "local queues": shown.named(await listed(kueue.LocalQueue), shown.queue),
        "events": shown.events([*map(_told, _said(await listed(Event), pods, actor))]),
        "refusals": actor.refusals,
    }
    objects = [*pods, *workloads, *(raw for found in parents.values() for raw in found)]
    uids = {raw["metadata"]["uid"]: f"uid of {raw['metadata']['name']}" for raw in objects}
    return _ordered(_in_words(end, {**pod_shown.roles(pods), **_templates(pods), **uids}, actor.prefix))


def _each(listed: list[Manifest], show: Callable[[Manifest], Manifest]) -> list[Manifest]:
    return [{"name": raw["metadata"]["name"], **show(raw)} for raw in listed]


def _parent(raw: Manifest) -> Manifest:
    return shown.other_job({"spec": {}, **raw})


def _certain(workload: Manifest, actor: Actor) -> Manifest:
    """Return a Workload without what depends on who comes first.

    Kueue lets go of the Workload of a group that has no pods yet: those of a StatefulSet come at the same time.
    """
    if "StatefulSet" in [owner["kind"] for owner in workload["owners"]]:
        workload = {**workload, "finalizers": []}
    for uncertain in actor.said.get("uncertain", ()):
        workload["status"]["conditions"].pop(uncertain, None)
    return workload


def _said(events: list[Manifest], pods: list[Manifest], actor: Actor) -> list[Manifest]:
    """Return events without those that depend on who comes first; pods of a group are looked at while others come."""
    was_complete = any(event["reason"] == "CreatedWorkload" for event in events) or len(pods) > 1
    left_out = (*actor.said.get("uncertain", ()), *([INCOMPLETE] if was_complete else ()))
    return [event for event in events if event["reason"] not in left_out]


def _told(event: Manifest) -> Manifest:
    """Return an event that names no pod, nor anything drawn: what Kueue says of a group, it says to any pod of it.

    Of the groups of a LeaderWorkerSet too: those that are said at the same time become one event, of any of them.
    """
    about = event["regarding"]
    name = "any" if about["kind"] == Pod.resource.kind else _without_chance(about["name"])
    return {
        **event,
        "regarding": {**about, "name": name},
        "note": OF_GROUP.sub(r"\g<set>-N-HASH", event.get("note", "")),
    }


def _templates(pods: list[Manifest]) -> dict[str, str]:
    """Return the hashes of templates that ReplicaSets put on their pods: ours are others."""
    marks = [(pod["metadata"].get("labels") or {}).get("pod-template-hash") for pod in pods]
    return {f'"{mark}"': '"HASH"' for mark in marks if mark}


def _in_words(end: dict[str, Any], names: dict[str, str], prefix: str) -> dict[str, Any]:
    """Return an end state without times, uids, hashes and what is drawn; what is gone has no name any more."""
    text = json.dumps(end, sort_keys=True, ensure_ascii=False)
    for name, called in names.items():
        text = text.replace(name, called)
    text = UID.sub("uid of what is gone", shown.TIMES.sub("T", text)).replace(prefix, "")
    found: dict[str, Any] = json.loads(OWNERS_ADDED.sub("Added N owner", _without_chance(text)))
    return found


def _without_chance(text: str) -> str:
    for pattern, words in DRAWN_NAMES.items():
        text = pattern.sub(words, text)
    return text


def _ordered(end: dict[str, Any]) -> dict[str, Any]:
    """Return lists of objects in the order of what they say, and each event once."""
    return {
        **end,
        "pods": _sorted(end["pods"]),
        "workloads": _sorted([_in_order(workload) for workload in end["workloads"]]),
        "parents": {kind: _sorted(found) for kind, found in end["parents"].items()},
        "events": {about: sorted(set(said)) for about, said in end["events"].items()},
    }


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {name: _in_order(one) for name, one in value.items()}
        return {name: _sorted(one) if name in LISTED else one for name, one in inner.items()}
    return [_in_order(one) for one in value] if isinstance(value, list) else value


def _sorted(some: list[Any]) -> list[Any]:
    return sorted(some, key=lambda one: json.dumps(one, sort_keys=True))
