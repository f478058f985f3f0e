"""Put the room together: what JobSet's controller does.

It needs, as upstream's does: to get, list, watch, update and delete jobsets, and to update their status; to get, list,
watch, create, update and delete jobs, and to update their status; to get, list, watch and create services; and to
create and patch events.
"""

from collections.abc import Sequence

from fleetqueue.controllers.jobset.job_sets import JobSetController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(cluster: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return the controllers of one cluster."""
    return (JobSetController(cluster, metrics),)
