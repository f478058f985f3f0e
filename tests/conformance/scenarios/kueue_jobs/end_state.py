"""What a job scenario ends in: jobs, Workloads, queues, events and refusals; without what always differs."""

import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from .doing import Actor, workload_names
from .form import JOB_KINDS

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
KINDS = {"jobs": Job, "workloads": kueue.Workload, "local queues": kueue.LocalQueue, "events": Event}
HASH = re.compile(rf"(?:job|{'|'.join(JOB_KINDS)})-([a-z]+)-[0-9a-f]{{5}}\b")


async def end_state(client: Client, actor: Actor) -> dict[str, Any]:
    listed = {what: (await client.list(kind.resource, actor.namespace)).items for what, kind in KINDS.items()}
    listed["jobs of other kinds"] = [
        raw for kind in JOB_KINDS.values() for raw in (await client.list(kind.resource, actor.namespace)).items
    ]
    queues = (await client.list(kueue.ClusterQueue.resource)).items
    if actor.said.get("pods"):
        listed["pods"] = (await client.list(Pod.resource, actor.namespace)).items
    listed["queues"] = [raw for raw in queues if raw["metadata"]["name"].startswith(actor.prefix)]
    return normal(listed, actor.made, actor.refusals, actor.prefix)


def normal(listed: Listed, made: list[Manifest], refusals: list[str], prefix: str) -> dict[str, Any]:
    """Return what is compared of the objects of a scenario, of which some were `made` by it."""
    end = {
        "jobs": shown.named(listed["jobs"], shown.job) | shown.named(listed["jobs of other kinds"], shown.other_job),
        "workloads": shown.named(listed["workloads"], shown.workload),
        "queues": shown.named(listed["queues"], shown.queue),
        "local queues": shown.named(listed["local queues"], shown.queue),
        "events": shown.events(listed["events"]),
        "refusals": refusals,
    }
    if "pods" in listed:
        end["pods"] = [*map(shown.pod, listed["pods"])]
    objects = (*listed["jobs"], *listed["jobs of other kinds"], *listed["workloads"])
    uids = {raw["metadata"]["uid"]: f"uid of {raw['metadata']['name']}" for raw in objects}
    names = dict(workload_names(listed["workloads"]))
    slices = {name: called for kind in (Job, *JOB_KINDS.values()) for name, called in shown.slice_names(made, kind)}
    found = shown.in_words(end, {**uids, **names, **slices}, HASH, prefix)
    if slices:  # what was sorted by names that are made up
        for sentences in (*found["events"].values(), found.get("pods", [])):
            sentences.sort(key=str)
    return found
