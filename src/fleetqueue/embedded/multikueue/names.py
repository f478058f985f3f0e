"""Names that MultiKueue's users and its other parts know."""

from typing import Final

IN_USE: Final = "kueue.x-k8s.io/resource-in-use"
"""The finalizer of a Workload."""
KUBECONFIG_KEY: Final = "kubeconfig"
WORKLOAD_CONTROLLER: Final = "kueue-workload-controller"
CLUSTER_CONTROLLER: Final = "multikueue-cluster"
EVENT: Final = "MultiKueue"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
EVICTED_ON_MANAGER: Final = "EvictedOnManagerCluster"
OUT_OF_SYNC: Final = "OutOfSync"
OWNER_NOT_FOUND: Final = "OwnerNotFound"
