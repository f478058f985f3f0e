"""Queues on every cluster of a stage."""

from fleetqueue.api import kueue_v1beta2 as kueue

from .objects import CHECK, NAMESPACE, QUEUE


def arrange(stage, cpus="9"):
    """Make queues everywhere; the hub's has the check."""
    stage.arrange()
    for cluster in stage.fleet:
        resources = [{"name": "cpu", "nominalQuota": cpus}]
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}} if cluster is stage.hub else {}
        cluster.add(
            kueue.ResourceFlavor.manifest("default", spec={}),
            kueue.ClusterQueue.manifest("q", spec={"namespaceSelector": {}, "resourceGroups": groups, **checks}),
            kueue.LocalQueue.manifest(QUEUE, NAMESPACE, spec={"clusterQueue": "q"}),
        )
