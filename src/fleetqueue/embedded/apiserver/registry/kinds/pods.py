"""Pods: what is set when they are created, what of them may change, and what their status may say."""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value
from fleetqueue.embedded.apiserver.registry.kinds import checks, pod_defaults
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.container_rules import trimmed_faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import at, with_field_of, without
from fleetqueue.embedded.apiserver.registry.kinds.pod_detail_rules import token_volume_faults
from fleetqueue.embedded.apiserver.registry.kinds.pod_rules import spec_faults, toleration_faults
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.strategy import DeletionStrategy, Strategy, SubresourceStrategy

GRACE_SECONDS: Final = 30
CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


def grace(pod: Manifest, given: int | None) -> int:
    """Return how long a pod has to end; one that runs nowhere has nothing to end."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if given is not None:
        return given
    return int(spec.get("terminationGracePeriodSeconds", GRACE_SECONDS))


def prepare(pod: Manifest, old: Manifest | None, user: User) -> Manifest:
    """A new pod waits, and its quality of service is known."""
    if old is not None:
        return pod
    status: Manifest = {"phase": "Pending", "qosClass": quality(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        status["conditions"] = [_gated()]
    return {**pod, "status": status}


def _gated() -> Manifest:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": timestamp(clock.now()),
        "reason": "SchedulingGated",
        "message": GATED,
    }


def quality(spec: Manifest) -> str:
    """Return the class that decides who is evicted first from a full node."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    asked = [container.get("resources") or {} for container in containers]
    amounts = [(_computing(one.get("requests")), _computing(one.get("limits"))) for one in asked]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    is_guaranteed = all(len(limits) == 2 and requests == limits for requests, limits in amounts)
    return "Guaranteed" if is_guaranteed else "Burstable"


def _computing(amounts: Manifest | None) -> dict[str, Any]:
    values = amounts or {}
    return {name: value for name in ("cpu", "memory") if name in values and (value := checks.amount(values[name])) > 0}


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    if old is not None and spec is old["spec"]:
        return []
    problems = checks.all_of(
        spec_faults(spec, "spec"),
        token_volume_faults(spec),
        trimmed_faults(spec.get("containers") or (), "spec.containers"),
        trimmed_faults(spec.get("initContainers") or (), "spec.initContainers"),
    )
    if old is not None:
        return [*problems, *_change_faults(spec, old["spec"])]
    if spec.get("ephemeralContainers"):
        problems.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return problems


def _change_faults(new: Manifest, old: Manifest) -> Faults:
    if new is old or new == old:
        return
    for name in ("containers", "initContainers"):
        if len(new.get(name) or ()) != len(old.get(name) or ()):
            yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
    problems = list(_deadline_faults(new, old))
    yield from problems
    if problems and "activeDeadlineSeconds" in new:
        return
    yield from _kept_toleration_faults(new.get("tolerations") or (), old.get("tolerations") or ())
    yield from _new_gate_faults(new.get("schedulingGates") or (), old.get("schedulingGates") or ())
    if old.get("schedulingGates") and new.get("nodeSelector") != old.get("nodeSelector"):
        yield from _selector_faults(new.get("nodeSelector"), old.get("nodeSelector") or {})
        new = with_field_of(new, "nodeSelector", old)
    if old.get("schedulingGates"):
        yield from _term_faults(_terms(new), _terms(old))
    if _without_changeable(new, old) != old:
        yield forbidden("spec", CHANGEABLE)


def _deadline_faults(new: Manifest, old: Manifest) -> Faults:
    before, after = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    field = "spec.activeDeadlineSeconds"
    if after is None and before is not None:
        yield invalid_value(field, None, "must not update from a positive integer to nil value")
    elif after is not None and before is not None and before < after:
        yield invalid_value(field, after, "must be less than or equal to previous value")


def _kept_toleration_faults(new: Sequence[Manifest], old: Sequence[Manifest]) -> Faults:
    kept = [without(toleration, "tolerationSeconds") for toleration in new]
    if any(without(toleration, "tolerationSeconds") not in kept for toleration in old):
        yield forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
    else:
        yield from toleration_faults(new, "spec.tolerations")


def _new_gate_faults(new: Sequence[Manifest], old: Sequence[Manifest]) -> Faults:
    for position, gate in enumerate(new):
        if gate not in old:
            detail = f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'"
            yield forbidden(f"spec.schedulingGates[{position}].name", detail)


def _selector_faults(new: Manifest | None, old: Manifest) -> Faults:
    if any((new or {}).get(key) != value for key, value in old.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid_value("spec.nodeSelector", new, detail)


def _terms(spec: Manifest) -> list[Manifest] | None:
    """Return the terms for nodes that a pod demands."""
    terms: list[Manifest] | None = at(spec, ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"))
    return terms


def _term_faults(new: list[Manifest] | None, old: list[Manifest] | None) -> Faults:
    """A pod that waits behind a gate may get narrower terms, not others."""
    field = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    if not old or new == old:
        return
    if len(new or ()) != len(old):
        yield invalid_value(field, new, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
        return
    for position, (after, before) in enumerate(zip(new or (), old, strict=True)):
        if not _is_narrower(after, before):
            detail = "only additions are allowed (no mutations or deletions)"
            yield invalid_value(f"{field}[{position}]", after, detail)


def _is_narrower(new: Manifest, old: Manifest) -> bool:
    parts = [(new.get(name) or [], old.get(name) or []) for name in ("matchExpressions", "matchFields")]
    if not any(before for _, before in parts):
        return not any(after for after, _ in parts)
    return all(after[: len(before)] == before for after, before in parts)


def _without_changeable(new: Manifest, old: Manifest) -> Manifest:
    """Return the new spec as it would be had nothing changed that may change."""
    after = new
    for name in ("containers", "initContainers"):
        if name in new:
            pairs = zip(new[name], old[name], strict=True)
            after = {**after, name: [with_field_of(one, "image", other) for one, other in pairs]}
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        after = with_field_of(after, name, old)
    if old.get("schedulingGates"):
        after = _with_node_affinity_of(after, old)
    return after


def _with_node_affinity_of(new: Manifest, old: Manifest) -> Manifest:
    """A pod that waits behind a gate may be directed to nodes."""
    before = old.get("affinity")
    after = with_field_of(new.get("affinity") or {}, "nodeAffinity", before or {})
    return {**new, "affinity": after} if after or before else without(new, "affinity")


def status_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    status, before = new.get("status") or {}, (old or {}).get("status") or {}
    return list(checks.unchanged(status, before, "status", "qosClass"))


def _keep_status(new: Manifest, old: Manifest) -> Manifest:
    status, before = new.get("status") or {}, old.get("status") or {}
    kept = {name: before[name] for name in ("qosClass", "observedGeneration") if name in before and name not in status}
    metadata = with_field_of(new["metadata"], "ownerReferences", old["metadata"])
    return {**old, "metadata": metadata, "status": {**status, **kept}}


def _keep_ephemeral(new: Manifest, old: Manifest) -> Manifest:
    spec = with_field_of(old["spec"], "ephemeralContainers", new["spec"])
    return {**old, "metadata": _managed(new, old), "spec": spec}


def _keep_resized(new: Manifest, old: Manifest) -> Manifest:
    spec = old["spec"]
    for name in ("containers", "initContainers"):
        if name in spec and len(new["spec"].get(name) or ()) == len(spec[name]):
            pairs = zip(spec[name], new["spec"][name], strict=True)
            spec = {**spec, name: [_resized(before, after) for before, after in pairs]}
    return {**old, "metadata": _managed(new, old), "spec": spec}


def _resized(old: Manifest, new: Manifest) -> Manifest:
    return with_field_of(with_field_of(old, "resources", new), "resizePolicy", new)


def _managed(new: Manifest, old: Manifest) -> Manifest:
    return with_field_of(old["metadata"], "managedFields", new["metadata"])


def _part_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return checks.all_of(spec_faults(new["spec"], "spec"))


STRATEGY: Final = Strategy(
    default=pod_defaults.pod,
    prepare=prepare,
    faults=faults,
    subresources={
        "binding": SubresourceStrategy(lambda new, old: new, counts_spec=False),
        "status": SubresourceStrategy(_keep_status, status_faults),
        "ephemeralcontainers": SubresourceStrategy(_keep_ephemeral, _part_faults),
        "resize": SubresourceStrategy(_keep_resized, _part_faults),
    },
    deletion=DeletionStrategy(grace=grace),
)


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


def check_binding(binding: Manifest) -> None:
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
