"""Deployments, ReplicaSets, StatefulSets and DaemonSets: what keeps pods running."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.kinds import checks, pod_defaults, workload_rules
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled, within
from fleetqueue.embedded.apiserver.registry.strategy import Generation, StatusStrategy, Strategy

PERCENT: Final = "25%"
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
Change = Callable[[Manifest], Manifest]


def _counting(default: Change) -> Change:
    """Return what fills in a DaemonSet, which counts its templates from the beginning."""

    def counted(obj: Manifest) -> Manifest:
        obj = default(obj)
        metadata = obj.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        if TEMPLATE_GENERATION in annotations:
            return obj
        return {**obj, "metadata": {**metadata, "annotations": {**annotations, TEMPLATE_GENERATION: "0"}}}

    return counted


def _defaulting(spec: Change) -> Change:
    """Return what fills in an object: its pod template, and then the rest of its spec."""

    def default(obj: Manifest) -> Manifest:
        return within(obj, "spec", lambda given: spec(within(given, "template", pod_defaults.template)))

    return default


def _deployment(spec: Manifest) -> Manifest:
    after = filled(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": {}})
    return within(after, "strategy", _rolling({"maxUnavailable": PERCENT, "maxSurge": PERCENT}))


def _replica_set(spec: Manifest) -> Manifest:
    return filled(spec, {"replicas": 1})


def _daemon_set(spec: Manifest) -> Manifest:
    after = filled(spec, {"revisionHistoryLimit": 10, "updateStrategy": {}})
    return within(after, "updateStrategy", _rolling({"maxUnavailable": 1, "maxSurge": 0}))


def _rolling(defaults: Manifest) -> Change:
    def fill(strategy: Manifest) -> Manifest:
        after = filled(strategy, {"type": "RollingUpdate"})
        if after["type"] != "RollingUpdate":
            return after
        return within(filled(after, {"rollingUpdate": {}}), "rollingUpdate", lambda rolling: filled(rolling, defaults))

    return fill


def _stateful_set(spec: Manifest) -> Manifest:
    defaults: Manifest = {
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "updateStrategy": {},
        "persistentVolumeClaimRetentionPolicy": {},
    }
    after = within(filled(spec, defaults), "updateStrategy", _stateful_strategy)
    after = within(after, "persistentVolumeClaimRetentionPolicy", _retention)
    return each_within(after, "volumeClaimTemplates", _claim)


def _stateful_strategy(strategy: Manifest) -> Manifest:
    after = strategy if "type" in strategy else filled({**strategy, "type": "RollingUpdate"}, {"rollingUpdate": {}})
    if after["type"] != "RollingUpdate":
        return after
    return within(after, "rollingUpdate", lambda rolling: filled(rolling, {"partition": 0}))


def _retention(policy: Manifest) -> Manifest:
    return filled(policy, {"whenDeleted": "Retain", "whenScaled": "Retain"})


def _claim(claim: Manifest) -> Manifest:
    typed = filled(claim, {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "status": {}})
    after = within(pod_defaults.claim_template(typed), "status", lambda status: filled(status, {"phase": "Pending"}))
    return after


def _count_templates(obj: Manifest, old: Manifest | None, user: User) -> Manifest:
    """A DaemonSet counts its templates in an annotation."""
    number = 1
    if old is not None:
        number = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "0"))
        number += obj["spec"].get("template") != old["spec"].get("template")
    metadata = obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


def _status_faults(*counted: str, others: Sequence[str] = ()) -> Callable[..., Any]:
    """Return the rule for a status: no number is below zero, and none of the counted above all replicas."""

    def faults(obj: Manifest, old: Manifest | None) -> list[Any]:
        status = obj.get("status") or {}
        return checks.all_of(
            checks.non_negative(status, "status", *others, *counted),
            workload_rules.replica_faults(status, counted),
        )

    return faults


DEPLOYMENTS: Final = Strategy(
    default=_defaulting(_deployment),
    faults=workload_rules.deployment_faults,
    generation=Generation(metadata=("annotations",)),
    status=StatusStrategy(
        _status_faults(
            "updatedReplicas", "readyReplicas", "availableReplicas", others=("observedGeneration", "replicas")
        ),
        keeps_labels=True,
    ),
)
REPLICA_SETS: Final = Strategy(
    default=_defaulting(_replica_set),
    faults=workload_rules.replica_set_faults,
    status=StatusStrategy(
        _status_faults("fullyLabeledReplicas", "readyReplicas", "availableReplicas", others=("replicas",))
    ),
)
STATEFUL_SETS: Final = Strategy(
    default=_defaulting(_stateful_set),
    faults=workload_rules.stateful_set_faults,
    status=StatusStrategy(
        _status_faults("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", others=("replicas",))
    ),
)
DAEMON_SETS: Final = Strategy(
    default=_counting(_defaulting(_daemon_set)),
    prepare=_count_templates,
    faults=workload_rules.daemon_set_faults,
    status=StatusStrategy(
        _status_faults(others=("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"))
    ),
)
