"""What happens to a job whose cluster is lost: what its owner asks for, or else its ClusterQueue.

- `rerun`: after a time it is started elsewhere, as Kueue does alone; the lost cluster may still run it.
- `wait`: nobody else gets it before the cluster has answered, or an administrator has given the cluster up.
- `fence`: elsewhere as soon as the agent on the cluster has surely stopped it; where nobody promised that, as `wait`.
"""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import FENCE, LOST_WORKER, POLICIES, RERUN, WAIT
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects


def policy_of(text: str) -> str:
    """Return what an annotation asks for; what nobody knows is taken with care."""
    return text if text in POLICIES else WAIT if text else RERUN


class LostWorkerPolicies:
    def __init__(self, objects: HubObjects) -> None:
        self._objects = objects

    def text(self, workload: kueue.Workload) -> str:
        """Return the annotation as it is written; empty where there is none."""
        if own := workload.annotation(LOST_WORKER):
            return own
        queue = self._objects.cluster_queue_of(workload)
        return queue.metadata.annotations.get(LOST_WORKER, "") if queue is not None else ""

    def of(self, workload: kueue.Workload) -> str:
        return policy_of(self.text(workload))

    def is_rerun(self, workload: kueue.Workload) -> bool:
        return self.of(workload) == RERUN

    def is_fence(self, workload: kueue.Workload) -> bool:
        return self.of(workload) == FENCE
