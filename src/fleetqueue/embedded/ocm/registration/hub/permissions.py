"""The rights of agents on the hub: what each may do with its own cluster, and what all may do in their namespaces.

The two roles that all agents share are kept while there is any cluster.

Reads:   ManagedCluster, ClusterRole
Writes:  ClusterRole
Mirrors: ocm pkg/registration/hub/clusterrole/controller.go, pkg/registration/hub/managedcluster/manifests
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL, GROUP, ManagedCluster
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, RoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.ensured_objects import ensure, ensure_absent
from fleetqueue.embedded.ocm.registration.names import AGENT_PREFIX, OF_CLUSTERS, REGISTER_GROUP, WORK_FINALIZER
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics

RBAC: Final = "rbac.authorization.k8s.io"
ROLE: Final = "open-cluster-management:managedcluster:"
REGISTRATION_ROLE: Final = f"{ROLE}registration"
WORK_ROLE: Final = f"{ROLE}work"
SHARED: Final = (REGISTRATION_ROLE, WORK_ROLE)

Labels = Mapping[str, str]


def cluster_role(cluster: str, labels: Labels, *, is_accepted: bool) -> Manifest:
    """What one agent may do: see its cluster and, once accepted, say how it is and renew its certificate."""
    own = {"apiGroups": [GROUP], "resources": ["managedclusters"], "resourceNames": [cluster]}
    if not is_accepted:
        rules = [{**own, "verbs": ["get", "list", "watch"]}]
    else:
        rules = [
            _rule("certificates.k8s.io", "certificatesigningrequests", "create", "get", "list", "watch"),
            _rule(REGISTER_GROUP, "managedclusters/clientcertificates", "renew"),
            {**own, "verbs": ["get", "list", "update", "watch"]},
            {**own, "resources": ["managedclusters/status"], "verbs": ["patch", "update"]},
        ]
    return ClusterRole.manifest(f"{ROLE}{cluster}", labels=_labelled(cluster, labels), rules=rules)


def cluster_role_binding(cluster: str, labels: Labels) -> Manifest:
    name = f"{ROLE}{cluster}"
    return ClusterRoleBinding.manifest(name, labels=_labelled(cluster, labels), **_binding(cluster, name))


def role_bindings(cluster: str, labels: Labels) -> list[Manifest]:
    """What lets the two agents of a worker into its namespace: the one of registration, and the one of works."""
    marks = _labelled(cluster, labels)
    registration = RoleBinding.manifest(
        f"{ROLE}{cluster}:registration", cluster, labels=marks, **_binding(cluster, REGISTRATION_ROLE)
    )
    work = RoleBinding.manifest(work_binding_name(cluster), cluster, labels=marks, **_binding(cluster, WORK_ROLE))
    work["metadata"]["finalizers"] = [WORK_FINALIZER]
    return [registration, work]


def work_binding_name(cluster: str) -> str:
    return f"{WORK_ROLE.removesuffix('work')}{cluster}:work"


def shared_roles(labels: Labels) -> list[Manifest]:
    """What all agents may do, each in its own namespace."""
    add_ons = "addon.open-cluster-management.io"
    works = "work.open-cluster-management.io"
    registration = [
        _rule("coordination.k8s.io", "leases", "get", "list", "watch", "update"),
        _rule(add_ons, "managedclusteraddons", "get", "list", "watch"),
        _rule(add_ons, "managedclusteraddons/status", "patch", "update"),
        _rule("events.k8s.io", "events", "create"),
    ]
    work = [
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
        _rule(works, "manifestworks", "get", "list", "watch", "update", "patch"),
        _rule(works, "manifestworks/status", "patch", "update"),
    ]
    marks = _labelled("", labels)
    return [
        ClusterRole.manifest(REGISTRATION_ROLE, labels=marks, rules=registration),
        ClusterRole.manifest(WORK_ROLE, labels=marks, rules=work),
    ]


def _rule(group: str, resource: str, *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _labelled(cluster: str, labels: Labels) -> dict[str, str]:
    return {CLUSTER_NAME_LABEL: cluster, **labels}


def _binding(cluster: str, role: str) -> Manifest:
    groups = (f"{AGENT_PREFIX}{cluster}", f"open-cluster-management:{cluster}")
    return {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "Group", "apiGroup": RBAC, "name": group} for group in groups],
    }


KEY: Final = "roles"
"""There is one thing to keep right, so one key."""


class SharedRoleController(Controller):
    name = "shared-agent-roles"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: RegistrationHubSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ClusterRole, lambda role: (KEY,) if role.name in SHARED else (), labels=OF_CLUSTERS)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedCluster).subscribe(self._changed)

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        if old is None or new is None:
            self.wake(KEY)

    async def reconcile(self, key: str) -> None:
        if self.hub.list(ManagedCluster):
            for role in shared_roles(self.settings.labels):
                await ensure(self.hub, ClusterRole, role)
        else:
            for name in SHARED:
                await ensure_absent(self.hub, self.hub.get(ClusterRole, name))
