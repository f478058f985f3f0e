"""The MultiKueueClusters that we keep: one for each cluster that a config lists, shared by Placements or not.

A member reaches its cluster as Kueue does: through the kubeconfig secret of the cluster, or through its ClusterProfile.
"""

from collections.abc import Container, Iterator

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import ACCESS_PROVIDER, CLUSTER_LABEL, GIVEN_UP
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.names import PLACEMENT_LABEL
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import OURS, is_ours
from fleetqueue.runtime.logs import Log

log = Log("members")


class Members:
    def __init__(self, objects: HubObjects, workers: Workers) -> None:
        self.hub = objects.hub
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self._unlisted_at: dict[str, float] = {}
        """When we took each member off its config; others that are not listed were taken off by somebody else."""

    def of(self, key: str) -> list[kueue.MultiKueueCluster]:
        """Return our members that serve a Placement, or any where members are shared."""
        return [
            member
            for member in self.hub.list(kueue.MultiKueueCluster)
            if is_ours(member) and (is_shared(member) or member.metadata.labels[PLACEMENT_LABEL] == key)
        ]

    def owner(self, key: str, member: str) -> str:
        """Say who else has a member's name; empty where it is free, or ours for this Placement."""
        existing = self.objects.member(member)
        if existing is None:
            return ""
        if not is_ours(existing):
            return f"MultiKueueCluster {member} was not made by fleetqueue"
        owner = existing.metadata.labels.get(PLACEMENT_LABEL, key)
        return f"MultiKueueCluster {member} serves placement {owner}" if owner != key else ""

    async def write(self, key: str, member: str, cluster: str) -> None:
        labels = {**OURS, CLUSTER_LABEL: cluster}
        if self.settings.naming == "placement":
            labels[PLACEMENT_LABEL] = key
        spec = {"clusterSource": cluster_source(self.settings, cluster)}
        manifest = kueue.MultiKueueCluster.manifest(member, labels=labels, annotations={GIVEN_UP: None}, spec=spec)
        if await self.hub.ensure(kueue.MultiKueueCluster, manifest):
            log.info("member written", config=key, member=member)

    def note_unlisted(self, member: str) -> None:
        self._unlisted_at[member] = clock.monotonic()

    def was_unlisted(self, member: str) -> bool:
        """Tell whether it was us who took a member off its config."""
        return member in self._unlisted_at

    def unlisted(self, key: str, listed: Container[str]) -> Iterator[tuple[kueue.MultiKueueCluster, float]]:
        """Yield the members that no config lists, each with the seconds for which it still has to stay."""
        self._unlisted_at = {m: moment for m, moment in self._unlisted_at.items() if self.objects.member(m) is not None}
        for member in self.of(key):
            if member.name in listed:
                self._unlisted_at.pop(member.name, None)
            elif not self.objects.configs_listing(member.name):
                moment = self._unlisted_at.setdefault(member.name, clock.monotonic())
                yield member, moment + self.settings.linger - clock.monotonic()

    async def remove(self, member: kueue.MultiKueueCluster) -> None:
        """Delete a member, and close our own connection to its cluster with the last one."""
        await self.hub.ensure_absent(member)
        secret = self.objects.secret_of(member)
        rest = [other for other in self.hub.list(kueue.MultiKueueCluster) if other.name != member.name]
        if all(self.objects.secret_of(other) != secret for other in rest):
            self.workers.forget(secret)


def is_shared(member: kueue.MultiKueueCluster) -> bool:
    return PLACEMENT_LABEL not in member.metadata.labels


def cluster_source(settings: PlacementAdmissionSettings, cluster: str) -> Manifest:
    """Return the clusterSource of a cluster's member; Kueue allows one kind only, so the other must be absent."""
    if settings.access == "profile":
        return {"kubeConfig": None, "clusterProfileRef": {"name": cluster}}
    secret = {"locationType": "Secret", "location": settings.secret(cluster)}
    return {"kubeConfig": secret, "clusterProfileRef": None}


def why_unusable(
    settings: PlacementAdmissionSettings, cluster: str, secret: Secret | None, profile: ClusterProfile | None
) -> str:
    """Say what Kueue, or we ourselves, lack to reach a cluster; empty where nothing is missing."""
    if secret is None:
        return f"no secret {settings.secret(cluster)} yet"
    if settings.access != "profile":
        return ""
    if profile is None:
        return f"no ClusterProfile {cluster}"
    if not profile.is_of(cluster):
        return f"ClusterProfile {cluster} is not the one that OCM keeps for this cluster"
    if not profile.has_provider(ACCESS_PROVIDER):
        return f"ClusterProfile {cluster} has no access provider {ACCESS_PROVIDER}"
    return ""
