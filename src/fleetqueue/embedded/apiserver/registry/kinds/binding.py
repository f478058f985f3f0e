"""A binding puts a pod on a node, once."""

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.served import Served


def bound(served: Served, pod: Manifest, binding: Manifest) -> Manifest:
    """Return a pod on the node that a binding names; refuses one that is on a node, or ends, or waits at a gate."""
    metadata, spec, name = pod["metadata"], pod["spec"], pod["metadata"]["name"]
    uid = (binding.get("metadata") or {}).get("uid")
    if uid and uid != metadata["uid"]:
        raise served.uid_conflict(uid, metadata)
    if metadata.get("deletionTimestamp"):
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    about = binding.get("metadata") or {}
    for part in ("annotations", "labels"):
        if about.get(part):
            metadata = {**metadata, part: {**(metadata.get(part) or {}), **about[part]}}
    node = binding["target"]["name"]
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": _scheduled(pod["status"])}


def _scheduled(status: Manifest) -> Manifest:
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(clock.now()),
    }
    others = [one for one in status.get("conditions") or () if one.get("type") != condition["type"]]
    return {**status, "conditions": [*others, condition]}


def check(binding: Manifest) -> None:
    """Refuse a binding to something else than a node; an internal error, as on the real server."""
    target = binding.get("target") or {}
    problems = []
    if target.get("kind", "") not in ("", "Node"):
        problems.append(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not target.get("name"):
        problems.append("target.name: Required value")
    if problems:
        raise errors.ServerError(", ".join(problems))


def _refused(name: str, why: str) -> errors.Conflict:
    message = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
    return errors.Conflict(message, reason="Conflict", details={"name": name, "kind": "pods/binding"})
