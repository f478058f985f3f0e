"""Whom a change concerns: from an object to the Placements whose configs must be looked at again."""

from collections.abc import Callable, Iterable

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, placement_of
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.names import PLACEMENT_LABEL


class Wakers:
    def __init__(self, objects: HubObjects) -> None:
        self.hub = objects.hub
        self.objects = objects
        self.settings = objects.settings

    def of_member(self, member: kueue.MultiKueueCluster) -> Iterable[str]:
        label = member.metadata.labels.get(PLACEMENT_LABEL)
        if label:
            return [label]
        # A foreign one may have, or have had, the name that one of ours shall have.
        selecting = self._selecting(lambda placement, name: self.settings.member(placement, name) == member.name)
        return {*self.objects.configs_listing(member.name), *selecting}

    def of_workload(self, workload: kueue.Workload) -> Iterable[str]:
        """Wake a config when a Workload comes to, or leaves, a cluster that it drains; others do not care."""
        if not (workload.is_live and workload.clusters):
            return []
        name = self.objects.config_of(workload)
        draining = marks_of(self.objects.config(name)) if name else {}
        return [name] if any(member in draining for member in workload.clusters) else []

    def of_cluster(self, member: cluster.ManagedCluster) -> Iterable[str]:
        """Wake who lists a cluster when it goes away."""
        if member.is_deleting or self.hub.get(cluster.ManagedCluster, member.name) is None:
            return self._listing(member.name)
        return []

    def of_secret(self, secret: Secret) -> Iterable[str]:
        return self._selecting(lambda _, name: self.settings.secret(name) == secret.name)

    def of_profile(self, profile: ClusterProfile) -> Iterable[str]:
        return self._selecting(lambda _, name: name == profile.name)

    def of_kueue(self) -> Iterable[str]:
        """Kueue's configuration changed: every condition and order may."""
        return {placement for check in self.hub.list(kueue.AdmissionCheck) if (placement := placement_of(check))}

    def _selecting(self, is_meant: Callable[[str, str], bool]) -> Iterable[str]:
        """Return the Placements that have chosen a cluster that is meant, by the names of both."""
        return [
            placement
            for decision in self.hub.list(cluster.PlacementDecision)
            for placement in of_decision(decision)
            if any(is_meant(placement, d.cluster_name) for d in decision.status.decisions)
        ]

    def _listing(self, name: str) -> Iterable[str]:
        return [
            config.name
            for config in self.hub.list(kueue.MultiKueueConfig)
            if any(self.objects.cluster_of(member, config.name) == name for member in config.spec.clusters)
        ]


def by_name(obj: Object) -> Iterable[str]:
    return (obj.name,)


def of_check(check: kueue.AdmissionCheck) -> Iterable[str]:
    """A check that names no Placement has a key of its own."""
    if check.spec.controller_name != CHECK_CONTROLLER:
        return ()
    return (placement_of(check) or f"!{check.name}",)


def of_decision(decision: cluster.PlacementDecision) -> Iterable[str]:
    placement = decision.metadata.labels.get(cluster.PLACEMENT_LABEL)
    return (placement,) if placement else ()
