"""The ManifestWorks that bring the objects of an add-on onto its cluster.

Mirrors: addon-framework controllers/agentdeploy/utils.go, sdk-go work builder
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import CONFIG_SPEC_HASH, SELECTIVELY_ORPHAN, ManifestWork

LIMIT: Final = 500 * 1024
"""Bytes of manifests that fit into one work."""
_WORKLOADS: Final = {("apps/v1", "Deployment"): "deployments", ("apps/v1", "DaemonSet"): "daemonsets"}
_HOOKS: Final = {"Job": "jobs", "Pod": "pods"}


def prefix(this: addon.ManagedClusterAddOn) -> str:
    return f"addon-{this.name}-deploy"


def hook_name(this: addon.ManagedClusterAddOn) -> str:
    return f"addon-{this.name}-pre-delete"


def deploy_works(
    this: addon.ManagedClusterAddOn,
    objects: Sequence[Manifest],
    configs: Sequence[Manifest],
    existing: Sequence[tuple[str, Sequence[Manifest]]],
) -> list[Manifest]:
    """Return the works of an add-on: objects stay in the work that holds them, new ones come where there is room.

    Args:
        configs: what the template says of its objects.
        existing: name and manifests of each work that is there; one that is left empty is to go.
    """
    deployed = [obj for obj in objects if not is_hook(obj)]
    wanted = {_identity(obj): obj for obj in deployed}
    shares: list[tuple[str, list[Manifest]]] = []
    for name, manifests in existing:
        shares.append((name, [wanted.pop(_identity(obj)) for obj in manifests if _identity(obj) in wanted]))
    for obj in sorted(wanted.values(), key=lambda one: (-_size([one]), _identity(one))):
        _put(shares, obj, this)
    spec = {"manifestConfigs": manifest_configs(deployed, configs), **_delete_option(deployed)}
    return [_work(this, name, share, spec) for name, share in shares if share]


def hook_work(this: addon.ManagedClusterAddOn, objects: Sequence[Manifest]) -> Manifest | None:
    """Return the work that runs before the add-on goes; None where there is nothing to run."""
    hooks = [obj for obj in objects if is_hook(obj)]
    configs = [_feedback(obj["apiVersion"].rpartition("/")[0], _HOOKS[obj["kind"]], obj) for obj in hooks]
    if not hooks:
        return None
    work = _work(this, hook_name(this), hooks, {"manifestConfigs": configs})
    del work["metadata"]["annotations"]
    return work


def is_hook(obj: Manifest) -> bool:
    """Tell whether an object runs only before the add-on goes."""
    metadata = obj["metadata"]
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return obj["kind"] in _HOOKS and addon.PRE_DELETE_HOOK in marks


def is_hook_done(work: ManifestWork) -> bool:
    """Tell whether all that runs before the add-on goes has ended well."""
    if not any(item.type == "Available" and item.is_true for item in work.status.conditions):
        return False
    done = {"jobs": ("JobComplete", "True"), "pods": ("PodPhase", "Succeeded")}
    for config in work.spec.manifest_configs:
        wanted = config.resource_identifier
        values = [
            (value.name, value.field_value.string)
            for item in work.status.resource_status.manifests
            if (item.resource_meta.resource, item.resource_meta.namespace, item.resource_meta.name)
            == (wanted.resource, wanted.namespace, wanted.name)
            for value in item.status_feedback.values
        ]
        if done.get(wanted.resource) not in values:
            return False
    return bool(work.spec.manifest_configs)


def config_hashes(this: addon.ManagedClusterAddOn) -> dict[str, str]:
    """Return the hash of each configuration that is meant for an add-on, by its name."""
    hashes = {}
    for ref in this.status.config_references:
        if ref.desired_config is not None:
            kind = f"{ref.resource}.{ref.group}" if ref.group else ref.resource
            hashes[f"{kind}/{ref.desired_config.namespace}/{ref.desired_config.name}"] = ref.desired_config.spec_hash
    return hashes


def manifest_configs(objects: Sequence[Manifest], given: Sequence[Manifest]) -> list[Manifest]:
    """Ask for the well-known status of what runs, besides what the template says."""
    configs = [
        _feedback("apps", _WORKLOADS[kind], item)
        for item in objects
        if (kind := (item["apiVersion"], item["kind"])) in _WORKLOADS
    ]
    for config in given:
        same = next((item for item in configs if item["resourceIdentifier"] == config["resourceIdentifier"]), None)
        if same is None:
            configs.append(dict(config))
            continue
        for rule in config.get("feedbackRules") or ():
            same["feedbackRules"] = _with_rule(same["feedbackRules"], rule)
        if config.get("updateStrategy"):
            same["updateStrategy"] = config["updateStrategy"]
    return configs


def _with_rule(rules: list[Manifest], rule: Manifest) -> list[Manifest]:
    if rule["type"] == "WellKnownStatus":
        return rules if any(known_rule["type"] == "WellKnownStatus" for known_rule in rules) else [*rules, rule]
    known = {path["name"] for known_rule in rules for path in known_rule.get("jsonPaths") or ()}
    new = [path for path in rule.get("jsonPaths") or () if path["name"] not in known]
    return [*rules, {"type": rule["type"], "jsonPaths": new}] if new else rules


def _feedback(group: str, resource: str, obj: Manifest) -> Manifest:
    metadata = obj["metadata"]
    identifier = {
        "group": group,
        "resource": resource,
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
    }
    return {"resourceIdentifier": identifier, "feedbackRules": [{"type": "WellKnownStatus"}]}


def _delete_option(objects: Iterable[Manifest]) -> Manifest:
    rules = [
        {
            "group": obj["apiVersion"].rpartition("/")[0],
            "resource": guessed_resource(obj["kind"]),
            "name": obj["metadata"]["name"],
            "namespace": obj["metadata"].get("namespace", ""),
        }
        for obj in objects
        if addon.DELETION_ORPHAN in (obj["metadata"].get("annotations") or {})
    ]
    if not rules:
        return {}
    option = {"propagationPolicy": SELECTIVELY_ORPHAN, "selectivelyOrphans": {"orphaningRules": rules}}
    return {"deleteOption": option}


def guessed_resource(kind: str) -> str:
    """Return the plural of a kind as Kubernetes guesses it."""
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _put(shares: list[tuple[str, list[Manifest]]], obj: Manifest, this: addon.ManagedClusterAddOn) -> None:
    room = max(shares, key=lambda share: LIMIT - _size(share[1]), default=None)
    if room is not None and _size([obj]) < LIMIT - _size(room[1]):
        room[1].append(obj)
        return
    names = {name for name, _ in shares}
    number = next(n for n in range(len(shares) + 1) if f"{prefix(this)}-{n}" not in names)
    shares.append((f"{prefix(this)}-{number}", [obj]))


def _work(this: addon.ManagedClusterAddOn, name: str, manifests: Sequence[Manifest], spec: Manifest) -> Manifest:
    hashes = orjson.dumps(config_hashes(this), option=orjson.OPT_SORT_KEYS).decode()
    work = ManifestWork.manifest(
        name,
        this.namespace,
        labels={addon.ADD_ON_LABEL: this.name},
        annotations={CONFIG_SPEC_HASH: hashes},
        spec={"workload": {"manifests": list(manifests)}, **{key: value for key, value in spec.items() if value}},
    )
    work["metadata"]["ownerReferences"] = [controller_reference(this.resource, this.name, this.uid)]
    return work


def _size(manifests: Iterable[Any]) -> int:
    return sum(len(orjson.dumps(manifest)) for manifest in manifests)


def _identity(obj: Manifest) -> tuple[str, str, str, str]:
    metadata = obj["metadata"]
    return obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata["name"]
