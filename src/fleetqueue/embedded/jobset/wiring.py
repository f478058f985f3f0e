"""Wire the controllers together: what JobSet's controller does.

It needs to list, watch and delete jobsets, and to patch their status; to list, watch, create, patch and delete jobs,
and to patch their status; to list, watch and create services; and to create and patch events.
"""

from collections.abc import Sequence

from fleetqueue.embedded.jobset.job_sets import JobSetController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(cluster: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return the controllers of one cluster."""
    return (JobSetController(cluster, metrics),)
