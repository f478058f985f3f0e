"""ClusterPermissions, and what they speak of."""

from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount

CLUSTER, NAME, ADD_ON = "cluster1", "reader", "managed-serviceaccount"
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
USER = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}
GROUP = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "team"}
SERVICE_ACCOUNT = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
MANAGED = {"kind": "ManagedServiceAccount", "apiGroup": "authentication.open-cluster-management.io", "name": "app"}
OWN_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME}
VIEW = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
EU = {"matchLabels": {"region": "eu"}}


def permission_manifest(**spec):
    return ClusterPermission.manifest(NAME, CLUSTER, spec=spec)


def permission(**spec):
    manifest = permission_manifest(**spec)
    manifest["metadata"]["uid"] = "abcdefgh"
    return ClusterPermission.view(manifest)


def namespace(name, **labels):
    return Namespace.view(Namespace.manifest(name, labels=labels))


def cluster_manifest(name=CLUSTER):
    return ManagedCluster.manifest(name, spec={"hubAcceptsClient": True})


def account_manifest(name="app"):
    return ManagedServiceAccount.manifest(name, CLUSTER, spec={"rotation": {}})


def add_on_manifest():
    return ManagedClusterAddOn.manifest(ADD_ON, CLUSTER, spec={})
