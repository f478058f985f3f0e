"""What a scenario ends in, on the hub and on each worker: jobs, Workloads, queues, events; and what was refused.

Left out is what always differs, and what `multikueue.end_state` says is by chance.
"""

import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from .. import pod_objects as pod_shown  # noqa: TID252
from ..kueue_integrations.end_state import OF_GROUP, OWNERS_ADDED  # noqa: TID252
from ..multikueue.end_state import is_by_chance  # noqa: TID252
from ..multikueue.form import WORKERS  # noqa: TID252
from .doing import Actor
from .form import SENT

HASH = re.compile(rf"\b(?:{'|'.join(SENT)})-([a-z]+(?:-\d+)?)-[0-9a-f]{{5}}\b")
BEFORE = re.compile(r"Previously: \w+")
INCOMPLETE = "ErrWorkloadCompose"
"""Said of a group whose pods are looked at while others of it come, or go."""
ALONE = "missing workload"
"""Said of a copy if a worker looks at it between two removals of the hub, that of its Workload and its own."""
OF_PODS = ("PodScheduled", "Ready")
"""What is compared of what a pod says of itself."""
Listed = dict[str, list[Manifest]]
"""The objects of one cluster, by what they are."""


async def end_state(actor: Actor) -> dict[str, Any]:
    fleet = {name: await _listed(actor, name) for name in ("hub", *WORKERS)}
    end = {name: _cluster(listed, actor.words, is_hub=name == "hub") for name, listed in fleet.items()}
    names = {
        raw["metadata"]["uid"]: f"uid of {raw['metadata']['name']} on {where}"
        for where, listed in fleet.items()
        for what in (*actor.words, "workloads")
        for raw in listed[what]
    }
    pods = [raw for listed in fleet.values() for raw in listed.get("pod", ())]
    names |= pod_shown.roles(pods)
    return _certain(shown.in_words({**end, "refusals": actor.refusals}, names, HASH, actor.prefix))


async def _listed(actor: Actor, where: str) -> Listed:
    client, sent = actor.clients[where], {word: SENT[word] for word in actor.words}
    kinds = {**sent, "workloads": kueue.Workload, "local queues": kueue.LocalQueue, "events": Event}
    found = {what: (await client.list(kind.resource, actor.namespace)).items for what, kind in kinds.items()}
    queues = (await client.list(kueue.ClusterQueue.resource)).items
    return {**found, "queues": [raw for raw in queues if raw["metadata"]["name"].startswith(actor.prefix)]}


def _cluster(listed: Listed, words: tuple[str, ...], *, is_hub: bool) -> Manifest:
    return {
        **{word: shown.named(listed[word], SHOWN.get(word, shown.other_job)) for word in words},
        "workloads": shown.named(listed["workloads"], pod_shown.workload if "pod" in words else shown.workload),
        "queues": shown.named(listed["queues"], shown.queue),
        "local queues": shown.named(listed["local queues"], shown.queue),
        "events": shown.events([_told(each) for each in listed["events"] if _is_said(each, is_hub=is_hub)]),
    }


def _certain(end: dict[str, Any]) -> dict[str, Any]:
    """Return an end without what depends on who comes first."""
    for where in ("hub", *WORKERS):
        for workload in end[where]["workloads"].values():
            _forget_order(workload)
            _forget_retry(workload["status"])
    return end


def _forget_order(workload: Manifest) -> None:
    """Forget in which order pods came: Kueue lets go of the Workload of a StatefulSet that has none yet."""
    workload["owners"].sort(key=lambda owner: str(owner["name"]))
    if "StatefulSet" in [owner["kind"] for owner in workload["owners"]]:
        workload["finalizers"] = []


def _forget_retry(status: Manifest) -> None:
    """Forget whether the hub saw that a copy had gone before it reset the checks of a Workload that is deactivated."""
    if "Deactivated" in status["conditions"].get(kueue.EVICTED, ""):
        for check in status.get("admissionChecks", ()):
            check["message"] = BEFORE.sub("Previously: *", check["message"])
            check.pop("retryCount", None)


def _is_said(event: Manifest, *, is_hub: bool) -> bool:
    """Tell whether an event is said whoever comes first."""
    if event["reason"] == INCOMPLETE:
        return False
    return is_hub or not (is_by_chance(event) or event.get("note") == ALONE)


def _told(event: Manifest) -> Manifest:
    """Return an event without the name of a pod, and how many there were: what is said of a group is said to any."""
    about = event["regarding"]
    name = "any" if about["kind"] == Pod.resource.kind else about["name"]
    note = OF_GROUP.sub(r"\g<set>-N-HASH", OWNERS_ADDED.sub("Added N owner", event.get("note", "")))
    return {**event, "regarding": {**about, "name": name}, "note": note}


def _pod(raw: Manifest) -> Manifest:
    """Return a pod; Kubernetes comes by every 20 s, and says of one that goes and is nowhere that it has failed."""
    said = {each["type"]: each["status"] for each in (raw.get("status") or {}).get("conditions") or ()}
    found = {**pod_shown.pod(raw), "says": {kind: said[kind] for kind in OF_PODS if kind in said}}
    return {**found, "phase": "any"} if found["is deleted"] and not found["is bound"] else found


def _stateful_set(raw: Manifest) -> Manifest:
    found = shown.other_job(raw)
    revisions = {name: "REVISION" for name in found["status"] if name.endswith("Revision")}
    return {**found, "status": {**found["status"], **revisions}}


SHOWN = {"pod": _pod, "statefulset": _stateful_set}
