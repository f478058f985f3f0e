"""The YAML form of a registration scenario, and the objects that it stands for.

    name: a new cluster is tainted until its agent is heard
    shows: [default]                       # sets of the hub itself that are looked at in the end
    worker: true                           # what is looked at is the worker `cluster1`, which has an agent
    steps:                                 # rounds; what is refused is part of what comes out
      - cluster: {a: {hubAcceptsClient: true, labels: {}, annotations: {}, automatic: true}}    # new ones: their spec
      - set: {s: {...}}                    # their spec, by default that of a set whose members carry its label
      - binding: {s: {clusterSet: s}}
      - work: {a/w: {held: true, priority: 5}}    # ManifestWorks of cluster a, with a finalizer of somebody
      - addon: {a/x: {}}
      - request: {r: {cluster: a, name: ..., groups: [...], label: a, signer: ...}}    # for a certificate
      - say: {a: {ManagedClusterConditionAvailable: "True"}, addon a/x: {Available: "True"}}    # conditions
      - renew: {a: +1h}                    # the lease, by a clock that is so far off
      - node: {n: {gpu: 8, unschedulable: true}}    # on the worker, with so much of resources example.com/@gpu
      - claim: {c: {value: v, labels: {}}}          # on the worker
      - unclaim: [c]
      - patch: {cluster a: {...}, set =default: {...}}
      - free: [work a/w]                   # takes the finalizers away
      - delete: [cluster a]
      - wait: 6

`@` stands for the scenario's prefix, which every name gets unless it begins with `=`; it is cut off what comes out.
A cluster is accepted by itself only where it is said to be `automatic`.
"""

import base64
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CLIENT_USAGES, CertificateSigningRequest
from fleetqueue.api.cluster_claims_v1alpha1 import ClusterClaim
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import AUTO_ACCEPTED, CLEANUP_PRIORITY
from fleetqueue.embedded.ocm.registration.objects import RemainingAddOn, RemainingWork, WorkerNode

ON_WORKER: dict[str, type[Object]] = {"node": WorkerNode, "claim": ClusterClaim}
KINDS: dict[str, type[Object]] = {
    "cluster": cluster.ManagedCluster,
    "set": cluster.ManagedClusterSet,
    "binding": cluster.ManagedClusterSetBinding,
    "work": RemainingWork,
    "addon": RemainingAddOn,
    "request": CertificateSigningRequest,
}
AGENT = "system:open-cluster-management:"
KEY = ec.generate_private_key(ec.SECP256R1())


def namespace(prefix: str) -> str:
    return f"{prefix}ns"


def place(kind: str, name: str, prefix: str) -> tuple[str, str]:
    """Return the namespace and the name of an object."""
    if name.startswith("="):
        return "", name[1:]
    if "/" in name:
        owner, _, own = name.partition("/")
        return prefix + owner, own
    return (namespace(prefix), prefix + name) if kind == "binding" else ("", prefix + name)


def with_prefix(value: Any, prefix: str) -> Any:
    return yaml.safe_load(yaml.safe_dump(value).replace("@", prefix))


def manifest(kind: str, name: str, said: dict[str, Any], prefix: str) -> Manifest:
    where, own = place(kind, name, prefix)
    return MAKERS[kind](own, where, dict(with_prefix(said, prefix)))


def _cluster(name: str, where: str, said: dict[str, Any]) -> Manifest:
    notes = said.pop("annotations", {})
    if not said.pop("automatic", False):
        notes = {AUTO_ACCEPTED: "2026-01-01T00:00:00Z", **notes}
    labels = said.pop("labels", {})
    return cluster.ManagedCluster.manifest(name, labels=labels, annotations=notes, spec=said)


def _set(name: str, where: str, said: dict[str, Any]) -> Manifest:
    return cluster.ManagedClusterSet.manifest(name, annotations=said.pop("annotations", {}), spec=said)


def _binding(name: str, where: str, said: dict[str, Any]) -> Manifest:
    return cluster.ManagedClusterSetBinding.manifest(name, where, spec=said)


def _remainder(kind: type[Object], name: str, where: str, said: dict[str, Any]) -> Manifest:
    notes = {CLEANUP_PRIORITY: str(said["priority"])} if "priority" in said else {}
    made = kind.manifest(name, where, annotations=notes, spec=said.get("spec", {}))
    if said.get("held"):
        made["metadata"]["finalizers"] = ["example.com/held"]
    return made


def _request(name: str, where: str, said: dict[str, Any]) -> Manifest:
    owner = said["cluster"]
    groups = said.get("groups", [f"{AGENT}{owner}", f"{AGENT}managed-clusters"])
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    common = said.get("name", f"{AGENT}{owner}:agent")
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(KEY, hashes.SHA256())
    label = said.get("label", owner)
    return CertificateSigningRequest.manifest(
        name,
        labels={cluster.CLUSTER_NAME_LABEL: label} if label else {},
        spec={
            "request": base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": said.get("signer", CLIENT_SIGNER),
            "usages": list(CLIENT_USAGES),
        },
    )


def _node(name: str, where: str, said: dict[str, Any]) -> Manifest:
    spec = {"unschedulable": True} if said.pop("unschedulable", False) else {}
    resources = {f"example.com/{resource}": str(quantity) for resource, quantity in said.items()}
    return WorkerNode.manifest(name, spec=spec, status={"capacity": resources, "allocatable": resources})


def _claim(name: str, where: str, said: dict[str, Any]) -> Manifest:
    return ClusterClaim.manifest(name, labels=said.get("labels", {}), spec={"value": said["value"]})


MAKERS: Any = {
    "node": _node,
    "claim": _claim,
    "cluster": _cluster,
    "set": _set,
    "binding": _binding,
    "work": lambda name, where, said: _remainder(RemainingWork, name, where, said),
    "addon": lambda name, where, said: _remainder(RemainingAddOn, name, where, said),
    "request": _request,
}
