"""Objects of registration, as tests speak of them."""

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.testing.builders import condition


def cluster_manifest(name="c", *, labels=None, conditions=(), finalizers=(), annotations=None, **spec):
    """Build a cluster; of conditions, their types (True) or pairs of type and status."""
    said = [condition(*(each if isinstance(each, tuple) else (each,))) for each in conditions]
    status = {"status": {"conditions": said}} if said else {}
    made = cluster.ManagedCluster.manifest(name, labels=labels, annotations=annotations, spec=spec, **status)
    if finalizers:
        made["metadata"]["finalizers"] = list(finalizers)
    return made


def cluster_view(name="c", **parts):
    return cluster.ManagedCluster.view(cluster_manifest(name, **parts))


def set_manifest(name="s", **spec):
    return cluster.ManagedClusterSet.manifest(name, spec=spec)


def by_labels(**labels):
    return {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": labels}}}


def member(name="c", of="s", **parts):
    return cluster_manifest(name, labels={cluster.CLUSTER_SET_LABEL: of}, **parts)
