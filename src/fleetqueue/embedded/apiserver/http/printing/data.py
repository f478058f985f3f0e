"""Rows of what is kept and who may: configuration, secrets, volumes, accounts, roles, certificates."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age, human
from fleetqueue.embedded.apiserver.http.printing.clusters import counted, named
from fleetqueue.embedded.apiserver.http.printing.columns import Printer, columns
from fleetqueue.embedded.apiserver.http.printing.wording import NONE, UNSET, at, created, items, name_of

ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
RBAC: Final = "rbac.authorization.k8s.io"


def config_map(obj: Manifest, now: datetime) -> list[Any]:
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [name_of(obj), count, age(created(obj), now)]


def secret(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or {}), age(created(obj), now)]


def resource_quota(obj: Manifest, now: datetime) -> list[Any]:
    hard, used = at(obj, "status", "hard") or {}, at(obj, "status", "used") or {}
    usage = {name: f"{name}: {used.get(name, 0)}/{hard[name]}" for name in sorted(hard)}
    requests = ", ".join(text for name, text in usage.items() if not name.startswith("limits."))
    limits = ", ".join(text for name, text in usage.items() if name.startswith("limits."))
    return [name_of(obj), requests, limits, age(created(obj), now)]


# Volumes


def volume(obj: Manifest, now: datetime) -> list[Any]:
    spec, claim = obj.get("spec") or {}, at(obj, "spec", "claimRef")
    return [
        name_of(obj),
        at(spec, "capacity", "storage") or "0",
        _access(items(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        at(obj, "status", "reason") or "",
        age(created(obj), now),
        spec.get("volumeMode") or UNSET,
    ]


def volume_claim(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    is_bound = bool(spec.get("volumeName"))
    return [
        name_of(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        (at(obj, "status", "capacity", "storage") or "0") if is_bound else "",
        _access(items(obj, "status", "accessModes")) if is_bound else "",
        _storage_class(obj),
        spec.get("volumeAttributesClassName") or UNSET,
        age(created(obj), now),
        spec.get("volumeMode") or UNSET,
    ]


def _phase(obj: Manifest) -> str:
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else str(at(obj, "status", "phase") or "")


def _access(modes: Any) -> str:
    return ",".join(short for mode, short in ACCESS_MODES.items() if mode in modes)


def _storage_class(obj: Manifest) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return annotated or at(obj, "spec", "storageClassName") or ""


def storage_class(obj: Manifest, now: datetime) -> list[Any]:
    is_default = (obj["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    reclaim, binding = obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", "Immediate")
    name = name_of(obj) + (" (default)" if is_default else "")
    expands = bool(obj.get("allowVolumeExpansion"))
    return [name, obj.get("provisioner", ""), reclaim, binding, expands, age(created(obj), now)]


def volume_attributes_class(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("driverName", ""), age(created(obj), now)]


def volume_attachment(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    shown = [spec.get("attacher", ""), at(spec, "source", "persistentVolumeName") or "", spec.get("nodeName", "")]
    return [name_of(obj), *shown, bool(at(obj, "status", "attached")), age(created(obj), now)]


def csi_driver(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    tokens = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if tokens is None else ",".join(str(one.get("audience", "")) for one in tokens),
        bool(spec.get("requiresRepublish")),
        ",".join(items(spec, "volumeLifecycleModes")) or NONE,
        age(created(obj), now),
    ]


# Who


def binding(obj: Manifest, now: datetime) -> list[Any]:
    role, subjects = obj.get("roleRef") or {}, items(obj, "subjects")
    shown = [name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", age(created(obj), now)]
    users, groups = ([one["name"] for one in subjects if one.get("kind") == kind] for kind in ("User", "Group"))
    accounts = [f"{one.get('namespace', '')}/{one['name']}" for one in subjects if one.get("kind") == "ServiceAccount"]
    return [*shown, ", ".join(users), ", ".join(groups), ", ".join(accounts)]


def signing_request(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    wanted = NONE if seconds is None else human(seconds)
    shown = [name_of(obj), age(created(obj), now), spec.get("signerName") or NONE, spec.get("username", "")]
    return [*shown, wanted, _request_state(obj)]


def _request_state(obj: Manifest) -> str:
    kinds = {one.get("type") for one in items(obj, "status", "conditions")}
    state = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    failed = ",Failed" if "Failed" in kinds else ""
    return state + failed + (",Issued" if at(obj, "status", "certificate") else "")


BINDING: Final = Printer(columns("Name|Role|Age|Users*|Groups*|ServiceAccounts*"), binding)
VOLUME_COLUMNS: Final = (
    "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*"
)
CLAIM_COLUMNS: Final = "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*"
CLASS_COLUMNS: Final = "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"
DRIVER_COLUMNS: Final = (
    "Name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean"
    "|TokenRequests|RequiresRepublish:boolean|Modes|Age"
)
DATA: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "configmaps"): Printer(columns("Name|Data|Age"), config_map),
    ("", "secrets"): Printer(columns("Name|Type|Data|Age"), secret),
    ("", "serviceaccounts"): Printer(columns("Name|Age"), named),
    ("", "resourcequotas"): Printer(columns("Name|Request|Limit|Age"), resource_quota),
    ("", "persistentvolumes"): Printer(columns(VOLUME_COLUMNS), volume),
    ("", "persistentvolumeclaims"): Printer(columns(CLAIM_COLUMNS), volume_claim),
    ("storage.k8s.io", "storageclasses"): Printer(columns(CLASS_COLUMNS), storage_class),
    ("storage.k8s.io", "volumeattributesclasses"): Printer(columns("Name|DriverName|Age"), volume_attributes_class),
    ("storage.k8s.io", "volumeattachments"): Printer(
        columns("Name|Attacher|PV|Node|Attached:boolean|Age"), volume_attachment
    ),
    ("storage.k8s.io", "csinodes"): Printer(columns("Name|Drivers:integer|Age"), counted("spec", "drivers")),
    ("storage.k8s.io", "csidrivers"): Printer(columns(DRIVER_COLUMNS), csi_driver),
    (RBAC, "rolebindings"): BINDING,
    (RBAC, "clusterrolebindings"): BINDING,
    ("certificates.k8s.io", "certificatesigningrequests"): Printer(
        columns("Name|Age|SignerName|Requestor|RequestedDuration|Condition"), signing_request
    ),
}
