"""Whether a pod set may use a flavor: taints against tolerations, and the flavor's labels against what pods ask for.

Mirrors: Kueue pkg/scheduler/flavorassigner (checkFlavorForPodSets)
"""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api.core_v1 import Taint
from fleetqueue.api.kueue_v1beta2 import ResourceFlavor
from fleetqueue.api.pod_templates import NodeTerm, PodSet, PodSpec
from fleetqueue.api.tolerations import is_tolerated

KEEPING_OUT: Final = ("NoSchedule", "NoExecute")


def mismatch(pod_set: PodSet, name: str, flavor: ResourceFlavor | None) -> str:
    """Say why a pod set cannot use a flavor; nothing if it can."""
    if flavor is None:
        return f"flavor {name} not found"
    if pod_set.asks_for_topology:
        return f'Flavor "{name}" does not support TopologyAwareScheduling'
    spec = pod_set.template.spec
    tolerations = (*spec.tolerations, *flavor.spec.tolerations)
    for taint in flavor.spec.node_taints:
        if taint.effect in KEEPING_OUT and not is_tolerated(taint, tolerations):
            return f"untolerated taint {_as_go(taint)} in flavor {name}"
    if not _is_chosen(spec, flavor.spec.node_labels):
        return f"flavor {name} doesn't match node affinity"
    return ""


def _as_go(taint: Taint) -> str:
    return f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"


def _is_chosen(spec: PodSpec, labels: Mapping[str, str]) -> bool:
    """Compare only what the flavor has a label for: all else is for the scheduler of the nodes."""
    if any(key in labels and labels[key] != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    terms = [
        [each for each in term.match_expressions if each.key in labels]
        for term in (required.node_selector_terms if required is not None else ())
    ]
    if not all(terms):  # a term about other labels can always be met
        return True
    return not terms or any(all(_holds(each, labels) for each in term) for term in terms)


def _holds(term: NodeTerm, labels: Mapping[str, str]) -> bool:
    """Judge a term about a label that the flavor has."""
    value = labels[term.key]
    match term.operator:
        case "In":
            return value in term.values
        case "NotIn":
            return value not in term.values
        case "Exists":
            return True
        case "Gt":
            return _number(value) > _number(term.values[0])
        case "Lt":
            return _number(value) < _number(term.values[0])
    return False


def _number(text: str) -> float:
    """Return the number that a label is; what is none is neither more nor less than anything."""
    return float(text) if text.lstrip("-").isdigit() else float("nan")
