"""Open Cluster Management as it is installed: its controllers on the hub, its agents on each worker."""

from typing import Final

from fleetqueue.assembly.systems.part import EVENTS, READ, STATUS, WRITE, Part, rule

HUB_NAMESPACE: Final = "open-cluster-management-hub"
VERSION: Final = "v1.2.1"
_CLUSTER: Final = "cluster.open-cluster-management.io"

PLACEMENT: Final = Part(
    "cluster-manager-placement-controller",
    HUB_NAMESPACE,
    image=f"quay.io/open-cluster-management/placement:{VERSION}",
    args=(),
    account="placement-controller-sa",
    rules=(
        rule(_CLUSTER, "managedclusters managedclustersets managedclustersetbindings addonplacementscores", READ),
        rule(_CLUSTER, "placements", READ),
        rule(_CLUSTER, "placements/finalizers", "update"),
        rule(_CLUSTER, "placementdecisions", WRITE),
        rule(_CLUSTER, "placements/status placementdecisions/status", STATUS),
        EVENTS,
    ),
)
