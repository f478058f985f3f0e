"""What a queue scenario ends in: Workloads, queues and all that they hang on, and events."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from .. import kueue_objects as shown  # noqa: TID252 - what the rooms share stands above them
from ..whole_objects import in_words, whole  # noqa: TID252
from .form import namespace

Listed = dict[str, list[Manifest]]
"""The objects of a scenario, by what they are."""
KINDS: dict[str, type[Object]] = {"workloads": kueue.Workload, "local queues": kueue.LocalQueue, "events": Event}
CLUSTER_WIDE: dict[str, type[Object]] = {
    "queues": kueue.ClusterQueue,
    "cohorts": kueue.Cohort,
    "flavors": kueue.ResourceFlavor,
    "checks": kueue.AdmissionCheck,
}
ANY_NOTE = ("Pending", "PreemptedWorkload")
"""Events of one reason about one version of an object are one, with the first note; which is first is a matter of time.
Why somebody waits in the end stands in its condition."""


async def end_state(client: Client, prefix: str, further: Mapping[str, type[Object]] = {}) -> dict[str, Any]:
    """Return what is compared: what all rooms have, and `further` kinds that have no namespace."""
    cluster_wide = {**CLUSTER_WIDE, **further}
    listed = {what: (await client.list(kind.resource, namespace(prefix))).items for what, kind in KINDS.items()}
    for what, kind in cluster_wide.items():
        found = (await client.list(kind.resource)).items
        listed[what] = [raw for raw in found if raw["metadata"]["name"].startswith(prefix)]
    return normal(listed, prefix)


def normal(listed: Listed, prefix: str) -> dict[str, Any]:
    """Return what is compared of the objects of a scenario."""
    end = {what: shown.named(listed[what], whole) for what in listed if what not in KINDS}
    end["local queues"] = shown.named(listed["local queues"], partial(_local_queue, listed["workloads"]))
    end["workloads"] = shown.named(listed["workloads"], shown.workload)
    end["events"] = shown.events([_without_chance(event) for event in listed["events"]])
    found: dict[str, Any] = in_words(end, listed["workloads"], prefix)
    return {what: some for what, some in found.items() if some}


def _local_queue(workloads: list[Manifest], raw: Manifest) -> Manifest:
    """Return a LocalQueue with all who wait in it.

    Kueue does not count whom it tries at the moment, which may be one of them, over and over.
    """
    found = whole(raw)
    waiting = sum(_waits_in(raw["metadata"]["name"], kueue.Workload.view(each)) for each in workloads)
    if found["status"].get("pendingWorkloads") == waiting - 1:
        found["status"]["pendingWorkloads"] = waiting
    return found


def _waits_in(queue: str, workload: kueue.Workload) -> bool:
    return workload.spec.queue_name == queue and workload.is_live and not workload.is_true(kueue.QUOTA_RESERVED)


def _without_chance(event: Manifest) -> Manifest:
    return {**event, "note": "..."} if event["reason"] in ANY_NOTE else event
