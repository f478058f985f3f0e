"""Kinds that an embedded cluster stores and does not act on, and the warning for who writes such an object.

The table is also in docs/*/reference/differences.md; a test keeps both equal.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest

ADMISSION: Final = "admissionregistration.k8s.io"
FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io"
NETWORKING: Final = "networking.k8s.io"
RESOURCE: Final = "resource.k8s.io"
STORAGE: Final = "storage.k8s.io"


class InertKind(NamedTuple):
    kind: str
    what: str
    """What does not happen, as the end of a sentence."""


INERT: Final[Mapping[tuple[str, str], InertKind]] = {
    (ADMISSION, "validatingadmissionpolicies"): InertKind("ValidatingAdmissionPolicy", "no write is judged by it"),
    (ADMISSION, "validatingadmissionpolicybindings"): InertKind(
        "ValidatingAdmissionPolicyBinding", "no write is judged by its policy"
    ),
    (ADMISSION, "mutatingadmissionpolicies"): InertKind("MutatingAdmissionPolicy", "no object is changed by it"),
    (ADMISSION, "mutatingadmissionpolicybindings"): InertKind(
        "MutatingAdmissionPolicyBinding", "no object is changed by its policy"
    ),
    (ADMISSION, "validatingwebhookconfigurations"): InertKind(
        "ValidatingWebhookConfiguration", "no webhook is called; those of Kueue, JobSet and OCM are built in"
    ),
    (ADMISSION, "mutatingwebhookconfigurations"): InertKind(
        "MutatingWebhookConfiguration", "no webhook is called; those of Kueue, JobSet and OCM are built in"
    ),
    ("", "resourcequotas"): InertKind("ResourceQuota", "nothing is counted or refused by it"),
    ("", "limitranges"): InertKind(
        "LimitRange", "no pod gets its defaults or is refused by it; only Kueue reads it, for its Workloads"
    ),
    ("autoscaling", "horizontalpodautoscalers"): InertKind("HorizontalPodAutoscaler", "nothing is scaled by it"),
    ("policy", "poddisruptionbudgets"): InertKind("PodDisruptionBudget", "no eviction asks it"),
    (NETWORKING, "networkpolicies"): InertKind("NetworkPolicy", "pods have no network that it could restrict"),
    (NETWORKING, "ingresses"): InertKind("Ingress", "nothing listens for it"),
    (NETWORKING, "ingressclasses"): InertKind("IngressClass", "nothing listens for its Ingresses"),
    (NETWORKING, "ipaddresses"): InertKind("IPAddress", "Services get their addresses without it"),
    (NETWORKING, "servicecidrs"): InertKind("ServiceCIDR", "Services get their addresses without it"),
    ("", "replicationcontrollers"): InertKind("ReplicationController", "no pod is made for it"),
    ("", "persistentvolumes"): InertKind("PersistentVolume", "no claim is bound to it"),
    ("", "persistentvolumeclaims"): InertKind(
        "PersistentVolumeClaim", "it is not bound to a volume, and no pod waits for that"
    ),
    (STORAGE, "storageclasses"): InertKind("StorageClass", "no volume is made for it"),
    (STORAGE, "volumeattributesclasses"): InertKind("VolumeAttributesClass", "no volume is changed by it"),
    (STORAGE, "volumeattachments"): InertKind("VolumeAttachment", "no volume is attached"),
    (STORAGE, "csidrivers"): InertKind("CSIDriver", "no driver is asked"),
    (STORAGE, "csinodes"): InertKind("CSINode", "no driver is asked"),
    (STORAGE, "csistoragecapacities"): InertKind("CSIStorageCapacity", "the scheduler does not look at it"),
    (RESOURCE, "deviceclasses"): InertKind("DeviceClass", "no device is allocated by it"),
    (RESOURCE, "resourceclaims"): InertKind("ResourceClaim", "no device is allocated for it"),
    (RESOURCE, "resourceclaimtemplates"): InertKind("ResourceClaimTemplate", "no claim is made from it"),
    (RESOURCE, "resourceslices"): InertKind("ResourceSlice", "its devices are not allocated"),
    ("node.k8s.io", "runtimeclasses"): InertKind(
        "RuntimeClass", "pods run as without it; only Kueue reads it, for the overhead of its Workloads"
    ),
    (FLOW_CONTROL, "flowschemas"): InertKind("FlowSchema", "requests are not put into queues"),
    (FLOW_CONTROL, "prioritylevelconfigurations"): InertKind(
        "PriorityLevelConfiguration", "requests are not put into queues"
    ),
}


class InertKindWarnings:
    """A link of the admission chain that lets everything through, and says what will come of it."""

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        inert = INERT.get((review.resource.group, review.resource.plural))
        if inert is not None and review.new is not None and not review.subresource:
            review.warnings.append(warning(inert))
        return review.new


def warning(inert: InertKind) -> str:
    article = "an" if inert.kind[0] in "AEIO" else "a"
    return f"an embedded cluster stores {article} {inert.kind} and does not act on it: {inert.what}"
