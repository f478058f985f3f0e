"""Clusters, their sets, and where these are bound."""

from fleetqueue.api import cluster_v1 as ocm
from fleetqueue.testing.builders import condition

SET, NAMESPACE = "spoke", "kueue-system"


def cluster_manifest(name, *, set_=SET, labels=None, conditions=(), claims=(), version=""):
    own = {ocm.CLUSTER_SET_LABEL: set_} if set_ else {}
    status = {
        "conditions": list(conditions),
        "clusterClaims": [{"name": key, "value": value} for key, value in claims],
        "version": {"kubernetes": version} if version else {},
    }
    return ocm.ManagedCluster.manifest(
        name, labels={**own, **(labels or {})}, spec={"hubAcceptsClient": True}, status=status
    )


def set_manifest(name=SET, selector=None):
    chosen = {"selectorType": "ExclusiveClusterSetLabel"}
    if selector is not None:
        chosen = {"selectorType": "LabelSelector", "labelSelector": selector}
    return ocm.ManagedClusterSet.manifest(name, spec={"clusterSelector": chosen})


def binding_manifest(name=SET, namespace=NAMESPACE, *, is_bound=True):
    reason = "ClusterSetBound" if is_bound else "ClusterSetNotFound"
    status = {"conditions": [condition(ocm.BOUND, is_bound, reason)]}
    return ocm.ManagedClusterSetBinding.manifest(name, namespace, spec={"clusterSet": name}, status=status)
