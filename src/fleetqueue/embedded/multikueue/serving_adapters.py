"""What MultiKueue must know of StatefulSets and LeaderWorkerSets: they are sent once, and say nothing back.

The hub's own controllers go on counting the hub's pods, which wait at the gate: they would overwrite what comes back.

Mirrors: Kueue pkg/controller/jobs/{statefulset,leaderworkerset}/*_multikueue_adapter.go
"""

from datetime import datetime
from typing import Any

from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.fields import without_field
from fleetqueue.api.kueue_pods import LEADER_WORKER_SET, ORIGIN_UID, STATEFUL_SET
from fleetqueue.api.kueue_v1beta2 import PREBUILT_WORKLOAD
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapter_defaults import AdapterDefaults
from fleetqueue.embedded.multikueue.bound_copies import bound_copy


class StatefulSetAdapter(AdapterDefaults):
    kind: type[Any] = StatefulSet
    framework = STATEFUL_SET

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        made = bound_copy(self.kind, job, workload, origin)
        made["metadata"]["annotations"][ORIGIN_UID] = job["metadata"]["uid"]
        return made

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        return job.get("status") or {}

    def has_ended(self, job: Manifest) -> bool:
        """Tell that nothing is waited for: no last status comes back."""
        return True

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        return job.get("status") or {}


class LeaderWorkerSetAdapter(StatefulSetAdapter):
    kind = LeaderWorkerSet
    framework = LEADER_WORKER_SET

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Return a copy for the Workloads of all groups: it names none of them."""
        made = super().copy(job, workload, origin)
        return without_field(made, ("metadata", "annotations", PREBUILT_WORKLOAD))

    def is_outdated(self, job: Manifest, copy: Manifest) -> bool:
        return self.workload_count(job) != self.workload_count(copy)

    def workload_count(self, job: Manifest) -> int:
        """Return how many groups there are: each has a Workload of its own."""
        return int(job["spec"].get("replicas", 1))
