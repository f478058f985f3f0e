"""What pods that Kueue manages say: that they wait at its gate, to which group they belong, and in which role."""

from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import FAILED, SUCCEEDED
from fleetqueue.api.scheme import Manifest, Resource

POD: Final = "pod"
"""How Kueue's configuration calls pods."""
DEPLOYMENT: Final = "deployment"
STATEFUL_SET: Final = "statefulset"
LEADER_WORKER_SET: Final = "leaderworkerset.x-k8s.io/leaderworkerset"
ABOVE_PODS: Final = (DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET)
"""What is admitted by its pods: who names one of them has pods managed, too."""
ADMISSION_GATE: Final = "kueue.x-k8s.io/admission"
TOPOLOGY_GATE: Final = "kueue.x-k8s.io/topology"
MANAGED: Final = "kueue.x-k8s.io/managed"
"""A label, and the finalizer."""
MANAGED_PODS: Final = f"{MANAGED}=true"
"""The label selector for the pods that Kueue manages."""
SUSPENDING_PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
"""An annotation: the framework of the object above that lets a pod wait."""
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
"""An annotation, or a label."""
GROUP_TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
GROUP_FAST_ADMISSION: Final = "kueue.x-k8s.io/pod-group-fast-admission"
GROUP_SERVING: Final = "kueue.x-k8s.io/pod-group-serving"
RETRIABLE_IN_GROUP: Final = "kueue.x-k8s.io/retriable-in-group"
ROLE_HASH: Final = "kueue.x-k8s.io/role-hash"
GROUP_WORKLOAD: Final = "kueue.x-k8s.io/is-group-workload"
"""An annotation of a Workload that stands for a group of pods; it has the name of the group."""
OWNER_GVK: Final = "kueue.x-k8s.io/job-owner-gvk"
OWNER_NAME: Final = "kueue.x-k8s.io/job-owner-name"
"""Annotations of a Workload for pods of somebody: `apps/v1, Kind=StatefulSet`, and its name."""
COMPONENT_INDEX: Final = "kueue.x-k8s.io/component-workload-index"
"""An annotation of a Workload that is one of several of the same owner."""
ORIGIN_UID: Final = "kueue.x-k8s.io/multikueue-origin-uid"
"""An annotation of what MultiKueue sent: the uid on the hub, after which Workloads are named."""
POD_INDEX: Final = "kueue.x-k8s.io/pod-group-pod-index"
POD_INDEX_LABEL: Final = "kueue.x-k8s.io/pod-group-pod-index-label"
"""An annotation: which label of a pod has its number."""
TERMINATION_TARGET: Final = "TerminationTarget"
"""A condition: Kueue ends the pod."""


def group_name(metadata: Manifest) -> str:
    """Return the group that a pod belongs to; empty where it stands alone."""
    in_annotations = (metadata.get("annotations") or {}).get(GROUP_NAME)
    return in_annotations or (metadata.get("labels") or {}).get(GROUP_NAME) or ""


def is_gated(pod: Manifest, gate: str = ADMISSION_GATE) -> bool:
    return any(one["name"] == gate for one in pod["spec"].get("schedulingGates") or ())


def has_ended(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED)


def is_deleting(pod: Manifest) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def origin_uid(parent: Manifest) -> str:
    """Return the uid of the object of users: of a copy, that on the hub."""
    metadata = parent["metadata"]
    sent = kueue.ORIGIN_LABEL in (metadata.get("labels") or {})
    of_hub = (metadata.get("annotations") or {}).get(ORIGIN_UID) if sent else None
    return str(of_hub or metadata["uid"])


def owner_gvk(resource: Resource) -> str:
    return f"{resource.api_version}, Kind={resource.kind}"
