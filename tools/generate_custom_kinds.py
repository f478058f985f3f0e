"""Write the file of custom kinds: the CRDs of Kueue, OCM and their neighbours that an embedded fleet serves.

Usage: python tools/generate_custom_kinds.py [file]

Needs Go and, once, the network. The facts come from the CRDs that the Go modules carry: names, versions, fields, types,
rules, columns. Descriptions are left out. Two things no module says, and stand here: versions that upstream has stopped
serving while people still have YAML of them (OLD_VERSIONS), and kinds whose module few proxies have
(tools/custom_kinds/*.yaml). What the file looks like is told in src/fleetqueue/manifests/custom_kinds.py, its reader.

A pod template is written out like all else. To refer to the built-in schema instead would save at most 4 of 19 KB and
nothing at start, and the two are not the same: CRDs say of quantities and ports what the built-in types do not.
"""

import json
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fleetqueue.real import manifests
from fleetqueue.real.parts import CrdSource

TARGET: Final = Path(__file__).parents[1] / "src" / "fleetqueue" / "manifests" / "custom_kinds.json.z"
BY_HAND: Final = Path(__file__).parent / "custom_kinds"
APPROVAL: Final = "api-approved.kubernetes.io"
"""Without this annotation a real server refuses kinds of a group in Kubernetes' own domain."""
REFERENCE: Final = "$ref"
"""A schema in a CRD may not have this word, so that a reference to a part cannot be taken for anything else."""
SHORTEST_PART: Final = 24
"""A shorter subtree is written out: a reference would save nothing."""

Manifest = dict[str, Any]


def api(*folders: str) -> CrdSource:
    return CrdSource("open-cluster-management.io/api", "v1.2.0", tuple(f"{folder}.crd.yaml" for folder in folders))


SYSTEMS: Final[dict[str, tuple[CrdSource, ...]]] = {
    "kueue": (CrdSource("sigs.k8s.io/kueue", "v0.19.2", ("config/components/crd/bases/*.yaml",)),),
    "jobset": (CrdSource("sigs.k8s.io/jobset", "v0.12.0", ("config/components/crd/bases/*.yaml",)),),
    "leaderworkerset": (CrdSource("sigs.k8s.io/lws", "v0.9.0", ("config/crd/bases/*leaderworkersets.yaml",)),),
    "kuberay": (
        CrdSource(
            "github.com/ray-project/kuberay/ray-operator",
            "v1.6.2",
            tuple(f"config/crd/bases/ray.io_{kind}s.yaml" for kind in ("raycluster", "rayjob", "rayservice")),
        ),
    ),
    "mpi-operator": (
        CrdSource("github.com/kubeflow/mpi-operator", "v0.8.2", ("manifests/base/kubeflow.org_mpijobs.yaml",)),
    ),
    "training-operator": (
        CrdSource(
            "github.com/kubeflow/training-operator",
            "v1.9.3",
            tuple(
                f"manifests/base/crds/kubeflow.org_{kind}jobs.yaml"
                for kind in ("jax", "paddle", "pytorch", "tf", "xgboost")
            ),
        ),
    ),
    "trainer": (CrdSource("github.com/kubeflow/trainer/v2", "v2.2.1", ("manifests/base/crds/trainer.*.yaml",)),),
    "spark-operator": (
        CrdSource("github.com/kubeflow/spark-operator/v2", "v2.5.1", ("config/crd/bases/*_sparkapplications.yaml",)),
    ),
    "appwrapper": (
        CrdSource("github.com/project-codeflare/appwrapper", "v1.2.2", ("config/crd/bases/*appwrappers.yaml",)),
    ),
    "ocm-hub": (
        api("cluster/v1/*", "cluster/v1beta1/*", "cluster/v1beta2/*", "cluster/v1alpha1/*_addonplacementscores"),
        api("work/v1/*_manifestworks", "work/v1alpha1/*", "addon/v1beta1/*", "addon/v1alpha1/*_addontemplates"),
    ),
    "ocm-agent": (api("cluster/v1alpha1/*_clusterclaims", "work/v1/*_appliedmanifestworks"),),
    "ocm-operator": (api("operator/v1/*"),),
    "managed-serviceaccount": (
        CrdSource("open-cluster-management.io/managed-serviceaccount", "v0.8.0", ("config/crd/bases/*.yaml",)),
    ),
    "cluster-permission": (),
    "cluster-inventory": (
        CrdSource("sigs.k8s.io/cluster-inventory-api", "v0.1.3", ("config/crd/bases/*_clusterprofiles.yaml",)),
    ),
    "about": (
        CrdSource(
            "open-cluster-management.io/ocm", "v1.2.1", ("manifests/klusterlet/managed/clusterproperties.crd.yaml",)
        ),
    ),
}
"""What is installed together, and where its CRDs lie; a file tools/custom_kinds/<system>.yaml adds to it."""


def unchanged(schema: Manifest) -> None:
    pass


def with_prioritizer_names(schema: Manifest) -> None:
    """Let a prioritizer be named directly, as before there were scores of add-ons."""
    configurations = schema["properties"]["spec"]["properties"]["prioritizerPolicy"]["properties"]["configurations"]
    configurations["items"]["properties"]["name"] = {"type": "string"}
    del configurations["items"]["required"]  # the coordinate, which the name stands for


def with_legacy_selector(schema: Manifest) -> None:
    """Call the label that puts a cluster into one set by the name that it had first."""
    legacy = "LegacyClusterSetLabel"
    spec = schema["properties"]["spec"]
    selector = spec["properties"]["clusterSelector"]
    spec["default"], selector["default"] = {"clusterSelector": {"selectorType": legacy}}, {"selectorType": legacy}
    kind = selector["properties"]["selectorType"]
    kind["default"], kind["enum"] = legacy, [legacy, *kind["enum"]]


@dataclass(frozen=True, slots=True)
class OldVersion:
    """A version that upstream does not serve any more, told by how it differs from one that it serves."""

    definition: str
    name: str
    like: str
    change: Callable[[Manifest], None] = unchanged


OCM: Final = "cluster.open-cluster-management.io"
OLD_VERSIONS: Final = (
    OldVersion("multikueueclusters.kueue.x-k8s.io", "v1alpha1", like="v1beta1"),
    OldVersion("multikueueconfigs.kueue.x-k8s.io", "v1alpha1", like="v1beta1"),
    OldVersion(f"placements.{OCM}", "v1alpha1", like="v1beta1", change=with_prioritizer_names),
    OldVersion(f"placementdecisions.{OCM}", "v1alpha1", like="v1beta1"),
    OldVersion(f"managedclustersets.{OCM}", "v1beta1", like="v1beta2", change=with_legacy_selector),
    OldVersion(f"managedclustersetbindings.{OCM}", "v1beta1", like="v1beta2"),
)


def custom_kinds() -> Manifest:
    """Return the whole table: the definitions of each system, and the parts that occur more than once."""
    found = {system: [with_old_versions(crd) for crd in definitions(system)] for system in SYSTEMS}
    return shared(found)


def definitions(system: str) -> list[Manifest]:
    """Return a system's CRDs as upstream serves them, without what only people read, in the order of their names."""
    sources = SYSTEMS[system]
    found = [crd for source in sources for crd in manifests.crds(module(source), source.files)]
    by_hand = BY_HAND / f"{system}.yaml"
    if by_hand.is_file():
        found += manifests.parse(by_hand.read_text())
    return sorted((bare(crd) for crd in found), key=lambda crd: str(crd["metadata"]["name"]))


def module(source: CrdSource) -> Path:
    command = ["go", "mod", "download", "-json", source.query]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return Path(json.loads(answer)["Dir"])


def bare(crd: Manifest) -> Manifest:
    """Return what a definition says to a server."""
    spec = {key: crd["spec"][key] for key in ("group", "names", "scope", "versions")}
    spec["versions"] = [bare_version(version) for version in spec["versions"]]
    metadata = {"name": crd["metadata"]["name"]}
    approval = (crd["metadata"].get("annotations") or {}).get(APPROVAL)
    return {"metadata": metadata | ({"annotations": {APPROVAL: approval}} if approval else {}), "spec": spec}


def bare_version(version: Manifest) -> Manifest:
    columns = [without(column, "description") for column in version.get("additionalPrinterColumns") or ()]
    schema = {"openAPIV3Schema": bare_schema(version["schema"]["openAPIV3Schema"])}
    changed = {"schema": schema, **({"additionalPrinterColumns": columns} if columns else {})}
    return {**version, **changed}


def bare_schema(schema: Any) -> Any:
    """Return a schema without descriptions; a field may have that name."""
    if not isinstance(schema, dict):
        return schema
    kept = without(schema, "description", "title", "example", "externalDocs")
    if "properties" in kept:
        kept["properties"] = {name: bare_schema(child) for name, child in kept["properties"].items()}
    for word in ("items", "additionalProperties", "not"):
        if word in kept:
            kept[word] = bare_schema(kept[word])
    for word in ("anyOf", "allOf", "oneOf"):
        if word in kept:
            kept[word] = [bare_schema(child) for child in kept[word]]
    return kept


def without(found: Manifest, *words: str) -> Manifest:
    return {key: value for key, value in found.items() if key not in words}


def with_old_versions(crd: Manifest) -> Manifest:
    versions = list(crd["spec"]["versions"])
    for old in OLD_VERSIONS:
        if old.definition == crd["metadata"]["name"]:
            versions.insert(0, old_version(old, next(each for each in versions if each["name"] == old.like), versions))
    return {**crd, "spec": {**crd["spec"], "versions": versions}}


def old_version(old: OldVersion, like: Manifest, versions: list[Manifest]) -> Manifest:
    found = deepcopy(like)
    old.change(found["schema"]["openAPIV3Schema"])
    stored = next(each["name"] for each in versions if each["storage"])
    warning = f"This version is deprecated. Use {stored} instead."
    return found | {"name": old.name, "storage": False, "deprecated": True, "deprecationWarning": warning}


def shared(systems: dict[str, list[Manifest]]) -> Manifest:
    """Write every subtree that occurs more than once as a part; parts come before what refers to them."""
    times = Counter(text for crds in systems.values() for crd in crds for text in subtrees(crd))
    parts: list[Any] = []
    places: dict[str, int] = {}

    def referring(node: Any) -> Any:
        text = canonical(node)
        if text in places:
            return {REFERENCE: places[text]}
        if isinstance(node, dict):
            node = {key: referring(node[key]) for key in sorted(node)}
        elif isinstance(node, list):
            node = [referring(each) for each in node]
        if times[text] < 2:
            return node
        parts.append(node)
        places[text] = len(parts) - 1
        return {REFERENCE: places[text]}

    return {"systems": {name: [referring(crd) for crd in crds] for name, crds in systems.items()}, "parts": parts}


def subtrees(node: Any) -> Iterator[str]:
    """Yield the text of each object and list that is worth a reference, in each place where it stands."""
    if not isinstance(node, dict | list):
        return
    for child in node.values() if isinstance(node, dict) else node:
        yield from subtrees(child)
    text = canonical(node)
    if len(text) >= SHORTEST_PART:
        yield text


def canonical(node: Any) -> str:
    return json.dumps(node, sort_keys=True, separators=(",", ":"))


def packed(table: Manifest) -> bytes:
    return zlib.compress(json.dumps(table, separators=(",", ":")).encode(), 9)


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_bytes(packed(custom_kinds()))
    print(f"{target}: {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
