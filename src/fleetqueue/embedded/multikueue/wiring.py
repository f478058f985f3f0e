"""Wire the controllers together: what makes a Kueue manager the hub of several clusters.

It needs, beside what Kueue needs: on the hub to get, list and watch multikueueclusters, multikueueconfigs, and in
Kueue's namespace secrets and clusterprofiles; to update and patch the status of multikueueclusters, admissionchecks,
workloads, jobs and jobsets. On each worker, by its kubeconfig: to create, delete, get, list and watch jobs and jobsets,
and the same, with update and patch, for workloads and their status.
"""

from collections.abc import Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.adapters import ADAPTERS, Adapter
from fleetqueue.embedded.multikueue.admission_checks import AdmissionCheckController
from fleetqueue.embedded.multikueue.clusters import ClusterController, GarbageCollector
from fleetqueue.embedded.multikueue.copies import CopyController
from fleetqueue.embedded.multikueue.group_lookup import WorkloadGroups
from fleetqueue.embedded.multikueue.incremental import IncrementalDispatcher
from fleetqueue.embedded.multikueue.metrics import MultiKueueMetrics
from fleetqueue.embedded.multikueue.remote import Dial, RemoteClient, RemoteClients, RunPlugin
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.multikueue.workloads import MultiKueueWorkloadController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(
    hub: Cluster,
    metrics: Metrics,
    settings: MultiKueueSettings,
    *,
    dial: Dial,
    run_plugin: RunPlugin | None = None,
    external: Sequence[Adapter] = (),
) -> Sequence[Controller]:
    """Return the controllers of a hub, to be run by the same manager as Kueue's.

    Args:
        dial: opens a worker by its kubeconfig.
        run_plugin: asks the programs that give credentials for ClusterProfiles; None leaves it to `dial`.
        external: what sends the kinds of `settings.external_frameworks` that the hub serves.
    """
    return _Wiring(hub, metrics, settings, dial, run_plugin, external).controllers()


class _Wiring:
    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        settings: MultiKueueSettings,
        dial: Dial,
        run_plugin: RunPlugin | None,
        external: Sequence[Adapter],
    ) -> None:
        adapters = [adapter for adapter in ADAPTERS if adapter.framework in settings.frameworks]
        self.hub = hub
        self.metrics = metrics
        self.settings = settings
        self.dial = dial
        self.run_plugin = run_plugin
        self.kinds = [adapter.kind for adapter in (*adapters, *external)]
        self.multikueue_metrics = MultiKueueMetrics(metrics.registry, settings.replica_role)
        here = [adapter for adapter in adapters if settings.served is None or adapter.framework in settings.served]
        self.groups = WorkloadGroups(hub, RemoteClients(self._remote), [*here, *external], settings)
        self.workloads = MultiKueueWorkloadController(
            hub, metrics, groups=self.groups, multikueue_metrics=self.multikueue_metrics
        )
        self.leftovers = GarbageCollector(self.groups, settings.gc_interval)
        self.clusters = ClusterController(
            hub, metrics, remotes=self.groups.remotes, leftovers=self.leftovers, settings=settings
        )

    def controllers(self) -> Sequence[Controller]:
        checks = AdmissionCheckController(self.hub, self.metrics, self.settings)
        if self.settings.dispatcher != kueue.INCREMENTAL:
            return self.clusters, checks, self.workloads
        return self.clusters, checks, self.workloads, IncrementalDispatcher(self.hub, self.metrics, self.groups)

    def _remote(self, name: str) -> RemoteClient:
        remote = RemoteClient(
            name,
            self.kinds,
            origin=self.settings.origin,
            dial=self.dial,
            run_plugin=self.run_plugin,
            on_connection_change=self._connection_changed,
            on_event=self.workloads.on_event,
        )
        remote.copies = CopyController(
            self.hub, self.metrics, remote=remote, groups=self.groups, multikueue_metrics=self.multikueue_metrics
        )
        return remote

    def _connection_changed(self, name: str) -> None:
        self.clusters.wake(name)
        self.workloads.wake_all()
        remote = self.groups.remotes.get(name)
        if remote is not None and remote.is_connected:
            self.leftovers.look(remote)
