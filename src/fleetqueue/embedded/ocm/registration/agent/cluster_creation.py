"""Create the ManagedCluster of the worker, which the hub may then accept.

Reads:   ManagedCluster (hub)
Writes:  ManagedCluster (hub), with the bootstrap credential
Mirrors: ocm pkg/registration/spoke/registration/creating_controller.go
"""

import base64
from collections.abc import Callable, Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import AGENT_ANNOTATIONS
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

KEY: Final = "introduction"
AGAIN_SECONDS: Final = (3600.0, 7200.0)
"""When we look again, should the hub not let us in for so long."""

log = Log("registration-agent")


class ManagedClusterCreatingController(Controller):
    name = "managed-cluster-introduction"

    def __init__(
        self, hub: Cluster, metrics: Metrics, settings: RegistrationAgentSettings, *, done: Callable[[], None]
    ) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.is_done = False
        self._done = done

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    def subscribe(self) -> None:
        self.wake(KEY)

    async def reconcile(self, key: str) -> None:
        try:
            await self._create()
        except (errors.Unauthorized, errors.Forbidden) as error:
            log.info("not introduced", cluster=self.settings.cluster, why=error)  # it may be known all the same
        self.is_done = True
        self._done()
        raise errors.RetryLater(clock.between(*AGAIN_SECONDS), "it may be deleted meanwhile")

    async def _create(self) -> None:
        client, resource = self.hub.client, ManagedCluster.resource
        try:
            live = await client.get(resource, self.settings.cluster)
        except errors.NotFound:
            await client.create(resource, new_cluster(self.settings))
            log.info("introduced to the hub", cluster=self.settings.cluster)
            return
        completed = with_client_configs(live, self.settings)
        if completed != live:
            await client.update(resource, completed)


def new_cluster(settings: RegistrationAgentSettings) -> Manifest:
    """Build a ManagedCluster; to accept it is the hub's decision."""
    notes = {name: text for name, text in settings.annotations.items() if name.startswith(AGENT_ANNOTATIONS)}
    manifest = ManagedCluster.manifest(settings.cluster, annotations=notes, spec={"hubAcceptsClient": False})
    return with_client_configs(manifest, settings)


def with_client_configs(cluster: Manifest, settings: RegistrationAgentSettings) -> Manifest:
    """Add the ways to the worker that a ManagedCluster does not have yet."""
    spec = cluster.get("spec") or {}
    live = spec.get("managedClusterClientConfigs") or []
    known = {config["url"] for config in live}
    authority = {"caBundle": base64.b64encode(settings.ca).decode()} if settings.ca else {}
    new = [{"url": url, **authority} for url in settings.urls if url not in known]
    return {**cluster, "spec": {**spec, "managedClusterClientConfigs": [*live, *new]}} if new else cluster
