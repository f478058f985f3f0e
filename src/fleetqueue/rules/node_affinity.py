"""Which nodes a pod may run on by its nodeSelector and its node affinity."""

from collections.abc import Iterable, Mapping, Sequence

from fleetqueue.api.core_v1 import Node, NodeSelectorTerm, Pod
from fleetqueue.api.selectors import Requirement


def is_chosen(pod: Pod, node: Node) -> bool:
    """Tell whether a pod's nodeSelector and one term of its affinity match a node."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    terms = required_terms(pod)
    return terms is None or matches_a_term(terms, node.name, labels)


def matches_a_term(terms: Iterable[NodeSelectorTerm], name: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a node of this name and with these labels matches one of the terms of an affinity."""
    return any(_matches(term, name, labels) for term in terms)


def required_terms(pod: Pod) -> Sequence[NodeSelectorTerm] | None:
    """Return the terms one of which a node must match; None where any node will do."""
    required = pod.spec.affinity.node_affinity.required
    return required.node_selector_terms if required is not None else None


def _matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not (term.match_expressions or term.match_fields):
        return False  # an empty term matches nothing
    fields = {"metadata.name": name}
    return all(_holds(one, labels) for one in term.match_expressions) and all(
        _holds(one, fields) for one in term.match_fields
    )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    if requirement.operator not in ("Gt", "Lt"):
        return requirement.matches(labels)
    value = labels.get(requirement.key, "")
    if not (value.lstrip("-").isdecimal() and requirement.values):
        return False
    bound = int(requirement.values[0])
    return int(value) > bound if requirement.operator == "Gt" else int(value) < bound
