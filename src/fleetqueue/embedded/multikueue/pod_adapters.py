"""What MultiKueue must know of pods: the hub's stays at the gate, and says how its copy goes.

Mirrors: Kueue pkg/controller/jobs/pod/pod_multikueue_adapter.go
"""

from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import FALSE, TRUE, timestamp
from fleetqueue.api.core_v1 import POD_SCHEDULED, Pod
from fleetqueue.api.kueue_pods import MANAGED_PODS, POD, has_ended, is_deleting, is_gated
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapter_defaults import AdapterDefaults
from fleetqueue.embedded.multikueue.bound_copies import bound_copy

GATED = ("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
KEPT = ("qosClass", "observedGeneration")
"""What the status of a pod says from the beginning, and cannot be taken back."""


class PodAdapter(AdapterDefaults):
    kind = Pod
    framework = POD
    labels = MANAGED_PODS

    def is_to_run(self, job: Manifest) -> bool:
        """Tell whether a pod has still to run: one of a group that has ended did so, wherever it was."""
        return not has_ended(job) and not is_deleting(job)

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        return bound_copy(Pod, job, workload, origin)

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status, but for where it is to run before that is found: autoscalers would make room on the hub.

        A copy that is being deleted tells nothing: it is stopped, and not at its end.
        """
        if is_deleting(job) or is_deleting(copy):
            return job.get("status") or {}
        copied: Manifest = copy.get("status") or {}
        if is_true(copy, POD_SCHEDULED) or not is_gated(job):
            return copied
        return {**copied, "conditions": _with_gate(copied.get("conditions") or (), job, now)}

    def has_ended(self, job: Manifest) -> bool:
        return has_ended(job)

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        """Return the status of a pod that waits at the gate, as it did before it was sent."""
        status: Manifest = job.get("status") or {}
        if not is_gated(job) or not self.is_to_run(job):
            return status
        kept = {field: status[field] for field in KEPT if field in status}
        return {"phase": "Pending", "conditions": _with_gate((), job, now), **kept}


def _with_gate(conditions: Iterable[Manifest], job: Manifest, now: datetime) -> list[Manifest]:
    """Return conditions that say of its scheduling what the hub's pod says, or said before it was sent."""
    gated = _gate(job, now)
    others = [gated if one["type"] == POD_SCHEDULED else one for one in conditions]
    return others if gated in others else [*others, gated]


def _gate(job: Manifest, now: datetime) -> Manifest:
    known = (job.get("status") or {}).get("conditions") or ()
    live: Manifest | None = next((one for one in known if one["type"] == POD_SCHEDULED), None)
    if live is not None and live["status"] != TRUE:
        return live
    reason, message = GATED
    since = timestamp(now)
    said = {"type": POD_SCHEDULED, "status": FALSE, "reason": reason, "message": message}
    return {**said, "lastProbeTime": None, "lastTransitionTime": since}
