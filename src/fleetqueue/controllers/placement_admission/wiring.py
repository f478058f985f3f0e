"""Make the controllers of this package, and hand them what they share."""

from collections.abc import Sequence

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client.transport import connect
from fleetqueue.controllers.placement_admission.copies import Copies
from fleetqueue.controllers.placement_admission.dispatcher import DispatcherController
from fleetqueue.controllers.placement_admission.evictions import EvictionController
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.identities import Identities
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.controllers.placement_admission.multikueue_configs import MultiKueueConfigController
from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.controllers.placement_admission.refused_credentials import RefusedCredentials
from fleetqueue.controllers.placement_admission.sent_nominations import SentNominations
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.silent_members import SilentMembers
from fleetqueue.controllers.placement_admission.workers import Dial, Workers
from fleetqueue.controllers.placement_admission.workload_checks import WorkloadCheckController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


class PlacementAdmission:
    """The controllers as one part: `controllers` to run, `close` when they have stopped."""

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        settings: PlacementAdmissionSettings,
        *,
        limit: int = 20,
        has_profiles: bool = True,
        hub_uid: str = "",
        dial: Dial = connect,
    ) -> None:
        """`limit`: how many clusters a config may list; `has_profiles`: whether the hub serves ClusterProfiles.

        `hub_uid`: the uid of the hub's own namespace kube-system, by which it is known where it is a managed cluster.
        """
        objects = HubObjects(hub, settings, has_profiles=has_profiles)
        admission_metrics = PlacementAdmissionMetrics(metrics.registry)
        sent_nominations = SentNominations()
        self.workers = Workers(dial, metrics, on_change=lambda: self.dispatcher.wake_waiting())
        silent_members = SilentMembers(objects)
        refused = RefusedCredentials(hub)
        copies = Copies(objects, self.workers, silent_members, refused, PastClusters())
        self.dispatcher = DispatcherController(
            hub,
            metrics,
            objects=objects,
            workers=self.workers,
            copies=copies,
            sent_nominations=sent_nominations,
            admission_metrics=admission_metrics,
        )
        self.evictions = EvictionController(
            hub,
            metrics,
            objects=objects,
            copies=copies,
            admission_metrics=admission_metrics,
        )
        self.configs = MultiKueueConfigController(
            hub,
            metrics,
            objects=objects,
            workers=self.workers,
            copies=copies,
            identities=Identities(objects, hub_uid),
            sent_nominations=sent_nominations,
            admission_metrics=admission_metrics,
            limit=limit,
        )
        self.checks = WorkloadCheckController(
            hub, metrics, objects=objects, workers=self.workers, copies=copies, admission_metrics=admission_metrics
        )
        hub.informer(cluster.AddOnPlacementScore)
        hub.informer(kueue.ClusterQueue)
        hub.informer(kueue.LocalQueue)
        objects.declare_indexes()

    @property
    def controllers(self) -> Sequence[Controller]:
        return (self.configs, self.checks, self.dispatcher, self.evictions)

    async def close(self) -> None:
        await self.workers.close()
