"""How KubeRay names and labels what it makes.

Mirrors: kuberay ray-operator/controllers/ray/utils/{constant,util}.go
"""

from typing import Final

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
IDENTIFIER: Final = "ray.io/identifier"
SERVE: Final = "ray.io/serve"
FROM_NAME: Final = "ray.io/originated-from-cr-name"
"""The label with which a RayCluster, a Job or a Service names the RayJob or RayService that it was made for."""
FROM_KIND: Final = "ray.io/originated-from-crd"
SUBMISSION_MODE: Final = "ray.io/job-submission-mode"
CREATED_BY: Final = {"app.kubernetes.io/created-by": "kuberay-operator"}
OF_KUBERAY: Final = {"app.kubernetes.io/name": "kuberay", **CREATED_BY}
HEAD, WORKER, HEAD_GROUP = "head", "worker", "headgroup"

CLIENT_PORT, GCS_PORT, DASHBOARD_PORT, METRICS_PORT, SERVE_PORT = 10001, 6379, 8265, 8080, 8000
LONGEST_PREFIX: Final = 50
LONGEST_LABEL: Final = 63


def pod_prefix(owner: str, node_type: str) -> str:
    """Return how the name of a pod begins; what follows is drawn."""
    return f"{owner[:LONGEST_PREFIX]}-{node_type}-".lower()


def node_labels(cluster: str, node_type: str) -> dict[str, str]:
    """Return by which labels a Service finds the head or the workers of a cluster."""
    identifier = f"{cluster}-{node_type}"[-LONGEST_LABEL:]
    return {CLUSTER: cluster, NODE_TYPE: node_type, IDENTIFIER: identifier, **OF_KUBERAY}


def origin(name: str, kind: str) -> dict[str, str]:
    return {FROM_NAME: name, FROM_KIND: kind}


def head_service_name(owner: str) -> str:
    return f"{owner}-head-svc"


def serve_service_name(owner: str) -> str:
    return f"{owner}-serve-svc"


def dashboard_url(cluster: str, namespace: str) -> str:
    return f"{head_service_name(cluster)}.{namespace}.svc.cluster.local:{DASHBOARD_PORT}"
