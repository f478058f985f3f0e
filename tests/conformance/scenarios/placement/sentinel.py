"""A real hub whose placement controller says how far it got: a Placement of our own tells of each round.

The controller works on one Placement after the other. When its word on the sentinel is about the last change of it,
it got past all that was written before.
"""

import asyncio
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.core_v1 import Namespace

from ..hubs import RealHub  # noqa: TID252 - what the rooms share stands above them

KINDS = (cluster.Placement, cluster.PlacementDecision)
QUIET = 1.2
"""Seconds without a change after which the hub counts as settled; its controller writes every 20 ms at the least."""
QUIET_ALONE = 0.5
"""The same where there is only one scenario."""
PATIENCE = 60.0
SENTINEL = "sentinel"


class SentinelHub(RealHub):
    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._heard = asyncio.Event()
        self._round = 0

    async def settle(self, *, is_alone: bool = False) -> None:
        await self._hear_sentinel()
        await self.quiet_for(QUIET_ALONE if is_alone else QUIET)

    def note(self) -> None:
        super().note()
        if self._is_heard():
            self._heard.set()

    async def post_sentinel(self) -> None:
        """Make a Placement whose message tells how often it was changed."""
        labels = {cluster.CLUSTER_SET_LABEL: SENTINEL}
        spec = {"numberOfClusters": 1, "clusterSets": [SENTINEL]}
        for kind, manifest in (
            (Namespace, Namespace.manifest(SENTINEL)),
            (cluster.ManagedClusterSet, cluster.ManagedClusterSet.manifest(SENTINEL, spec={})),
            (cluster.ManagedCluster, cluster.ManagedCluster.manifest(SENTINEL, labels=labels, spec={})),
            (
                cluster.ManagedClusterSetBinding,
                cluster.ManagedClusterSetBinding.manifest(SENTINEL, SENTINEL, spec={"clusterSet": SENTINEL}),
            ),
            (cluster.Placement, cluster.Placement.manifest(SENTINEL, SENTINEL, spec=spec)),
        ):
            await self.client.create(kind.resource, manifest)

    async def _hear_sentinel(self) -> None:
        self._round += 1
        self._heard.clear()
        patch = {"spec": {"numberOfClusters": 1 + self._round}}
        await self.client.merge(cluster.Placement.resource, SENTINEL, SENTINEL, patch)
        async with asyncio.timeout(PATIENCE):
            await self._heard.wait()

    def _is_heard(self) -> bool:
        placement = self.informers[0].store.get(f"{SENTINEL}/{SENTINEL}")
        said = conditions.find(placement.status.conditions, cluster.PLACEMENT_SATISFIED) if placement else None
        return said is not None and said.message == f"{self._round} cluster decisions unscheduled"
