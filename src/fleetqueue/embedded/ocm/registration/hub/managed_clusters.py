"""Let in the clusters that the hub accepts: give them a namespace and their agents rights, and take both back.

Reads:   ManagedCluster, Namespace, ClusterRole, ClusterRoleBinding, RoleBinding, ManifestWork
Writes:  ManagedCluster (finalizer, condition HubAcceptedManagedCluster; acceptance where that is automatic), Namespace,
         ClusterRole, ClusterRoleBinding, RoleBinding
Mirrors: ocm pkg/registration/hub/managedcluster/controller.go

The namespace of a cluster is never deleted: what others put there may be worth more than the cluster.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ACCEPTED, CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.conditions import is_true, timestamp
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, RoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.ensured_objects import ensure, ensure_absent
from fleetqueue.embedded.ocm.registration.hub import permissions
from fleetqueue.embedded.ocm.registration.names import AUTO_ACCEPTED, OF_CLUSTERS, RBAC_FINALIZER, WORK_FINALIZER
from fleetqueue.embedded.ocm.registration.objects import RemainingWork
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_condition

KINDS: Final[dict[str, type[Object]]] = {
    kind.resource.kind: kind for kind in (Namespace, ClusterRole, ClusterRoleBinding, RoleBinding)
}

log = Log("registration")


class ManagedClusterController(Controller):
    name = "managed-clusters"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: RegistrationHubSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, by_key)
        for kind in (ClusterRole, ClusterRoleBinding, RoleBinding):
            yield Watch(kind, cluster_of, labels=OF_CLUSTERS)
        yield Watch(Namespace, labels=OF_CLUSTERS)
        yield Watch(RemainingWork, self._leaving_cluster)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None or cluster.is_deleting:
            if await self._withdraw(key) and cluster is not None:
                await self.hub.remove_finalizer(cluster, RBAC_FINALIZER)
        elif self.settings.auto_accept and AUTO_ACCEPTED not in cluster.metadata.annotations:
            await self._accept(cluster)
        elif cluster.spec.hub_accepts_client:
            await self._let_in(cluster)
        elif is_true(cluster.status.conditions, ACCEPTED):
            await self._deny(cluster)

    def _leaving_cluster(self, work: RemainingWork) -> Iterable[str]:
        """Wake a cluster whose rights are kept only until its last work is gone."""
        binding = self.hub.get(RoleBinding, permissions.work_binding_name(work.namespace), work.namespace)
        return (work.namespace,) if binding is not None and binding.is_deleting else ()

    async def _accept(self, cluster: ManagedCluster) -> None:
        """Accept a cluster that was never accepted; the annotation lets a later denial stand."""
        patch: Manifest = {"metadata": {"annotations": {AUTO_ACCEPTED: timestamp(clock.now())}}}
        if not cluster.spec.hub_accepts_client:
            patch["spec"] = {"hubAcceptsClient": True}
        await self.hub.client.merge(ManagedCluster.resource, cluster.name, "", patch)
        log.info("cluster accepted automatically", cluster=cluster.name)

    async def _let_in(self, cluster: ManagedCluster) -> None:
        problems = await self._ensure([self._namespace(cluster.name)])
        if await self.hub.add_finalizer(cluster, RBAC_FINALIZER):
            return  # the change wakes us
        problems += await self._ensure(wanted_rights(cluster.name, self.settings, is_accepted=True))
        condition = messages.not_applied("\n".join(str(problem) for problem in problems)) if problems else None
        if await write_condition(self.hub, cluster, condition or messages.accepted()):
            log.info("cluster let in", cluster=cluster.name, problems=len(problems))
        if problems:
            raise problems[0]

    async def _deny(self, cluster: ManagedCluster) -> None:
        """Leave the agent the right to see its cluster, so that it learns of a change of mind."""
        problems = await self._ensure(wanted_rights(cluster.name, self.settings, is_accepted=False))
        if problems:
            raise problems[0]
        if await self._remove_bindings(cluster.name):
            await write_condition(self.hub, cluster, messages.denied())
            log.info("cluster denied", cluster=cluster.name)

    async def _ensure(self, wanted: Sequence[Manifest]) -> list[errors.ApiError]:
        """Write what differs; return what could not be written."""
        problems = []
        for manifest in wanted:
            try:
                await ensure(self.hub, KINDS[manifest["kind"]], manifest)
            except errors.Conflict:
                raise
            except errors.ApiError as error:
                problems.append(error)
        return problems

    async def _withdraw(self, cluster: str) -> bool:
        """Take all rights of a cluster; False while its works are still to go."""
        name = f"{permissions.ROLE}{cluster}"
        await ensure_absent(self.hub, self.hub.get(ClusterRole, name))
        await ensure_absent(self.hub, self.hub.get(ClusterRoleBinding, name))
        return await self._remove_bindings(cluster)

    async def _remove_bindings(self, cluster: str) -> bool:
        """Shut the agents out of the namespace; the one of works only when the last work is gone."""
        for manifest in permissions.role_bindings(cluster, {}):
            await ensure_absent(self.hub, self.hub.get(RoleBinding, manifest["metadata"]["name"], cluster))
        if self.hub.list(RemainingWork, cluster):
            return False  # their end wakes us
        work = self.hub.get(RoleBinding, permissions.work_binding_name(cluster), cluster)
        if work is not None and WORK_FINALIZER in work.metadata.finalizers:
            left = [finalizer for finalizer in work.metadata.finalizers if finalizer != WORK_FINALIZER]
            patch = {"metadata": {"uid": work.uid, "finalizers": left or None}}
            await self.hub.client.merge(RoleBinding.resource, work.name, work.namespace, patch)
        return True

    def _namespace(self, cluster: str) -> Manifest:
        return Namespace.manifest(cluster, labels={CLUSTER_NAME_LABEL: cluster, **self.settings.labels})


def wanted_rights(cluster: str, settings: RegistrationHubSettings, *, is_accepted: bool) -> list[Manifest]:
    """Return all that an agent may do."""
    rights = [
        permissions.cluster_role(cluster, settings.labels, is_accepted=is_accepted),
        permissions.cluster_role_binding(cluster, settings.labels),
    ]
    return [*rights, *permissions.role_bindings(cluster, settings.labels)] if is_accepted else rights


def cluster_of(obj: Object) -> Iterable[str]:
    """Wake the cluster that an object is kept for."""
    cluster = obj.metadata.labels.get(CLUSTER_NAME_LABEL)
    return (cluster,) if cluster else ()
