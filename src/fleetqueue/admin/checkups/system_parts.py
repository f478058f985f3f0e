"""The Deployments that a fleet lives by, the Leases of its agents, and what watches over them, as a survey lists them.

The same kind in several places has a name for each: what is listed is kept by its type.
"""

from datetime import datetime
from typing import ClassVar

import msgspec

from fleetqueue.admin.checkups.findings import RepairStep, by_hand, kubectl, named
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.meta import Object, View, time_of_write
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import LabelSelector

MONITORING = "monitoring.coreos.com"
SCRAPE = "prometheus.io/scrape"


class PartContainer(View):
    image: str = ""


class PartPodSpec(View):
    containers: tuple[PartContainer, ...] = ()


class PartPodMeta(View):
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class PartPodTemplate(View):
    metadata: PartPodMeta = PartPodMeta()
    spec: PartPodSpec = PartPodSpec()


class PartSpec(View):
    replicas: int = 1
    template: PartPodTemplate = PartPodTemplate()


class PartStatus(View):
    available_replicas: int = 0


class PartDeployment(Object):
    """A Deployment of something that a fleet lives by."""

    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments")

    spec: PartSpec = PartSpec()
    status: PartStatus = PartStatus()

    @property
    def is_down(self) -> bool:
        return not self.status.available_replicas

    @property
    def version(self) -> str:
        """The tag of its image, where that is a version: `v0.19.2`."""
        for container in self.spec.template.spec.containers:
            tag = container.image.partition("@")[0].rpartition(":")[2]
            if tag.removeprefix("v")[:1].isdigit() and "/" not in tag:
                return tag
        return ""


class KueuePart(PartDeployment):
    """That of Kueue's manager."""


class OwnPart(PartDeployment):
    """One of ours: the controller, or a score agent."""


class OcmPart(PartDeployment):
    """One of Open Cluster Management: a controller on the hub, an agent on a worker."""


class ControllerLease(Lease):
    """The Lease of our controller."""


class AgentLease(Lease):
    """The Lease of an agent that fences its worker."""

    written: datetime | None = None
    """When it was written last, by the hub's clock."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep of `managedFields` only the last time."""
        written = time_of_write(raw)
        return {**super().trim(raw), **({"written": written.isoformat()} if written else {})}


class PrometheusRule(Object):
    resource: ClassVar = Resource(MONITORING, "v1", "PrometheusRule", "prometheusrules")


class ServiceMonitorSpec(View):
    selector: LabelSelector = LabelSelector()


class ServiceMonitor(Object):
    resource: ClassVar = Resource(MONITORING, "v1", "ServiceMonitor", "servicemonitors")

    spec: ServiceMonitorSpec = ServiceMonitorSpec()


class MetricsService(Object):
    """A Service of ours."""

    resource: ClassVar = Resource("", "v1", "Service", "services")


def started(part: PartDeployment, cluster: str) -> RepairStep:
    """Say how a Deployment without available pods comes to life."""
    if not part.spec.replicas:
        name, *namespace = named(part)[1:]
        return kubectl("scale", f"deployment/{name}", *namespace, "--replicas=1", cluster=cluster)
    return by_hand(
        f"look why no pod of Deployment {part.key} on {cluster} is available: its Events, its pods and their log"
    )
