"""The Workloads of objects that are admitted by their pods: they are made beforehand, and stand for a group of pods.

All functions are pure.
"""

from collections.abc import Mapping, Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import GROUP_WORKLOAD, OWNER_GVK, OWNER_NAME, owner_gvk
from fleetqueue.api.meta import Object, owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority, annotations_of, asked_for


def workload_for(
    kind: type[Object],
    parent: Manifest,
    name: str,
    pod_sets: Sequence[Manifest],
    priority: Priority,
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> Manifest:
    metadata = parent["metadata"]
    made = kueue.Workload.manifest(
        name,
        metadata["namespace"],
        labels={**labels, kueue.JOB_UID_LABEL: metadata["uid"]},
        annotations={
            **annotations_of(parent),
            GROUP_WORKLOAD: "true",
            **owner_annotations(kind, parent),
            **annotations,
        },
        spec=asked_for(parent, pod_sets, priority),
    )
    made["metadata"] |= {"finalizers": [names.IN_USE], "ownerReferences": [owned_by(kind, parent)]}
    return made


def owner_annotations(kind: type[Object], parent: Manifest) -> dict[str, str]:
    """Return what a Workload keeps of its owner, also when that is gone."""
    return {OWNER_GVK: owner_gvk(kind.resource), OWNER_NAME: parent["metadata"]["name"]}


def owned_by(kind: type[Object], parent: Manifest) -> Manifest:
    return owner_reference(kind.resource, parent["metadata"]["name"], parent["metadata"]["uid"])


def is_owned_by(workload: Manifest, parent: Manifest) -> bool:
    owners = workload["metadata"].get("ownerReferences") or ()
    return parent["metadata"]["uid"] in [owner["uid"] for owner in owners]


def is_sent(parent: Manifest) -> bool:
    """Tell whether MultiKueue sent an object here: then its Workload comes from the hub, too."""
    return kueue.ORIGIN_LABEL in job_fields.labels(parent)
