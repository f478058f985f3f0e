"""A pod that stands alone, as a job: what it asks for, whether it waits, and how it ended.

Mirrors: Kueue pkg/controller/jobs/pod/pod_controller.go
"""

from typing import Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.core_v1 import READY, SUCCEEDED, Pod
from fleetqueue.api.kueue_pods import ADMISSION_GATE, POD_INDEX, TOPOLOGY_GATE, has_ended, is_gated
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo, merged
from fleetqueue.embedded.kueue.pods.roles import MAIN
from fleetqueue.rules.job_endings import Ending

GATES: Final = (ADMISSION_GATE, TOPOLOGY_GATE)


class SinglePods:
    kind = Pod

    def is_on_hold(self, job: Manifest) -> bool:
        return False

    def is_elastic(self, job: Manifest) -> bool:
        return False

    def is_suspended(self, job: Manifest) -> bool:
        return is_stopped(job)

    def is_active(self, job: Manifest) -> bool:
        """Tell that nothing is left: who stops a pod deletes it, and does not wait until it has gone."""
        return False

    def ending(self, job: Manifest) -> Ending | None:
        if not has_ended(job):
            return None
        status = job["status"]
        return Ending("Succeeded" if status["phase"] == SUCCEEDED else "Failed", status.get("message", ""))

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        return []

    def pods_ready(self, job: Manifest) -> bool:
        return is_true(job, READY)

    def priority_class(self, job: Manifest) -> str:
        return ""

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return [pod_set_of(job, MAIN, 1)]


def is_stopped(pod: Manifest) -> bool:
    """Tell whether a pod does not run: it has ended, or waits at the gate."""
    return has_ended(pod) or is_gated(pod)


def pod_set_of(pod: Manifest, name: str, count: int) -> Manifest:
    """Return the set of pods like this one; what asks for a topology is in its annotations."""
    made = pod_set(name, {"metadata": pod["metadata"], "spec": pod["spec"]}, count, podIndexLabel=POD_INDEX)
    return {**made, "template": {"spec": made["template"]["spec"]}}


def started(pod: Manifest, info: PodSetInfo) -> Manifest:
    """Return a pod that waits no longer, with what its set was given; raises CannotStart."""
    given = [gate["name"] for gate in info.gates]
    gone = [gate for gate in GATES if gate not in given]
    after = merged(pod, info)
    gates = [gate for gate in after["spec"].get("schedulingGates") or () if gate["name"] not in gone]
    spec = {field: value for field, value in after["spec"].items() if field != "schedulingGates"}
    return {**after, "spec": {**spec, "schedulingGates": gates} if gates else spec}
