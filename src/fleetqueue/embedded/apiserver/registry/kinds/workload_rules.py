"""The rules for Deployments, ReplicaSets, StatefulSets and DaemonSets."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.go_text import GoStruct
from fleetqueue.embedded.apiserver.kinds.names import label
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.claims import claim_spec_faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import without
from fleetqueue.embedded.apiserver.registry.kinds.pod_rules import template_faults

MISMATCH: Final = "`selector` does not match template `labels`"
OF_SETS: Final = (
    *("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
OTHERS: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def deployment_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    return checks.all_of(
        checks.non_negative(spec, "spec", "replicas"),
        _selected_template_faults(spec, "deployment", "ReplicaSet", "invalid label selector"),
        _strategy_faults(spec.get("strategy") or {}, "spec.strategy"),
        checks.non_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"),
        _deadline_faults(spec),
        [] if old is None else checks.unchanged(spec, old["spec"], "spec", "selector"),
    )


def _deadline_faults(spec: Manifest) -> Faults:
    seconds = spec.get("progressDeadlineSeconds")
    if seconds is not None and seconds <= spec.get("minReadySeconds", 0):
        yield invalid_value("spec.progressDeadlineSeconds", seconds, "must be greater than minReadySeconds")


def replica_set_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    return checks.all_of(
        checks.non_negative(spec, "spec", "replicas", "minReadySeconds"),
        _selected_template_faults(spec, "deployment", "ReplicaSet", "invalid label selector"),
        [] if old is None else checks.unchanged(spec, old["spec"], "spec", "selector"),
    )


def stateful_set_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    problems = checks.all_of(
        _set_policy_faults(spec),
        [] if old is not None else _claim_faults(spec.get("volumeClaimTemplates") or ()),
        checks.non_negative(spec, "spec", "replicas", "minReadySeconds"),
        checks.non_negative(spec.get("ordinals") or {}, "spec.ordinals", "start"),
        [] if old is not None else checks.named(spec, "serviceName", "spec", label),
        _selected_template_faults(_with_claims(spec), "statefulset", "StatefulSet", ""),
    )
    if old is not None and _without(spec) != _without(old["spec"]):
        problems.append(forbidden("spec", OTHERS))
    return problems


def _without(spec: Manifest) -> Manifest:
    return without(spec, *OF_SETS)


def _claim_faults(claims: Sequence[Manifest]) -> Faults:
    for position, claim in enumerate(claims):
        yield from claim_spec_faults(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{position}].spec")


def _with_claims(spec: Manifest) -> Manifest:
    """Return the spec with its claims as volumes of its pods, as they will be."""
    templates = spec.get("volumeClaimTemplates") or ()
    claims = list(dict.fromkeys((claim.get("metadata") or {}).get("name", "") for claim in templates))
    if not claims:
        return spec
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    kept = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    return {**spec, "template": {**template, "spec": {**pod, "volumes": [*made, *kept]}}}


def _set_policy_faults(spec: Manifest) -> Faults:
    policy, strategy = spec.get("podManagementPolicy", ""), spec.get("updateStrategy") or {}
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid_value("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete" and rolling is not None:
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        yield invalid_value("spec.updateStrategy.rollingUpdate", rolling, detail)
    elif kind == "RollingUpdate":
        yield from checks.non_negative(rolling or {}, "spec.updateStrategy.rollingUpdate", "partition")
    elif kind != "OnDelete":
        yield invalid_value("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'")
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        yield from checks.one_of(retention, name, "spec.persistentVolumeClaimRetentionPolicy", ("Retain", "Delete"))


def daemon_set_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec, selector = new["spec"], new["spec"].get("selector")
    causes: list[Cause] = [] if old is None else list(checks.unchanged(spec, old["spec"], "spec", "selector"))
    problems = list(checks.selector_faults(selector or {}, "spec.selector"))
    causes += problems
    if not problems and not checks.selects(selector, _labels(spec) or {}):
        causes.append(invalid_value("spec.template.metadata.labels", _labels(spec), MISMATCH))
    if selector is not None and checks.is_empty_selector(selector):
        causes.append(invalid_value("spec.selector", selector, "empty selector is invalid for daemonset"))
    return causes + checks.all_of(
        _template_faults(spec, "DaemonSet"),
        checks.non_negative(spec, "spec", "minReadySeconds"),
        _daemon_strategy_faults(spec.get("updateStrategy") or {}, "spec.updateStrategy"),
        checks.non_negative(spec, "spec", "revisionHistoryLimit"),
    )


def _daemon_strategy_faults(strategy: Manifest, field: str) -> Faults:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate") or {}
    if kind == "RollingUpdate":
        where = f"{field}.rollingUpdate"
        yield from _amount_faults(rolling, where, "maxUnavailable", "maxSurge")
        has_surge, has_gap = (not checks.is_zero(rolling.get(name)) for name in ("maxSurge", "maxUnavailable"))
        if has_surge and has_gap:
            detail = "may not be set when maxUnavailable is non-zero"
            yield invalid_value(f"{where}.maxSurge", rolling.get("maxSurge"), detail)
        elif not has_surge and not has_gap:
            yield required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif kind != "OnDelete":
        yield not_supported(field, _shown(strategy), ("RollingUpdate", "OnDelete"))


def _amount_faults(rolling: Manifest, field: str, *limited: str) -> Faults:
    for name in ("maxUnavailable", "maxSurge"):
        yield from checks.count_or_percent(rolling.get(name, 0), f"{field}.{name}")
    for name in limited:
        yield from checks.at_most_all(rolling.get(name, 0), f"{field}.{name}")


def _strategy_faults(strategy: Manifest, field: str) -> Faults:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    where = f"{field}.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            yield forbidden(where, "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate":
        rolling = rolling or {}
        for name in ("maxUnavailable", "maxSurge"):
            yield from checks.count_or_percent(rolling.get(name, 0), f"{where}.{name}")
        if checks.is_zero(rolling.get("maxUnavailable")) and checks.is_zero(rolling.get("maxSurge")):
            detail = "may not be 0 when `maxSurge` is 0"
            yield invalid_value(f"{where}.maxUnavailable", rolling.get("maxUnavailable"), detail)
        yield from checks.at_most_all(rolling.get("maxUnavailable", 0), f"{where}.maxUnavailable")
    else:
        yield not_supported(field, _shown(strategy), ("Recreate", "RollingUpdate"))


def _shown(strategy: Manifest) -> Manifest:
    """Return a strategy as the real server shows it: with the names of its Go type."""
    rolling = strategy.get("rollingUpdate")
    shown = rolling and GoStruct(MaxUnavailable=rolling.get("maxUnavailable", 0), MaxSurge=rolling.get("maxSurge", 0))
    return GoStruct(Type=strategy.get("type", ""), RollingUpdate=shown)


def _selected_template_faults(spec: Manifest, kind: str, owner: str, unclear: str) -> Faults:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        problems: list[Cause] = []
    else:
        problems = list(checks.selector_faults(selector, "spec.selector"))
        yield from problems
        if checks.is_empty_selector(selector):
            yield invalid_value("spec.selector", selector, f"empty selector is invalid for {kind}")
    if problems:
        yield invalid_value("spec.selector", selector, unclear)
        return
    is_empty = selector is not None and checks.is_empty_selector(selector)
    if not is_empty and not checks.selects(selector, _labels(spec) or {}):
        yield invalid_value("spec.template.metadata.labels", _labels(spec), MISMATCH)
    yield from _template_faults(spec, owner)


def _labels(spec: Manifest) -> Manifest | None:
    labels: Manifest | None = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    return labels


def _template_faults(spec: Manifest, owner: str) -> Faults:
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    yield from template_faults(template, "spec.template")
    if pod.get("restartPolicy") != "Always":
        yield not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy", ""), ("Always",))
    if "activeDeadlineSeconds" in pod:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def replica_faults(status: Manifest, counted: Sequence[str]) -> Faults:
    """Refuse a status that counts more of some replicas than of all."""
    replicas = status.get("replicas", 0)
    for name in counted:
        if status.get(name, 0) > replicas:
            yield invalid_value(f"status.{name}", status[name], "cannot be greater than status.replicas")
    if "availableReplicas" in counted and status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        detail = "cannot be greater than readyReplicas"
        yield invalid_value("status.availableReplicas", status["availableReplicas"], detail)
