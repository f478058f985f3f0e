"""The pods of objects that are admitted by them: when they must not wait any more, and how they are marked.

Mirrors: Kueue pkg/util/statefulset
"""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api.kueue_pods import ADMISSION_GATE, TOPOLOGY_GATE
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields

REVISION: Final = "controller-revision-hash"


def is_outdated(pod: Manifest, stateful_set: Manifest) -> bool:
    """Tell whether another revision takes the place of a pod: it must not wait any more, or nothing goes on."""
    status = stateful_set.get("status") or {}
    current, update = status.get("currentRevision"), status.get("updateRevision")
    return bool(current != update and current == job_fields.labels(pod).get(REVISION))


def ungated(pod: Manifest) -> Manifest:
    """Return a pod that waits at no gate of Kueue's."""
    gates = pod["spec"].get("schedulingGates") or []
    kept = [gate for gate in gates if gate["name"] not in (ADMISSION_GATE, TOPOLOGY_GATE)]
    if len(kept) == len(gates):
        return pod
    rest = {field: value for field, value in pod["spec"].items() if field != "schedulingGates"}
    return {**pod, "spec": {**rest, "schedulingGates": kept} if kept else rest}


def with_marks(pod: Manifest, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    """Return a pod with more labels and annotations."""
    metadata = pod["metadata"]
    more = {
        "labels": {**job_fields.labels(pod), **labels},
        "annotations": {**job_fields.annotations(pod), **annotations},
    }
    return {**pod, "metadata": {**metadata, **{field: value for field, value in more.items() if value}}}
