"""Keep the ManifestWork of each ClusterPermission right, and let the permission say what became of it.

Reads:   ClusterPermission, ManagedCluster, ManagedServiceAccount, ManagedClusterAddOn, Namespace, ManifestWork
Writes:  ManifestWork `<permission>-<start of its uid>` in the cluster's namespace, ClusterPermission status
Mirrors: cluster-permission controllers/clusterpermission_controller.go and clusterpermission_status_controller.go

What a permission names may come after it: it is then looked at again. That a permission was once not valid is not said
any more when it is.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import (
    APPLIED,
    CLUSTER_ROLES_EXIST,
    ROLES_EXIST,
    VALIDATION,
    ClusterPermission,
)
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.condition_lists import with_conditions, without_condition
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.managed_service_account_v1beta1 import ADD_ON, ManagedServiceAccount
from fleetqueue.api.meta import Object, key_of, replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.embedded.ocm.cluster_permissions import messages, payload, works
from fleetqueue.embedded.ocm.cluster_permissions.payload import BuildProblem, References
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status

NAMED_ADD_ON: Final = f"metadata.name={ADD_ON}"

log = Log("cluster-permissions")


class ClusterPermissionController(Controller):
    name = "cluster-permissions"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ClusterPermission, by_key)
        yield Watch(ManifestWork, _owners)
        yield Watch(ManagedCluster, lambda cluster: self._permissions(cluster.name))
        yield Watch(ManagedServiceAccount, lambda account: self._permissions(account.namespace))
        yield Watch(ManagedClusterAddOn, lambda add_on: self._permissions(add_on.namespace), fields=NAMED_ADD_ON)
        yield Watch(Namespace, lambda namespace: self._selecting())

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        permission = self.hub.get(ClusterPermission, name, namespace)
        if permission is None or permission.is_deleting:
            return
        if problem := self._problem(permission):
            await self._say(permission, [Condition.false(VALIDATION, *problem)])
            return
        try:
            made = payload.manifests(permission, self._references(namespace))
        except BuildProblem as why:
            await self._say(permission, [Condition.false(APPLIED, *messages.not_built(str(why)))], gone=[VALIDATION])
            return
        looked_for = payload.looked_for(permission) if permission.spec.validate else []
        work = await self._ensure(works.work_manifest(permission, made, looked_for))
        conditions = works.told(permission, work)
        gone = [VALIDATION, *([] if permission.spec.validate else [ROLES_EXIST, CLUSTER_ROLES_EXIST])]
        await self._say(permission, conditions, gone=gone, resources=works.resource_status(work))

    def _problem(self, permission: ClusterPermission) -> tuple[str, str] | None:
        if not permission.spec.bindings_of_cluster and not permission.spec.role_bindings:
            return messages.no_bindings()
        if self.hub.get(ManagedCluster, permission.namespace) is None:
            return messages.no_cluster()
        return None

    def _references(self, cluster: str) -> References:
        add_on = self.hub.get(ManagedClusterAddOn, ADD_ON, cluster)
        return References(
            accounts=frozenset(account.name for account in self.hub.list(ManagedServiceAccount, cluster)),
            add_on_namespace=add_on.install_namespace if add_on else None,
            namespaces=self.hub.list(Namespace),
        )

    async def _ensure(self, wanted: Manifest) -> ManifestWork:
        """Create the work, or give it the wanted spec; return it as it is then."""
        metadata = wanted["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        store = self.hub.informer(ManifestWork).store
        live, raw = store.get(key_of(namespace, name)), store.raw(key_of(namespace, name))
        if live is None or raw is None:
            log.info("work made", cluster=namespace, work=name)
            return ManifestWork.view(await self.hub.client.create(ManifestWork.resource, wanted))
        if works.is_current(raw["spec"], wanted["spec"]):
            return live
        patch = replacement(raw["spec"], wanted["spec"])
        log.info("work changed", cluster=namespace, work=name)
        return ManifestWork.view(
            await self.hub.client.merge(live.resource, name, namespace, {"metadata": live.precondition, "spec": patch})
        )

    async def _say(
        self,
        permission: ClusterPermission,
        conditions: Sequence[Condition],
        *,
        gone: Sequence[str] = (),
        resources: Manifest | None = None,
    ) -> None:
        """Write what differs in the status, only over what was seen; without resources theirs stays as it is."""
        live = live_status(self.hub, permission)
        kept = live.get("conditions") or []
        for kind in gone:
            kept = without_condition(kept, kind)
        wanted = {**live, "conditions": with_conditions(kept, conditions, clock.now())}
        if resources:
            wanted["resourceStatus"] = resources
        patch = replacement(live, wanted)
        if patch:
            await self.hub.client.merge(
                permission.resource,
                permission.name,
                permission.namespace,
                {"metadata": permission.precondition, "status": patch},
                subresource="status",
            )

    def _permissions(self, cluster: str) -> Iterable[str]:
        return [permission.key for permission in self.hub.list(ClusterPermission, cluster)]

    def _selecting(self) -> Iterable[str]:
        """Return the permissions that choose namespaces by their labels."""
        return [permission.key for permission in self.hub.list(ClusterPermission) if _selects(permission)]


def _owners(work: Object) -> Iterable[str]:
    kind = ClusterPermission.resource.kind
    return [key_of(work.namespace, owner.name) for owner in work.metadata.owner_references if owner.kind == kind]


def _selects(permission: ClusterPermission) -> bool:
    selectors = [role.namespace_selector for role in permission.spec.roles]
    selectors += [binding.namespace_selector for binding in permission.spec.role_bindings]
    return any(selector is not None for selector in selectors)
