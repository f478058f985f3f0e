"""Put the room together: what OCM's placement controller does.

It needs, as upstream's does: to get, list and watch managedclusters, managedclustersets, managedclustersetbindings,
addonplacementscores and placements; to get, list, watch, create, update, patch and delete placementdecisions; to update
and patch the status of placements and of placementdecisions; to update the finalizers of placements, since decisions
block the deletion of their Placement; and to create events.
"""

from collections.abc import Sequence

from fleetqueue.controllers.placement.plugins.selectors import CompileExpression
from fleetqueue.controllers.placement.scheduling import SchedulingController
from fleetqueue.controllers.placement.settings import PlacementSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(
    hub: Cluster, metrics: Metrics, settings: PlacementSettings, *, compile_expression: CompileExpression
) -> Sequence[Controller]:
    """Return the controllers of a hub; `compile_expression` reads the CEL expressions of predicates."""
    return (SchedulingController(hub, metrics, settings, compile_expression=compile_expression),)
