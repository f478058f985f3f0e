"""What a StatefulSet says of itself: how many pods it has, of which revisions, and how far an update is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet, is_running_and_ready, revision_of


@dataclass(frozen=True, slots=True)
class SetRevisions:
    current: ControllerRevision
    """From before an update; where none is under way, the same as the other."""
    update: ControllerRevision
    """Of the present template."""
    collisions: int = 0


def wanted_status(
    stateful_set: StatefulSet, pods: Sequence[Pod], revisions: SetRevisions, now: datetime, *, replaced: int = 0
) -> Manifest:
    """Return the status that fits what is seen; `replaced` are pods that were deleted just now for an update."""
    ready = [pod for pod in pods if is_running_and_ready(pod)]
    marks = [revision_of(pod) for pod in pods if not pod.is_deleting]
    current = max(marks.count(revisions.current.name) - replaced, 0)  # what was deleted may be of an older revision
    updated = marks.count(revisions.update.name)
    is_updated = stateful_set.rolls and {updated, len(ready), len(pods)} == {stateful_set.spec.replicas}
    numbers = {
        "readyReplicas": len(ready),
        "currentReplicas": updated if is_updated else current,
        "updatedReplicas": updated,
    }
    return {
        "observedGeneration": stateful_set.metadata.generation,
        "replicas": len(pods),
        "availableReplicas": sum(stateful_set.has_available(pod, now) for pod in ready),
        **{name: number for name, number in numbers.items() if number},
        "currentRevision": (revisions.update if is_updated else revisions.current).name,
        "updateRevision": revisions.update.name,
        "collisionCount": revisions.collisions,
    }
