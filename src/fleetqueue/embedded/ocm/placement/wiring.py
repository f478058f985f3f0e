"""Wire the controllers together: what OCM's placement controller does.

It needs to list and watch managedclusters, managedclustersets, managedclustersetbindings, addonplacementscores and
placements; to list, watch, create, patch and delete placementdecisions; to patch the status of placements and of
placementdecisions; and to create events. Where the server enforces permissions on owner references, which Kubernetes
does not by default, it also needs to update the finalizers of placements, as upstream's may.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression
from fleetqueue.embedded.ocm.placement.scheduling import SchedulingController
from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(
    hub: Cluster, metrics: Metrics, settings: PlacementSettings, *, compile_expression: CompileExpression
) -> Sequence[Controller]:
    """Return the controllers of a hub; `compile_expression` reads the CEL expressions of predicates."""
    return (SchedulingController(hub, metrics, settings, compile_expression=compile_expression),)
