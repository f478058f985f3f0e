"""The kinds of group apps whose pods Kueue admits, and what stands between them."""

from typing import ClassVar

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import LabelSelector


class DeploymentSpec(View):
    selector: LabelSelector = LabelSelector()


class Deployment(Object):
    resource: ClassVar = Resource("apps", "v1", "Deployment", "deployments")

    spec: DeploymentSpec = DeploymentSpec()


class ReplicaSet(Object):
    resource: ClassVar = Resource("apps", "v1", "ReplicaSet", "replicasets")


class StatefulSetStatus(View):
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Object):
    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets")

    status: StatefulSetStatus = StatefulSetStatus()

    @property
    def is_rolling_out(self) -> bool:
        """Whether another template takes the place of an older one."""
        return self.status.current_revision != self.status.update_revision
