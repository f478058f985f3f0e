"""Nominate a few clusters at a time: the next ones when those before have not admitted a Workload in five minutes.

Reads:   Workload, AdmissionCheck, MultiKueueConfig
Writes:  Workload status (as `kueue-admission`)
Mirrors: Kueue pkg/controller/workloaddispatcher

A nomination is never taken back; and the rounds begin when the other checks are ready, not before.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.group_lookup import WorkloadGroups
from fleetqueue.embedded.multikueue.workload_group import WorkloadGroup
from fleetqueue.rules import workload_admission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

ROUND_SECONDS: Final = 300.0

log = Log("multikueue")


class IncrementalDispatcher(Controller):
    name = "multikueue incremental dispatcher"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, groups: WorkloadGroups) -> None:
        super().__init__(hub, metrics)
        self.groups = groups
        self._rounds: dict[str, float] = {}
        """When the last round of each Workload began."""

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(kueue.QueuedWorkload, by_key), Watch(kueue.MultiKueueConfig, self._of_config)

    async def reconcile(self, key: str) -> None:
        local_entry, group = self.groups.local(key), self.groups.find(key)
        if local_entry is None or not isinstance(group, WorkloadGroup) or not is_dispatched(group):
            self._rounds.pop(key, None)
            return
        left = self._rounds.get(key, -ROUND_SECONDS) + ROUND_SECONDS - clock.monotonic()
        given = group.local.status.nominated_cluster_names
        if key in self._rounds and given and left > 0:
            raise errors.RetryLater(left, "the clusters of this round have time until then")
        more = next_clusters(group.listed or (), given, self.groups.settings.step_size)
        if not more:
            return
        manifest = workload_admission.patch(local_entry[1], nominatedClusterNames=[*given, *more])
        await apply_admission(self.hub.client, manifest)
        self._rounds[key] = clock.monotonic()
        log.info("clusters nominated", workload=key, clusters=",".join(more))

    def _of_config(self, config: kueue.MultiKueueConfig) -> Iterable[str]:
        return [view.key for view in self.hub.list(kueue.QueuedWorkload) if not view.status.cluster_name]


def is_dispatched(group: WorkloadGroup) -> bool:
    """Tell whether clusters have to be nominated for a Workload now."""
    local = group.local
    is_waiting = local.is_live and local.has_quota and not local.status.cluster_name
    leads = group.siblings is None or group.siblings.leads
    return is_waiting and leads and group.check.state == kueue.PENDING and group.others_are_ready


def next_clusters(listed: Sequence[str], nominated: Sequence[str], step: int) -> list[str]:
    """Return the next clusters, in the order of the config."""
    return [cluster for cluster in listed if cluster not in nominated][:step]
