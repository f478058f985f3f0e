"""Keep the workers connected that MultiKueueClusters name, and say on each how that goes.

Reads:   MultiKueueCluster, Secret, ClusterProfile, files
Writes:  MultiKueueCluster status, Events
Mirrors: Kueue pkg/controller/admissionchecks/multikueue/multikueuecluster.go
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.cluster_sources import BadSource, ClusterSources
from fleetqueue.embedded.multikueue.group_lookup import WorkloadGroups
from fleetqueue.embedded.multikueue.names import CLUSTER_CONTROLLER
from fleetqueue.embedded.multikueue.remote import RemoteClient, RemoteClients
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics


class GarbageCollector:
    """Looks from time to time for what workers still have of Workloads that the hub does not have any more.

    That is what was deleted while a worker, or we, were away; all else goes when its Workload goes.
    """

    def __init__(self, groups: WorkloadGroups, interval: float) -> None:
        self.groups = groups
        self.interval = interval

    async def run(self) -> None:
        while self.interval > 0:
            await asyncio.sleep(self.interval)
            for remote in self.groups.remotes:
                self.look(remote)

    def look(self, remote: RemoteClient) -> None:
        if not remote.is_connected or remote.copies is None:
            return
        for key in remote.keys():
            local = self.groups.local(key)
            if local is None or local[0].is_deleting:
                remote.copies.wake(key)


FILE_SECONDS: Final = 5.0
"""How often a kubeconfig file is looked at; no event tells of a change."""
BY_SOURCE: Final = "source"


class ClusterController(Controller):
    name = "multikueue clusters"

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        remotes: RemoteClients,
        leftovers: GarbageCollector,
        settings: MultiKueueSettings,
    ) -> None:
        super().__init__(hub, metrics)
        self.remotes = remotes
        self.leftovers = leftovers
        self.settings = settings
        self.sources = ClusterSources(hub, settings)
        self.events = SeriesRecorder(hub.client, CLUSTER_CONTROLLER)
        self._tasks: asyncio.TaskGroup | None = None
        hub.informer(kueue.MultiKueueCluster).store.add_index(BY_SOURCE, _source)

    def watches(self) -> Iterable[Watch[Any]]:
        namespace = self.settings.namespace
        yield Watch(kueue.MultiKueueCluster, by_key)
        yield Watch(Secret, lambda secret: self._by_source(f"Secret/{secret.name}"), namespace=namespace)
        if self.settings.serves_profiles:
            yield Watch(ClusterProfile, lambda profile: self._by_source(f"Profile/{profile.name}"), namespace=namespace)

    async def work(self) -> None:
        """Work until cancelled; the connections live as long."""
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self.leftovers.run(), name="multikueue leftovers")
            await super().work()

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(kueue.MultiKueueCluster, key)
        if cluster is None or cluster.is_deleting:
            await self.remotes.forget(key)
            return
        await self._warn_of_path(cluster)
        try:
            connection = await self.sources.connection(cluster)
        except BadSource as error:
            await self.remotes.stop(key)
            await self._say(cluster, FALSE, error.reason, messages.bad_source(str(error)))
        else:
            remote = await self.remotes.ensure(key, connection, self._spawn)
            await self._say_how(cluster, remote)
        if _is_file(cluster):
            raise errors.RetryLater(FILE_SECONDS, "the file may have changed")

    def _spawn(self, remote: RemoteClient, connection: Connection) -> asyncio.Task[None]:
        assert self._tasks is not None, "connections live while the controller works"
        return self._tasks.create_task(remote.run(connection), name=f"worker {remote.name}")

    async def _say_how(self, cluster: kueue.MultiKueueCluster, remote: RemoteClient) -> None:
        """Say whether it is connected; while it is being connected, what was said stands."""
        if remote.is_connected:
            await self._say(cluster, TRUE, *messages.CONNECTED)
        elif remote.problem:
            await self._say(cluster, FALSE, *messages.connection_failed(remote.problem))

    async def _say(self, cluster: kueue.MultiKueueCluster, status: str, reason: str, message: str) -> None:
        condition = Condition(
            type=kueue.ACTIVE,
            status=status,
            reason=reason,
            message=message,
            observed_generation=cluster.metadata.generation,
        )
        await self.hub.set_conditions(cluster, cluster.status.conditions, [condition], {kueue.ACTIVE})

    async def _warn_of_path(self, cluster: kueue.MultiKueueCluster) -> None:
        if _is_file(cluster) and self.settings.kubeconfig_folder is None and not cluster.status.conditions:
            await self.events.warning(cluster, *messages.PATH_DEPRECATED)

    def _by_source(self, source: str) -> Iterable[str]:
        return [cluster.name for cluster in self.hub.by_index(kueue.MultiKueueCluster, BY_SOURCE, source)]


def _is_file(cluster: kueue.MultiKueueCluster) -> bool:
    source = cluster.spec.cluster_source.kube_config
    return source is not None and source.location_type == "Path"


def _source(cluster: kueue.MultiKueueCluster) -> Iterable[str]:
    source = cluster.spec.cluster_source
    if source.cluster_profile_ref is not None:
        yield f"Profile/{source.cluster_profile_ref.name}"
    elif source.kube_config is not None and source.kube_config.location_type == "Secret":
        yield f"Secret/{source.kube_config.location}"
