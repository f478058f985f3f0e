"""What Kueue's own controllers look at of a Workload: all but to which cluster MultiKueue is about to send it."""

from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue


def facts(view: kueue.QueuedWorkload) -> tuple[Any, ...]:
    metadata, status = view.metadata, view.status
    asked = metadata.generation, metadata.deletion_timestamp, metadata.labels, metadata.annotations
    kept = metadata.finalizers, metadata.owner_references
    said = status.conditions, status.admission, status.admission_checks, status.requeue_state, status.reclaimable_pods
    return asked, kept, said
