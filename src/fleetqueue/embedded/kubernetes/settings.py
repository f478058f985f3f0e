"""The settings of the controllers of one cluster."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    ca: str = ""
    """The certificate, as PEM, that clients trust the API server by; empty publishes none."""
    node_grace: float = 50.0
    """Seconds for which a node may be silent; as kube-controller-manager's --node-monitor-grace-period."""
    node_start_grace: float = 60.0
    """The same for a node whose kubelet never reported."""
    ended_pods: int = 12500
    """How many pods that have ended are kept; as its --terminated-pod-gc-threshold."""
