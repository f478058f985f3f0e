"""Find out whether a job that must not run twice may have had another Workload, which was deleted unseen.

Reads:   the Job, StatefulSet or LeaderWorkerSet of a Workload

Kueue makes the Workload of a new job at once. One that is much younger than its job may be the second: somebody deleted
the first one while none of our processes ran, and what that one left behind may still run on a lost cluster. Of other
kinds of jobs Kueue makes no second Workload while the hub says that they run.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object, OwnerReference
from fleetqueue.controllers.placement_admission.groups import cluster_of
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.rules.workload_slices import REPLACES

FIRST_SECONDS: Final = 10.0
"""Within so long Kueue has made the Workload of a new job, unless it is very busy."""
CLOCK_SECONDS: Final = 60.0
"""By so much our clock may differ from that of the hub's API server."""

KINDS: Final[Mapping[tuple[str, str], type[Object]]] = {
    (kind.resource.api_version, kind.resource.kind): kind for kind in (Job, StatefulSet, LeaderWorkerSet)
}


def may_be_second(*, job: datetime, workload: datetime, since: datetime) -> bool:
    """Tell whether a job may have had another Workload than this one, unseen. No I/O.

    Args:
        job: when the job was created.
        workload: when its Workload was.
        since: from when on every Workload was seen, by our own clock.
    """
    is_late = workload - job > timedelta(seconds=FIRST_SECONDS)
    return is_late and job < since + timedelta(seconds=CLOCK_SECONDS)


class EarlierWorkloads:
    def __init__(self, objects: HubObjects, past_clusters: PastClusters) -> None:
        self._objects = objects
        self._past_clusters = past_clusters

    async def look(self, workload: kueue.Workload) -> None:
        """Look once at the job of a Workload that was sent nowhere yet."""
        if self._past_clusters.is_open(workload):
            self._past_clusters.note_earlier(workload, follows_unseen=await self._may_be_second(workload))

    async def _may_be_second(self, workload: kueue.Workload) -> bool:
        owner = next((o for o in workload.metadata.owner_references if (o.api_version, o.kind) in KINDS), None)
        joins_another = REPLACES in workload.metadata.annotations or cluster_of(self._objects.siblings(workload))
        created = workload.metadata.creation_timestamp
        if owner is None or joins_another or created is None:
            return False
        try:
            job = await self._job(owner, workload.namespace)
        except errors.Forbidden:
            return True  # what is not known is taken with care
        if job is None or job.metadata.creation_timestamp is None:
            return False  # its Workload is about to go
        return may_be_second(job=job.metadata.creation_timestamp, workload=created, since=self._past_clusters.since)

    async def _job(self, owner: OwnerReference, namespace: str) -> Object | None:
        kind = KINDS[owner.api_version, owner.kind]
        raw = await self._objects.hub.client.find(kind.resource, owner.name, namespace)
        return kind.view(raw) if raw is not None else None
