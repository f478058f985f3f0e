"""Keep the two roles that all agents share, while there is any cluster.

Reads:   ManagedCluster, ClusterRole
Writes:  ClusterRole
Mirrors: ocm pkg/registration/hub/clusterrole/controller.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.embedded.ocm.registration.hub.permissions import SHARED, shared_roles
from fleetqueue.embedded.ocm.registration.names import OF_CLUSTERS
from fleetqueue.embedded.ocm.registration.objects import AgentRole
from fleetqueue.embedded.ocm.registration.settings import HubSettings
from fleetqueue.embedded.ocm.registration.writing import ensure, ensure_absent
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics

KEY: Final = "roles"
"""There is one thing to keep right, so one key."""


class SharedRoleController(Controller):
    name = "shared-agent-roles"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: HubSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(AgentRole, lambda role: (KEY,) if role.name in SHARED else (), labels=OF_CLUSTERS)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedCluster).subscribe(self._changed)

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        if old is None or new is None:
            self.wake(KEY)

    async def reconcile(self, key: str) -> None:
        if self.hub.list(ManagedCluster):
            for role in shared_roles(self.settings.labels):
                await ensure(self.hub, AgentRole, role)
        else:
            for name in SHARED:
                await ensure_absent(self.hub, self.hub.get(AgentRole, name))
