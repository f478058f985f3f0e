"""The filters: Predicate, and what is wrong with tolerations.

Predicate: a cluster passes if it is meant by any of a Placement's predicates, or if there are none.
TaintToleration: who passes is in `rules.placement_eligibility`. A taint with the effect PreferNoSelect does not lower a
score either.

Mirrors: OCM pkg/placement/plugins/{predicate,tainttoleration}
"""

from typing import Final

from fleetqueue.api.cluster_v1 import ManagedCluster, Placement
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression, Selector, cluster_selector

PREDICATE: Final = "Predicate"


class Predicates:
    def __init__(self, placement: Placement, facts: Facts, compile_expression: CompileExpression) -> None:
        self.problem: Misconfigured | None = None
        """Why no cluster can be judged; of no concern while there is none."""
        self._selectors: list[Selector] = []
        try:
            for predicate in placement.spec.predicates:
                self._selectors.append(cluster_selector(predicate.required_cluster_selector, facts, compile_expression))
        except ValueError as error:
            self.problem = Misconfigured(PREDICATE, str(error))

    def admit(self, cluster: ManagedCluster) -> bool:
        return not self._selectors or any(matches(cluster) for matches in self._selectors)


def asks_for_scores(placement: Placement) -> bool:
    """Tell whether a change of any score may change which clusters pass."""
    return any(
        "scores" in source
        for predicate in placement.spec.predicates
        for source in predicate.required_cluster_selector.cel_expressions
    )


TAINT_TOLERATION: Final = "TaintToleration"


def problem_of(placement: Placement) -> Misconfigured | None:
    """Say what is wrong with the tolerations; of no concern while there is no cluster to judge."""
    for toleration in placement.spec.tolerations:
        if not toleration.key and toleration.operator != "Exists":
            return Misconfigured(TAINT_TOLERATION, "If the key is empty, operator must be Exists.")
        if toleration.operator == "Exists" and toleration.value:
            return Misconfigured(TAINT_TOLERATION, "If the operator is Exists, the value should be empty.")
    return None
