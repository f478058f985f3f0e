"""TaintToleration: what is wrong with a Placement's tolerations. Who passes is in `rules.placement_eligibility`.

A taint with the effect PreferNoSelect does not lower a score either.

Mirrors: OCM pkg/placement/plugins/tainttoleration
"""

from typing import Final

from fleetqueue.api.cluster_v1 import Placement
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured

TAINT_TOLERATION: Final = "TaintToleration"


def problem_of(placement: Placement) -> Misconfigured | None:
    """Say what is wrong with the tolerations; of no concern while there is no cluster to judge."""
    for toleration in placement.spec.tolerations:
        if not toleration.key and toleration.operator != "Exists":
            return Misconfigured(TAINT_TOLERATION, "If the key is empty, operator must be Exists.")
        if toleration.operator == "Exists" and toleration.value:
            return Misconfigured(TAINT_TOLERATION, "If the operator is Exists, the value should be empty.")
    return None
