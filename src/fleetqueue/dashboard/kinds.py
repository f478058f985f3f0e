"""What is followed of the hub, and how little of it is kept: enough to show it, and nothing that is secret."""

from datetime import datetime
from typing import ClassVar, Final, NamedTuple, Self

import msgspec

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.events_v1 import NORMAL, Event
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Amounts, add, parse_all
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.cluster import LABELLED_OURS
from fleetqueue.runtime.events import COMPONENT
from fleetqueue.runtime.informer import WatchScope


class PodSetRequest(View):
    """What the pods of a pod set ask for together."""

    resources: dict[str, str] = msgspec.field(default_factory=dict)


class ShownStatus(kueue.WorkloadStatus):
    resource_requests: tuple[PodSetRequest, ...] = ()
    """What Kueue found no quota for, while there is no admission."""


class DatedWorkload(kueue.Workload):
    """A Workload that keeps its dates and its cluster when it has finished: a timeline shows the past."""

    status: ShownStatus = ShownStatus()

    @property
    def asked_for(self) -> Amounts:
        """What it holds, or waits for."""
        return self.requests or add(parse_all(pod_set.resources) for pod_set in self.status.resource_requests)

    @classmethod
    def kept(cls, raw: Manifest) -> Self:
        return cls.view(cls.trim(raw))


class SecretLabel(Secret):
    """What stands on the outside of a secret. Its content leaves memory before it is stored anywhere."""

    keeps_raw: ClassVar[bool] = False

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        return {"metadata": super().trim(raw)["metadata"], "type": raw.get("type", "")}


class SlimJob(Job):
    """A Job without its template, of which only the status tells something."""

    keeps_raw: ClassVar[bool] = False

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        return {"metadata": super().trim(raw)["metadata"], "status": raw.get("status") or {}}


class Regarding(View):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class EventSeries(View):
    count: int = 0
    last_observed_time: datetime | None = None


class ShownEvent(Event):
    keeps_raw: ClassVar[bool] = False

    type: str = NORMAL
    reason: str = ""
    note: str = ""
    regarding: Regarding = Regarding()
    reporting_controller: str = ""
    event_time: datetime | None = None
    series: EventSeries | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: int = 0

    @property
    def time(self) -> datetime | None:
        """When it happened last."""
        seen = self.series.last_observed_time if self.series else None
        return seen or self.deprecated_last_timestamp or self.event_time or self.metadata.creation_timestamp

    @property
    def count(self) -> int:
        return max(self.series.count if self.series else 0, self.deprecated_count, 1)

    @property
    def is_of_dispatcher(self) -> bool:
        """Whether our controller speaks of a Workload."""
        return self.reporting_controller == COMPONENT and self.regarding.kind == kueue.Workload.resource.kind


class Followed(NamedTuple):
    """A kind, and which of its objects are followed."""

    kind: type[Object]
    scope: WatchScope


OF_JOBS: Final = (DatedWorkload, kueue.LocalQueue, SlimJob, StatefulSet, ShownEvent)
"""The kinds that live in the namespaces of users."""
OF_THE_HUB: Final = (
    cluster.ManagedCluster,
    cluster.ManagedClusterSet,
    cluster.ManagedClusterSetBinding,
    cluster.Placement,
    cluster.PlacementDecision,
    cluster.AddOnPlacementScore,
    kueue.MultiKueueCluster,
    kueue.MultiKueueConfig,
    kueue.AdmissionCheck,
    kueue.ClusterQueue,
    kueue.ResourceFlavor,
)


def followed(namespace: str, kueue_namespace: str) -> tuple[Followed, ...]:
    """Return what is followed for a user who looks at the jobs of one namespace, or of all."""
    return (
        *(Followed(kind, WatchScope()) for kind in OF_THE_HUB),
        *(Followed(kind, WatchScope(namespace=namespace)) for kind in OF_JOBS),
        Followed(Lease, WatchScope(labels=LABELLED_OURS)),
        Followed(SecretLabel, WatchScope(namespace=kueue_namespace)),
    )
