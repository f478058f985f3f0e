"""The fields that an endpoint does not let anybody change: a write leaves them as they are, and gives them to nobody.

They are what the strategies of the real server name, which is not always all that these strategies reset.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from fleetqueue.embedded.apiserver.patching.elements import ITSELF
from fleetqueue.embedded.apiserver.patching.field_sets import NOTHING, Fields, of_paths, without

ANY_ITEM: Final = "*"


class Reset(NamedTuple):
    fields: Fields
    """Each with all that is inside it."""
    others_than: Fields = NOTHING
    """If there are some, all fields are reset but these; `*` stands for every item of a list."""

    def left(self, fields: Fields) -> Fields:
        """Return the fields of a set that are not reset."""
        return _matching(fields, self.others_than) if self.others_than else without(fields, self.fields)


def _matching(fields: Fields, pattern: Fields) -> Fields:
    matches: Fields = {}
    for element, node in fields.items():
        wanted = pattern.get(element) if element in pattern else pattern.get(ANY_ITEM)
        if wanted is None or element == ITSELF:
            continue
        inside = _matching(node, wanted) if wanted else node
        if inside or not wanted:
            matches[element] = inside
    return matches


RESET_NOTHING: Final = Reset(NOTHING)
_STATUS: Final = Reset(of_paths(("status",)))
_SPEC: Final = Reset(of_paths(("spec",)))
_SPEC_AND_METADATA: Final = Reset(of_paths(("spec",), ("metadata",)))
_MAIN: Final[Mapping[tuple[str, str], Reset]] = {
    ("certificates.k8s.io", "CertificateSigningRequest"): Reset(of_paths(("spec",), ("status",))),
}
_OF_STATUS: Final[Mapping[tuple[str, str], Reset]] = {
    ("", "Pod"): Reset(of_paths(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))),
    ("apps", "Deployment"): Reset(of_paths(("spec",), ("metadata", "labels"))),
    ("certificates.k8s.io", "CertificateSigningRequest"): Reset(of_paths(("spec",), ("status", "conditions"))),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _SPEC_AND_METADATA,
    ("apiregistration.k8s.io", "APIService"): _SPEC_AND_METADATA,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _SPEC_AND_METADATA,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _SPEC_AND_METADATA,
    ("internal.apiserver.k8s.io", "StorageVersion"): _SPEC_AND_METADATA,
    ("networking.k8s.io", "ServiceCIDR"): _SPEC_AND_METADATA,
    ("resource.k8s.io", "DeviceTaintRule"): _SPEC_AND_METADATA,
    ("resource.k8s.io", "ResourceClaim"): _SPEC_AND_METADATA,
    ("resource.k8s.io", "ResourcePoolStatusRequest"): _SPEC_AND_METADATA,
    ("scheduling.k8s.io", "PodGroup"): _SPEC_AND_METADATA,
    ("storage.k8s.io", "VolumeAttachment"): _SPEC_AND_METADATA,
    ("storagemigration.k8s.io", "StorageVersionMigration"): _SPEC_AND_METADATA,
}


def _of_containers(*names: str) -> Fields:
    """Return the pattern of some fields of every container."""
    inside = of_paths(*((name,) for name in names))
    lists = {f"f:{name}": {ANY_ITEM: inside} for name in ("containers", "initContainers")}
    return {"f:spec": lists}


_OF_PARTS: Final[Mapping[tuple[str, str], Reset]] = {
    ("Pod", "ephemeralcontainers"): Reset(NOTHING, of_paths(("spec", "ephemeralContainers"))),
    ("Pod", "resize"): Reset(NOTHING, _of_containers("resources", "resizePolicy")),
    ("CertificateSigningRequest", "approval"): Reset(of_paths(("spec",), ("status", "certificate"))),
}


@cache
def reset_fields(group: str, kind: str, subresource: str, *, is_custom: bool, has_status: bool) -> Reset:
    """Return what a write through an endpoint cannot change."""
    if subresource == "status":
        return _SPEC_AND_METADATA if is_custom else _OF_STATUS.get((group, kind), _SPEC)
    if subresource and not is_custom and (kind, subresource) in _OF_PARTS:
        return _OF_PARTS[kind, subresource]
    return _MAIN.get((group, kind), _STATUS if has_status else RESET_NOTHING)
