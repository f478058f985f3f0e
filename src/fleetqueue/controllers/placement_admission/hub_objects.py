"""Questions that all controllers of this package ask the hub's cached objects."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import (
    CHECK_CONTROLLER,
    CLUSTER_LABEL,
    DISPATCHER_NAME,
    GIVEN_UP,
    MISSING_KINDS,
    REPLACED_BY,
    placement_of,
)
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.controllers.placement_admission.groups import group_of
from fleetqueue.controllers.placement_admission.names import DRAINING, PLACEMENT_LABEL
from fleetqueue.controllers.placement_admission.selection import decided_scores, recomputed_scores
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.kueue_configuration import KueueConfiguration

BY_PLACEMENT: Final = "placement"
BY_MEMBER: Final = "member"
BY_CHECK: Final = "check"
UNPLACED: Final = "unplaced"
BY_GROUP: Final = "group"


class HubObjects:
    """The hub as this package sees it. A *member* is a MultiKueueCluster, by name."""

    def __init__(self, hub: Cluster, settings: PlacementAdmissionSettings, *, has_profiles: bool) -> None:
        self.hub = hub
        self.settings = settings
        self.follows_profiles = has_profiles and settings.access == "profile"
        self.kueue = KueueConfiguration(hub, settings.kueue_namespace, settings.kueue_config_map)

    def declare_indexes(self) -> None:
        """Make the lookups below cheap; called once, when the kinds are declared."""
        hub, namespace = self.hub, self.settings.kueue_namespace
        hub.informer(kueue.AdmissionCheck).store.add_index(BY_PLACEMENT, lambda check: _present(placement_of(check)))
        hub.informer(cluster.PlacementDecision, namespace=namespace).store.add_index(
            BY_PLACEMENT, lambda decision: _present(decision.metadata.labels.get(cluster.PLACEMENT_LABEL, ""))
        )
        workloads = hub.informer(kueue.Workload).store
        workloads.add_index(BY_MEMBER, lambda workload: workload.clusters if workload.is_live else ())
        workloads.add_index(BY_CHECK, _checks_of)
        workloads.add_index(BY_GROUP, lambda workload: _present(group_of(workload)) if workload.is_live else ())
        workloads.add_index(UNPLACED, lambda workload: _checks_of(workload) if is_unplaced(workload) else ())

    # Checks and placements

    def checks_on(self, placement: str) -> Sequence[kueue.AdmissionCheck]:
        return self.hub.by_index(kueue.AdmissionCheck, BY_PLACEMENT, placement)

    def our_checks(self, workload: kueue.Workload) -> list[kueue.AdmissionCheck]:
        """Return the checks of a Workload that are ours to answer."""
        checks = (self.hub.get(kueue.AdmissionCheck, state.name) for state in workload.status.admission_checks)
        return [check for check in checks if check is not None and check.spec.controller_name == CHECK_CONTROLLER]

    def workloads_of(self, check: str) -> Sequence[kueue.Workload]:
        return self.hub.by_index(kueue.Workload, BY_CHECK, check)

    def unplaced_by(self, config: str) -> Iterable[kueue.Workload]:
        """Return the Workloads that wait for a cluster by a config, or by a check of ours on its Placement."""
        for check in (*self.multikueue_checks_on(config), *(check.name for check in self.checks_on(config))):
            yield from self.hub.by_index(kueue.Workload, UNPLACED, check)

    def cluster_queue_of(self, workload: kueue.Workload) -> kueue.ClusterQueue | None:
        """Return the queue on the hub in which a Workload has quota, or waits for it."""
        admission = workload.status.admission
        if admission is not None:
            return self.hub.get(kueue.ClusterQueue, admission.cluster_queue)
        local = self.hub.get(kueue.LocalQueue, workload.spec.queue_name, workload.namespace)
        return self.hub.get(kueue.ClusterQueue, local.spec.cluster_queue) if local is not None else None

    def siblings(self, workload: kueue.Workload) -> list[kueue.Workload]:
        """Return the other live Workloads of the same job, which Kueue keeps on one cluster with this one."""
        group = group_of(workload)
        workloads = self.hub.by_index(kueue.Workload, BY_GROUP, group) if group else ()
        return [sibling for sibling in workloads if sibling.key != workload.key]

    def with_siblings(self, workload: kueue.Workload) -> Iterable[str]:
        """Wake a Workload that holds quota, and those that go where it goes."""
        yield from with_quota(workload)
        yield from (sibling.key for sibling in self.siblings(workload))

    def decisions_of(self, placement: str) -> Sequence[cluster.PlacementDecision]:
        return self.hub.by_index(cluster.PlacementDecision, BY_PLACEMENT, placement)

    def score(self, cluster_name: str, resource: str, score: str) -> int | None:
        scores = self.hub.get(cluster.AddOnPlacementScore, resource, cluster_name)
        return scores.value(score) if scores is not None and not scores.is_expired(clock.now()) else None

    def scores(self, placement: cluster.Placement, names: Collection[str]) -> dict[str, int]:
        """Return the scores of clusters: those of the decisions, else recomputed ones."""
        decided = decided_scores(self.decisions_of(placement.name))
        return {**self.recomputed_scores(placement, names), **decided}

    def recomputed_scores(self, placement: cluster.Placement, names: Collection[str]) -> dict[str, int]:
        """Return scores of clusters that can be compared also where no decision lists some of them."""
        return recomputed_scores(placement, names, self.score, lambda name: self.hub.get(cluster.ManagedCluster, name))

    # MultiKueue

    def multikueue_check(self, workload: kueue.Workload) -> tuple[kueue.CheckState, str] | None:
        """Return a Workload's MultiKueue entry and the config that it goes by; None where it has none."""
        for state in workload.status.admission_checks:
            check = self.hub.get(kueue.AdmissionCheck, state.name)
            if check is not None and check.is_multikueue:
                return state, check.config_name
        return None

    def multikueue_checks_on(self, config: str) -> list[str]:
        """Return the checks by which Workloads go by a config."""
        checks = self.hub.list(kueue.AdmissionCheck)
        return [check.name for check in checks if check.is_multikueue and check.config_name == config]

    def config_of(self, workload: kueue.Workload) -> str:
        """Return the MultiKueueConfig that a Workload goes by, or nothing."""
        check = self.multikueue_check(workload)
        return check[1] if check else ""

    def workloads_on(self, member: str, config: str) -> list[kueue.Workload]:
        """Return the live Workloads of a config that run on, or are nominated for, a member."""
        on_member = self.hub.by_index(kueue.Workload, BY_MEMBER, member)
        return [workload for workload in on_member if self.config_of(workload) == config]

    def clusters_of_workloads(self, config: str) -> set[str]:
        """Return the members that the live Workloads of a config run on, or are nominated for."""
        members = self.hub.informer(kueue.Workload).store.index_values(BY_MEMBER)
        return {member for member in members if self.workloads_on(member, config)}

    def once_listed(self, config: kueue.MultiKueueConfig) -> set[str]:
        """Return the members that a config lists, or that somebody may have taken off it."""
        own = {m.name for m in self.hub.list(kueue.MultiKueueCluster) if _serves(m, config.name)}
        return {*config.spec.clusters, *marks_of(config), *own}

    def configs_listing(self, member: str) -> list[str]:
        return [config.name for config in self.hub.list(kueue.MultiKueueConfig) if member in config.spec.clusters]

    def config(self, name: str) -> kueue.MultiKueueConfig | None:
        return self.hub.get(kueue.MultiKueueConfig, name)

    def member(self, name: str) -> kueue.MultiKueueCluster | None:
        return self.hub.get(kueue.MultiKueueCluster, name)

    def cluster_of(self, member: str, config: str) -> str:
        """Return the managed cluster behind a member that a config lists; a foreign one is called by its own name."""
        multikueue_cluster = self.member(member)
        if multikueue_cluster is None:
            return self.settings.cluster(config, member)  # somebody deleted it; its jobs are still there
        return multikueue_cluster.metadata.labels.get(CLUSTER_LABEL, member) if is_ours(multikueue_cluster) else member

    def cluster_behind(self, member: str, config: str) -> str:
        """Return the managed cluster behind a member, also a foreign one with a secret of ours; empty if unknown."""
        multikueue_cluster = self.member(member)
        if multikueue_cluster is None or is_ours(multikueue_cluster):
            return self.cluster_of(member, config)
        secret = self.kubeconfig_of(member)
        return secret.metadata.labels.get(CLUSTER_LABEL, "") if secret is not None and is_ours(secret) else ""

    def has_left(self, member: str, config: str) -> bool:
        """Tell whether the cluster behind a member of ours is out of the fleet, or has lost its name to another."""
        multikueue_cluster = self.member(member)
        if multikueue_cluster is not None and not is_ours(multikueue_cluster):
            return False
        name = self.cluster_of(member, config)
        return self.hub.get(cluster.ManagedCluster, name) is None or self.is_replaced(name)

    def is_replaced(self, cluster_name: str) -> bool:
        """Tell whether the secret of a cluster opens one that has lost its name to another."""
        secret = self.secret(cluster_name)
        return secret is not None and is_ours(secret) and REPLACED_BY in secret.metadata.annotations

    def is_known(self, member: str, config: str) -> bool:
        """Tell whether a cluster of the fleet is, or a moment ago was, behind a member: its credential outlives it."""
        return not self.has_left(member, config) or self.secret(self.cluster_of(member, config)) is not None

    def is_forced(self, member: str) -> bool:
        """Tell whether an administrator wants no more waiting for what a member runs; not while it takes new jobs."""
        multikueue_cluster = self.member(member)
        if (
            multikueue_cluster is None
            or not is_ours(multikueue_cluster)
            or multikueue_cluster.metadata.annotations.get(GIVEN_UP) != "true"
        ):
            return False
        configs = (self.config(name) for name in self.configs_listing(member))
        return all(member in marks_of(config) for config in configs)

    def drain_left(self, member: str, config: kueue.MultiKueueConfig) -> float | None:
        """Return in how many seconds what runs on a draining member is taken back; None where it may end there."""
        since = marks_of(config).get(member)
        if since is not None and self.is_forced(member):
            return 0.0
        if since is None or not self.settings.drain_timeout:
            return None
        return (since + timedelta(seconds=self.settings.drain_timeout) - clock.now()).total_seconds()

    def is_connected(self, member: str) -> bool:
        multikueue_cluster = self.member(member)
        return multikueue_cluster is not None and multikueue_cluster.is_connected

    # How clusters are reached

    def refusal(self, member: str) -> str:
        """Say why Kueue is not connected to a member; empty where it is, or has not tried yet."""
        multikueue_cluster = self.member(member)
        return multikueue_cluster.refusal if multikueue_cluster is not None else ""

    def missing_kinds(self, member: str) -> str:
        """Say which kinds of jobs a member lacks, so that Kueue refuses it; empty where it has all."""
        secret = self.kubeconfig_of(member)
        return secret.metadata.annotations.get(MISSING_KINDS, "") if secret is not None else ""

    def secret(self, cluster_name: str) -> Secret | None:
        return self.hub.get(Secret, self.settings.secret(cluster_name), self.settings.kueue_namespace)

    def profile(self, cluster_name: str) -> ClusterProfile | None:
        if not self.follows_profiles:
            return None
        return self.hub.get(ClusterProfile, cluster_name, self.settings.kueue_namespace)

    def kubeconfig_of(self, member: str) -> Secret | None:
        """Return the secret with which we, and mostly Kueue too, reach a member."""
        multikueue_cluster = self.member(member)
        name = self.secret_of(multikueue_cluster) if multikueue_cluster is not None else ""
        return self.hub.get(Secret, name, self.settings.kueue_namespace) if name else None

    def secret_of(self, member: kueue.MultiKueueCluster) -> str:
        """Name the secret that a member uses; behind a profile we know it for our own members only."""
        source = member.spec.cluster_source
        if source.cluster_profile_ref is not None:
            name = member.metadata.labels.get(CLUSTER_LABEL, "") if is_ours(member) else ""
            return self.settings.secret(name) if name else ""
        kube_config = source.kube_config
        return kube_config.location if kube_config is not None and kube_config.location_type == "Secret" else ""

    @property
    def dispatches(self) -> bool:
        """Whether the running Kueue leaves nominations to us, or may do so."""
        return self.kueue.now.may_leave_nominations_to(DISPATCHER_NAME)

    @property
    def is_only_dispatcher(self) -> bool:
        """Whether it is certain that Kueue nominates nobody by itself."""
        return self.kueue.now.leaves_nominations_to(DISPATCHER_NAME)

    @property
    def origins(self) -> frozenset[str]:
        """The labels of copies that Kueue has made, or will make; empty where that is not known."""
        now = self.kueue.now
        return (
            frozenset(configuration.origin for configuration in (*now.all, *now.earlier))
            if now.is_known
            else frozenset()
        )


def marks_of(config: kueue.MultiKueueConfig | None) -> Mapping[str, datetime]:
    """Return which members are draining, and since when."""
    text = config.metadata.annotations.get(DRAINING) if config is not None and is_ours(config) else None
    if not text:
        return {}
    try:
        return {member: _moment(since) for member, since in orjson.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        return {}  # edited by hand; the drain begins anew


def with_quota(workload: kueue.Workload) -> Iterable[str]:
    """Wake a Workload that holds quota: no other has to be answered for, or sent anywhere."""
    return (workload.key,) if workload.is_live and workload.has_quota else ()


def is_unplaced(workload: kueue.Workload) -> bool:
    """Tell whether a Workload holds quota and is on no cluster yet."""
    return workload.is_live and workload.has_quota and not workload.status.cluster_name


def standing(workload: kueue.Workload) -> tuple[Any, ...]:
    """Return all that decides about a Workload here: whether it holds quota, what its checks say, where it is."""
    status = workload.status
    where = status.cluster_name, status.nominated_cluster_names
    return workload.is_live and workload.has_quota, status.admission_checks, where


def _serves(member: kueue.MultiKueueCluster, placement: str) -> bool:
    return is_ours(member) and member.metadata.labels.get(PLACEMENT_LABEL) == placement


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _checks_of(workload: kueue.Workload) -> Iterable[str]:
    return [state.name for state in workload.status.admission_checks] if workload.is_live else ()


def _present(value: str) -> tuple[str, ...]:
    return (value,) if value else ()
