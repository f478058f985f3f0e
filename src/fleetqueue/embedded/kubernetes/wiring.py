"""Wire the controllers together: all that a cluster needs beside its API server, its scheduler and its kubelets."""

from collections.abc import Sequence

from fleetqueue.embedded.kubernetes.account_secrets import AccountSecretController, Sign
from fleetqueue.embedded.kubernetes.certificate_requests import CertificateRequestController, Signer
from fleetqueue.embedded.kubernetes.cluster_roles import ClusterRoleController
from fleetqueue.embedded.kubernetes.cron_jobs import CronJobController
from fleetqueue.embedded.kubernetes.daemon_sets import DaemonSetController
from fleetqueue.embedded.kubernetes.deployments import DeploymentController
from fleetqueue.embedded.kubernetes.finished_jobs import FinishedJobController
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.embedded.kubernetes.jobs import JobController
from fleetqueue.embedded.kubernetes.namespaces import NamespaceController
from fleetqueue.embedded.kubernetes.node_health import NodeHealthController
from fleetqueue.embedded.kubernetes.pod_garbage import PodGarbageController
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSetController
from fleetqueue.embedded.kubernetes.service_accounts import ServiceAccountController
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.embedded.kubernetes.stateful_sets import StatefulSetController
from fleetqueue.embedded.kubernetes.taint_evictions import TaintEvictionController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(
    cluster: Cluster,
    metrics: Metrics,
    settings: KubernetesSettings,
    *,
    sign_token: Sign | None = None,
    sign_certificate: Signer | None = None,
) -> Sequence[Controller]:
    """Return the controllers of one cluster; without a signer, certificates are not signed."""
    signing = [CertificateRequestController(cluster, metrics, sign=sign_certificate)] if sign_certificate else []
    return (
        NamespaceController(cluster, metrics),
        GarbageCollectionController(cluster, metrics),
        ServiceAccountController(cluster, metrics, ca=settings.ca),
        AccountSecretController(cluster, metrics, ca=settings.ca, sign=sign_token),
        ClusterRoleController(cluster, metrics),
        JobController(cluster, metrics),
        FinishedJobController(cluster, metrics),
        CronJobController(cluster, metrics),
        NodeHealthController(cluster, metrics, settings=settings),
        TaintEvictionController(cluster, metrics),
        PodGarbageController(cluster, metrics, settings=settings),
        ReplicaSetController(cluster, metrics),
        DeploymentController(cluster, metrics),
        StatefulSetController(cluster, metrics),
        DaemonSetController(cluster, metrics),
        *signing,
    )
