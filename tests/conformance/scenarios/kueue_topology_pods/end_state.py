"""What a scenario ends in: jobs, Workloads, queues, events, and each pod with its gates and where it may run.

Names of pods are drawn: pods are listed in the order of what is said of them, and events are about any of them. What
the admission plugins of a real API server give every pod is left out.
"""

import re
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from .. import pod_objects as pod_shown  # noqa: TID252
from ..multikueue.end_state import job_set  # noqa: TID252
from .doing import Actor

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
KINDS: dict[str, type[Object]] = {
    "jobs": Job,
    "job sets": JobSet,
    "pods": Pod,
    "workloads": kueue.Workload,
    "local queues": kueue.LocalQueue,
    "events": Event,
}
SPEAKERS = ("kueue", "tas-")
"""What stands in the names of Kueue's controllers; those of pods and nodes have names of their own."""
HASH = re.compile(r"\b(?:job|jobset|pod)-([a-z]+)-[0-9a-f]{5}\b")


async def end_state(client: Client, actor: Actor) -> dict[str, Any]:
    listed = {what: (await client.list(kind.resource, actor.namespace)).items for what, kind in KINDS.items()}
    queues = (await client.list(kueue.ClusterQueue.resource)).items
    listed["queues"] = [raw for raw in queues if raw["metadata"]["name"].startswith(actor.prefix)]
    end = {
        "jobs": shown.named(listed["jobs"], shown.job),
        "job sets": shown.named(listed["job sets"], job_set),
        "pods": [*map(pod_shown.pod, listed["pods"])],
        "workloads": shown.named(listed["workloads"], pod_shown.workload),
        "queues": shown.named(listed["queues"], shown.queue),
        "local queues": shown.named(listed["local queues"], shown.queue),
        "events": shown.events([_of_any_pod(each) for each in listed["events"]], SPEAKERS),
        "refusals": actor.refusals,
    }
    found = shown.in_words(end, _names(listed), HASH, actor.prefix)
    found["pods"].sort(key=str)
    return found


def _names(listed: Listed) -> dict[str, str]:
    """Return what is made up, and how it is called."""
    objects = [raw for what in ("jobs", "job sets", "pods", "workloads") for raw in listed[what]]
    uids = {raw["metadata"]["uid"]: f"uid of {raw['metadata']['name']}" for raw in objects}
    return {**uids, **pod_shown.roles(listed["pods"])}


def _of_any_pod(event: Manifest) -> Manifest:
    about = event["regarding"]
    return {**event, "regarding": {**about, "name": "any"}} if about["kind"] == Pod.resource.kind else event
