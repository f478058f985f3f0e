"""Objects of a hub, as the tests of the page need them."""

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.api.usage_scores import SCORE_RESOURCE
from fleetqueue.dashboard.kinds import DatedWorkload
from fleetqueue.testing.builders import by_secret, condition, pod_template

CREATED = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:05:00Z"
END = "2026-01-01T01:00:00Z"


def managed(name="cluster1", *conditions, cluster_set="spoke", **amounts):
    return cluster.ManagedCluster.manifest(
        name,
        labels={cluster.CLUSTER_SET_LABEL: cluster_set},
        spec={"hubAcceptsClient": True},
        status={"conditions": list(conditions), "capacity": amounts, "allocatable": amounts},
    )


def member(name="gpu-cluster1", *conditions, of="cluster1", secret="kubeconfig"):
    labels = {CLUSTER_LABEL: of} if of else None
    return kueue.MultiKueueCluster.manifest(
        name, labels=labels, spec=by_secret(secret), status={"conditions": list(conditions)}
    )


def score(cluster_name="cluster1", **values):
    status = {"scores": [{"name": name, "value": value} for name, value in values.items()]}
    return cluster.AddOnPlacementScore.manifest(SCORE_RESOURCE, cluster_name, status=status)


def cluster_queue(name="cq", *conditions, cpu="9", **status):
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
    return kueue.ClusterQueue.manifest(
        name,
        spec={"resourceGroups": groups, "namespaceSelector": {}},
        status={"conditions": list(conditions), **status},
    )


def local_queue(name="queue", target="cq", **status):
    return kueue.LocalQueue.manifest(name, "ns", spec={"clusterQueue": target}, status=status)


def workload(name="w", *conditions, on="", cpu="1", priority=0, **status):
    pod_set = {"name": "main", "count": 1, "template": pod_template(requests={"cpu": cpu})}
    assignment = {"name": "main", "resourceUsage": {"cpu": cpu}, "flavors": {"cpu": "default"}, "count": 1}
    manifest = kueue.Workload.manifest(
        name,
        "ns",
        spec={"queueName": "queue", "podSets": [pod_set], "priority": priority},
        status={"conditions": list(conditions), **status},
    )
    if any(one["type"] == kueue.QUOTA_RESERVED and one["status"] == "True" for one in conditions):
        manifest["status"]["admission"] = {"clusterQueue": "cq", "podSetAssignments": [assignment]}
    if on:
        manifest["status"]["clusterName"] = on
    return manifest


def seen(manifest):
    """Return a Workload as the page keeps it, with what the server would have given it."""
    metadata = manifest["metadata"]
    given = {"uid": f"uid-of-{metadata['name']}", "creationTimestamp": CREATED}
    return DatedWorkload.kept({**manifest, "metadata": {**metadata, **given}})


QUOTA = condition(kueue.QUOTA_RESERVED, since=LATER)
ADMITTED = condition(kueue.ADMITTED, since=LATER)
SUCCEEDED = condition(kueue.FINISHED, True, "Succeeded", "Job finished successfully", since=END)
FAILED = condition(kueue.FINISHED, True, "Failed", "too many retries", since=END)
EVICTED = condition(kueue.EVICTED, True, "PodsReadyTimeout", "too slow", since=LATER)
