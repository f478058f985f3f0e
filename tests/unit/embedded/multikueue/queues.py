"""Queues on every cluster, and what is in them."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.testing.builders import pod_template

from .objects import CHECK, NAMESPACE, QUEUE


def arrange(env, cpus="9"):
    """Make queues everywhere; the hub's has the check."""
    env.arrange()
    for cluster in env.fleet:
        resources = [{"name": "cpu", "nominalQuota": cpus}]
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}} if cluster is env.hub else {}
        cluster.add(
            kueue.ResourceFlavor.manifest("default", spec={}),
            kueue.ClusterQueue.manifest("q", spec={"namespaceSelector": {}, "resourceGroups": groups, **checks}),
            kueue.LocalQueue.manifest(QUEUE, NAMESPACE, spec={"clusterQueue": "q"}),
        )


def endless(name="j"):
    template = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": "90h"})
    return Job.manifest(name, NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec={"template": template})


def the_workload(env, cluster="hub"):
    return env.fleet[cluster].list(kueue.Workload)[0]
