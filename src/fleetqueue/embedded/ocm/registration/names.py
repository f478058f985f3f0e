"""Names that registration gives to things, equal to OCM's."""

from typing import Final

from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL, GROUP

LEASE: Final = "managed-cluster-lease"
DEFAULT_SET = "default"
RBAC_FINALIZER: Final = f"{GROUP}/api-resource-cleanup"
"""On a ManagedCluster: its rights are to be taken away first."""
CLEANUP_FINALIZER: Final = f"{GROUP}/resource-cleanup"
"""On a ManagedCluster: its add-ons and works are to go first."""
WORK_FINALIZER: Final = f"{GROUP}/manifest-work-cleanup"
"""On the binding that lets the work agent in: works are to go first, and it is needed for that."""
CLEANUP_PRIORITY: Final = "open-cluster-management.io/cleanup-priority"
AUTO_ACCEPTED: Final = "open-cluster-management.io/automatically-accepted-on"
AUTO_UPDATE: Final = f"{GROUP}/autoupdate"
ADD_ON_LABEL: Final = "open-cluster-management.io/addon-name"
OF_CLUSTERS: Final = f"{CLUSTER_NAME_LABEL},!{ADD_ON_LABEL}"
"""The label selector of what registration keeps for clusters: what add-ons need is kept by others."""

AGENT_PREFIX: Final = "system:open-cluster-management:"
AGENTS_GROUP: Final = "system:open-cluster-management:managed-clusters"
AGENT_NAMESPACE: Final = "open-cluster-management-agent"
BOOTSTRAP_SECRET: Final = "bootstrap-hub-kubeconfig"
HUB_SECRET: Final = "hub-kubeconfig-secret"
KUBECONFIG, CERTIFICATE, KEY = "kubeconfig", "tls.crt", "tls.key"
CLUSTER_NAME, AGENT_NAME = "cluster-name", "agent-name"
"""What the secret with the hub's kubeconfig holds."""
AGENT_ANNOTATIONS: Final = "agent.open-cluster-management.io/"
"""The annotations that an agent may give to its cluster."""
NAMESPACE_LABEL: Final = "clusterset.open-cluster-management.io/"
REGISTER_GROUP: Final = "register.open-cluster-management.io"
"""No kind is in it: only rights are."""


def agent_user(cluster: str, agent: str) -> str:
    return f"{AGENT_PREFIX}{cluster}:{agent}"


def agent_groups(cluster: str) -> tuple[str, str]:
    """Return the groups that an agent's certificate names."""
    return f"{AGENT_PREFIX}{cluster}", AGENTS_GROUP
