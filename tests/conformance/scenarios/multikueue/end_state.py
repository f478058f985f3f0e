"""What a MultiKueue scenario ends in: on the hub and on each worker; without what always differs."""

import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from .doing import Actor
from .form import WORKERS

Listed = dict[str, list[Manifest]]
"""The objects of one cluster, by what they are."""
KINDS: dict[str, type[Object]] = {
    "jobs": Job,
    "workloads": kueue.Workload,
    "local queues": kueue.LocalQueue,
    "events": Event,
}
OF_ALL: dict[str, type[Object]] = {"queues": kueue.ClusterQueue}
OF_THE_HUB: dict[str, type[Object]] = {"clusters": kueue.MultiKueueCluster, "checks": kueue.AdmissionCheck}
HASH = re.compile(r"\b(?:job|jobset)-([a-z]+)-[0-9a-f]{5}\b")
RAW_ERRORS = "ClientConnectionFailed"
"""Its message is whatever the transport says."""
PENDING = "Pending"
TAKEN_BACK = "The workload is deactivated"
"""How a worker begins to tell of a copy that the hub takes back."""


async def end_state(actor: Actor) -> dict[str, Any]:
    fleet = {name: await _listed(actor, name) for name in ("hub", *WORKERS)}
    return normal(fleet, actor.made, actor.prefix)


async def _listed(actor: Actor, where: str) -> Listed:
    client, cluster_wide = actor.clients[where], {**OF_ALL, **(OF_THE_HUB if where == "hub" else {})}
    kinds = {**KINDS, **({"job sets": JobSet} if actor.has_job_sets else {})}
    found = {what: (await client.list(kind.resource, actor.namespace)).items for what, kind in kinds.items()}
    for what, kind in cluster_wide.items():
        items = (await client.list(kind.resource)).items
        found[what] = [raw for raw in items if raw["metadata"]["name"].startswith(actor.prefix)]
    return found


def normal(fleet: dict[str, Listed], made: list[Manifest], prefix: str) -> dict[str, Any]:
    """Return what is compared of the objects of a fleet, of which some were `made` on the hub."""
    end: dict[str, Any] = {name: _cluster(listed, is_hub=name == "hub") for name, listed in fleet.items()}
    for raw in _own_jobs(fleet["hub"]):
        end["hub"]["jobs"][raw["metadata"]["name"]]["same status on"] = _told_alike(raw, fleet)
    for what in OF_THE_HUB:
        end[what] = shown.named(fleet["hub"][what], _connection)
    names = {
        raw["metadata"]["uid"]: f"uid of {raw['metadata']['name']} on {where}"
        for where, listed in fleet.items()
        for raw in (*listed["jobs"], *listed.get("job sets", ()), *listed["workloads"])
    }
    slices = dict(shown.slice_names(made, Job))
    found = shown.in_words(end, {**names, **slices}, HASH, prefix)
    for cluster in fleet if slices else ():  # what was sorted by names that are made up
        for sentences in found[cluster]["events"].values():
            sentences.sort()
    return found


def _cluster(listed: Listed, *, is_hub: bool) -> Manifest:
    found: Manifest = {
        "jobs": shown.named(_own_jobs(listed), shown.job),
        "workloads": shown.named(listed["workloads"], shown.workload),
        "queues": shown.named(listed["queues"], shown.queue),
        "local queues": shown.named(listed["local queues"], shown.queue),
        "events": shown.events([each for each in listed["events"] if is_hub or not is_by_chance(each)]),
    }
    if "job sets" in listed:
        found["job sets"] = shown.named(listed["job sets"], job_set)
    return found


def is_by_chance(event: Manifest) -> bool:
    """Tell whether a worker only says it if it looks at a copy before the hub, which has a winner, removes it."""
    return event["reason"] == PENDING or str(event.get("note", "")).startswith(TAKEN_BACK)


def _told_alike(job: Manifest, fleet: dict[str, Listed]) -> list[str]:
    """Return the workers whose Job says to the second what the hub's says."""
    name, status = job["metadata"]["name"], job.get("status")
    return [
        worker
        for worker in WORKERS
        for raw in fleet[worker]["jobs"]
        if raw["metadata"]["name"] == name and raw.get("status") == status
    ]


def _own_jobs(listed: Listed) -> list[Manifest]:
    """Return the Jobs that were not made by our stand-in for JobSet's controller, which nobody judges here."""
    return [raw for raw in listed["jobs"] if not _is_of_job_set(raw)]


def _is_of_job_set(raw: Manifest) -> bool:
    return any(owner["kind"] == JobSet.resource.kind for owner in raw["metadata"].get("ownerReferences") or ())


def job_set(raw: Manifest) -> Manifest:
    """Return a JobSet; that it was resumed our stand-in only says if it has seen it suspended before."""
    found = {**shown.header(raw), "spec": raw["spec"], "status": shown.told(raw)}
    if found["status"]["conditions"].get("Suspended", "").startswith("False"):
        del found["status"]["conditions"]["Suspended"]
    return found


def _connection(raw: Manifest) -> dict[str, str]:
    """Return what a cluster or a check says of being reached."""
    return {kind: _without_raw_error(text) for kind, text in shown.conditions(raw).items()}


def _without_raw_error(text: str) -> str:
    head, _, _ = text.partition(": ")
    return head if head.endswith(RAW_ERRORS) else text
