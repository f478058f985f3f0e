"""What becomes of an object that is already there when a manifest is applied with the strategy `Update`.

Of labels, annotations and owners only those that the manifest names are touched; a key that ends in `-` takes one away.
Of the well-known kinds certain fields are replaced; of any other kind the whole object is, besides metadata and status.

Mirrors: OCM work/spoke/apply/update_apply.go, library-go pkg/operator/resource/{resourceapply,resourcemerge}
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest

SPEC_HASH: Final = "operator.openshift.io/spec-hash"
_RBAC: Final = "rbac.authorization.k8s.io/v1"
_PORT_FIELDS: Final = ("name", "protocol", "appProtocol", "port", "targetPort", "nodePort")
_SERVICE_FIELDS: Final = (
    "ports",
    "selector",
    "clusterIP",
    "clusterIPs",
    "type",
    "externalIPs",
    "sessionAffinity",
    "loadBalancerIP",
    "loadBalancerSourceRanges",
    "externalName",
    "externalTrafficPolicy",
    "healthCheckNodePort",
    "publishNotReadyAddresses",
    "sessionAffinityConfig",
    "ipFamilies",
    "ipFamilyPolicy",
    "allocateLoadBalancerNodePorts",
    "loadBalancerClass",
    "internalTrafficPolicy",
    "trafficDistribution",
)
"""In the order in which Go writes them, which a hash shows."""


def required(manifest: Manifest, owner: Manifest) -> Manifest:
    """Return what is wanted of an object: its manifest without a uid, and with its owner."""
    metadata = {name: value for name, value in (manifest.get("metadata") or {}).items() if name != "uid"}
    wanted = {**manifest, "metadata": {**metadata, "ownerReferences": [owner]}}
    kind = (manifest["apiVersion"], manifest["kind"])
    if kind == ("v1", "Secret"):
        return _with_all_data(wanted)
    if kind == ("v1", "Service"):
        annotations = {**(metadata.get("annotations") or {}), SPEC_HASH: _service_hash(manifest.get("spec") or {})}
        wanted["metadata"]["annotations"] = annotations
    return wanted


def removing(owner: Manifest) -> Manifest:
    """Return the mark that takes an owner away."""
    return {**owner, "uid": f"{owner['uid']}-"}


def new(wanted: Manifest) -> Manifest:
    """Return an object to be created: without the marks that only take something away."""
    metadata = dict(wanted["metadata"])
    for part in ("labels", "annotations"):
        if metadata.get(part):
            metadata[part] = {key: value for key, value in metadata[part].items() if not key.endswith("-")}
    owners = [owner for owner in metadata.get("ownerReferences") or () if not owner["uid"].endswith("-")]
    metadata["ownerReferences"] = owners
    return {**wanted, "metadata": metadata if owners else _without(metadata, "ownerReferences")}


def merged(existing: Manifest, wanted: Manifest) -> Manifest:
    """Return the object as it shall be; equal to the existing one where nothing is to be written."""
    metadata = merged_metadata(existing["metadata"], wanted["metadata"])
    merge = _KNOWN.get((wanted["apiVersion"], wanted["kind"]))
    if merge is not None:
        content = merge(_content(existing), _content(wanted), metadata != existing["metadata"])
        result = {**existing, **content, "metadata": metadata}
        return {name: value for name, value in result.items() if value is not None}
    if _content(existing) == _content(wanted):
        return {**existing, "metadata": metadata}
    identity = {name: wanted["metadata"][name] for name in ("name", "namespace") if name in wanted["metadata"]}
    return {**wanted, "metadata": {**metadata, **identity}}


def merged_metadata(existing: Manifest, wanted: Manifest) -> Manifest:
    metadata = dict(existing)
    for part in ("labels", "annotations"):
        if changed := _merged_map(existing.get(part) or {}, wanted.get(part) or {}):
            metadata[part] = changed
        else:
            metadata.pop(part, None)
    owners = merged_owners(existing.get("ownerReferences") or (), wanted.get("ownerReferences") or ())
    return {**metadata, "ownerReferences": owners} if owners else _without(metadata, "ownerReferences")


def merged_owners(existing: Sequence[Manifest], wanted: Sequence[Manifest]) -> list[Manifest]:
    """Set owners, which are known by group, kind and name; a uid that ends in `-` takes one away."""
    owners = list(existing)
    for owner in wanted:
        place = next((i for i, known_owner in enumerate(owners) if _is_same(known_owner, owner)), None)
        if owner["uid"].endswith("-"):
            if place is not None:
                del owners[place]
        elif place is None:
            owners.append(owner)
        else:
            owners[place] = owner
    return owners


def _is_same(one: Manifest, other: Manifest) -> bool:
    def identity(owner: Manifest) -> tuple[str, str, str]:
        return owner["apiVersion"].rpartition("/")[0], owner["kind"], owner["name"]

    return identity(one) == identity(other)


def _merged_map(existing: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    result = dict(existing)
    for key, value in wanted.items():
        if key.endswith("-"):
            result.pop(key.rstrip("-"), None)
        else:
            result[key] = value
    return result


Merge = Callable[[Manifest, Manifest, bool], Manifest]
"""From what is there, what is wanted, and whether the metadata differ, to the fields that are written."""


def _only_metadata(have: Manifest, want: Manifest, differs: bool) -> Manifest:
    return {}


def _fields(*names: str) -> Merge:
    """Replace these fields as a whole."""

    def merge(have: Manifest, want: Manifest, differs: bool) -> Manifest:
        return {name: want.get(name) for name in names if (have.get(name) or None) != (want.get(name) or None)}

    return merge


def _service(have: Manifest, want: Manifest, differs: bool) -> Manifest:
    """Replace the spec where it selects other pods, is of another type, or was made of another one."""
    old, new_spec = have.get("spec") or {}, want.get("spec") or {}
    is_same_type = (new_spec.get("type") or "ClusterIP") == old.get("type")
    is_same = is_same_type and (old.get("selector") or {}) == (new_spec.get("selector") or {})
    return {} if is_same and not differs else {"spec": new_spec}


def _secret(have: Manifest, want: Manifest, differs: bool) -> Manifest:
    kind = want.get("type") or "Opaque"
    data = want.get("data") or {}
    if kind == "kubernetes.io/service-account-token":
        data = {**(have.get("data") or {}), **data}
    wanted = {"data": data or None, "type": kind}
    return {name: value for name, value in wanted.items() if (have.get(name) or None) != value}


def _cluster_role(have: Manifest, want: Manifest, differs: bool) -> Manifest:
    """What an aggregated role may do is written by the cluster itself."""
    names = ("aggregationRule",) if want.get("aggregationRule") else ("aggregationRule", "rules")
    return _fields(*names)(have, want, differs)


def _binding(have: Manifest, want: Manifest, differs: bool) -> Manifest:
    return _fields("subjects", "roleRef")(_with_groups(have), _with_groups(want), differs)


def _with_groups(binding: Manifest) -> Manifest:
    """Fill in the group where a manifest may leave it out."""
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    subjects = [
        {**subject, **group} if subject.get("kind") == "User" else subject for subject in binding.get("subjects") or ()
    ]
    return {**binding, "subjects": subjects, "roleRef": {**(binding.get("roleRef") or {}), **group}}


_KNOWN: Final[dict[tuple[str, str], Merge]] = {
    ("v1", "Namespace"): _only_metadata,
    ("v1", "Pod"): _only_metadata,
    ("v1", "ServiceAccount"): _only_metadata,
    ("v1", "Service"): _service,
    ("v1", "ConfigMap"): _fields("data", "binaryData"),
    ("v1", "Secret"): _secret,
    (_RBAC, "ClusterRole"): _cluster_role,
    (_RBAC, "Role"): _fields("rules"),
    (_RBAC, "ClusterRoleBinding"): _binding,
    (_RBAC, "RoleBinding"): _binding,
    ("policy/v1", "PodDisruptionBudget"): _fields("spec"),
}


def _with_all_data(secret: Manifest) -> Manifest:
    texts = secret.get("stringData") or {}
    data = dict(secret.get("data") or {})
    for key, text in texts.items():
        encoded = base64.b64encode(text.encode()).decode()
        if data.get(key, encoded) != encoded:
            raise ValueError(f'Secret.stringData["{key}"] conflicts with Secret.data["{key}"]')
        data[key] = encoded
    return _without({**secret, "data": data}, "stringData")


def _service_hash(spec: Manifest) -> str:
    """Hash a Service's spec as Go would write it: fields in its order, empty ones left out."""
    ordered = {name: spec[name] for name in _SERVICE_FIELDS if spec.get(name) not in (None, "", [], {}, False, 0)}
    if "ports" in ordered:
        ordered["ports"] = [_port(port) for port in ordered["ports"]]
    if "selector" in ordered:
        ordered["selector"] = dict(sorted(ordered["selector"].items()))
    written = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(written.encode()).hexdigest()


def _port(port: Manifest) -> Manifest:
    full = {"targetPort": 0, **port}
    return {name: full[name] for name in _PORT_FIELDS if name == "targetPort" or full.get(name)}


def _content(obj: Manifest) -> Manifest:
    return _without(obj, "metadata", "status")


def _without(obj: Mapping[str, Any], *names: str) -> Manifest:
    return {name: value for name, value in obj.items() if name not in names}
