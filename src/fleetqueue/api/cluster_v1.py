"""OCM's managed clusters, their sets, and what placements decide about them.

The kinds of one API group stand in one file although their versions differ: v1 for clusters, v1beta2 for sets, v1beta1
for placements, v1alpha1 for scores.
"""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import field

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View, key_of
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import LabelSelector

GROUP = "cluster.open-cluster-management.io"
CLUSTER_SET_LABEL = f"{GROUP}/clusterset"
GLOBAL_SET = "global"
"""OCM's own set of all clusters."""
PLACEMENT_LABEL = f"{GROUP}/placement"
DECISION_GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"
DECISION_GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"
SCHEDULING_DISABLED = f"{GROUP}/experimental-scheduling-disable"
"""An annotation: with the value "true" a Placement is left exactly as it is."""
UNREACHABLE_TAINT = f"{GROUP}/unreachable"
UNAVAILABLE_TAINT = f"{GROUP}/unavailable"
AVAILABLE = "ManagedClusterConditionAvailable"
JOINED = "ManagedClusterJoined"
ACCEPTED = "HubAcceptedManagedCluster"
CLOCK_SYNCED = "ManagedClusterConditionClockSynced"
DELETING = "Deleting"
SET_EMPTY = "ClusterSetEmpty"
BOUND = "Bound"
CLUSTER_NAME_LABEL = "open-cluster-management.io/cluster-name"
"""On what the hub keeps for a cluster, in its namespace or elsewhere."""
PLACEMENT_SATISFIED = "PlacementSatisfied"
PLACEMENT_MISCONFIGURED = "PlacementMisconfigured"
NO_SELECT, PREFER_NO_SELECT, NO_SELECT_IF_NEW = "NoSelect", "PreferNoSelect", "NoSelectIfNew"
SCORE_MIN, SCORE_MAX = -100, 100
LEASE_SECONDS = 60
"""How long the lease of a cluster is that does not say it."""


class ClientConfig(View):
    url: str = ""
    ca_bundle: str = ""
    """Base64 PEM."""


class ClusterTaint(View):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None
    """Written by OCM's webhook; without it the taint counts as older than any toleration lasts."""


class ManagedClusterSpec(View):
    hub_accepts_client: bool = False
    lease_duration_seconds: int = 0
    managed_cluster_client_configs: tuple[ClientConfig, ...] = ()
    taints: tuple[ClusterTaint, ...] = ()

    @property
    def lease_seconds(self) -> int:
        """How often the agent renews its lease."""
        return self.lease_duration_seconds or LEASE_SECONDS


class ManagedClusterClaim(View):
    name: str
    value: str = ""


class ClusterVersion(View):
    kubernetes: str = ""


class ManagedNamespaceStatus(View):
    """A namespace that a set wants on its clusters, and how it is on one of them."""

    name: str = ""
    cluster_set: str = ""
    conditions: tuple[Condition, ...] = ()


class ManagedClusterStatus(View):
    conditions: tuple[Condition, ...] = ()
    version: ClusterVersion = ClusterVersion()
    managed_namespaces: tuple[ManagedNamespaceStatus, ...] = ()
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    cluster_claims: tuple[ManagedClusterClaim, ...] = ()


class ManagedCluster(Object):
    resource: ClassVar = Resource(GROUP, "v1", "ManagedCluster", "managedclusters", namespaced=False)

    spec: ManagedClusterSpec = ManagedClusterSpec()
    status: ManagedClusterStatus = ManagedClusterStatus()

    @property
    def claims(self) -> dict[str, str]:
        return {claim.name: claim.value for claim in self.status.cluster_claims}


class ClusterSelector(View):
    selector_type: str = "ExclusiveClusterSetLabel"
    label_selector: LabelSelector | None = None


class ManagedNamespace(View):
    name: str = ""


class ManagedClusterSetSpec(View):
    cluster_selector: ClusterSelector = ClusterSelector()
    managed_namespaces: tuple[ManagedNamespace, ...] = ()


class ManagedClusterSetStatus(View):
    conditions: tuple[Condition, ...] = ()


class ManagedClusterSet(Object):
    resource: ClassVar = Resource(GROUP, "v1beta2", "ManagedClusterSet", "managedclustersets", namespaced=False)

    spec: ManagedClusterSetSpec = ManagedClusterSetSpec()
    status: ManagedClusterSetStatus = ManagedClusterSetStatus()

    def has(self, cluster: ManagedCluster) -> bool:
        """Tell whether a cluster is a member."""
        selector = self.spec.cluster_selector
        if selector.selector_type == "LabelSelector":
            return selector.label_selector is not None and selector.label_selector.matches(cluster.metadata.labels)
        return cluster.metadata.labels.get(CLUSTER_SET_LABEL) == self.name


class ManagedClusterSetBindingSpec(View):
    cluster_set: str = ""


class ManagedClusterSetBindingStatus(View):
    conditions: tuple[Condition, ...] = ()


class ManagedClusterSetBinding(Object):
    resource: ClassVar = Resource(GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings")

    spec: ManagedClusterSetBindingSpec = ManagedClusterSetBindingSpec()
    status: ManagedClusterSetBindingStatus = ManagedClusterSetBindingStatus()


class AddOnScore(View):
    resource_name: str
    score_name: str


class ScoreCoordinate(View):
    type: str = "BuiltIn"
    built_in: str = ""
    add_on: AddOnScore | None = None


class PrioritizerConfig(View):
    score_coordinate: ScoreCoordinate = ScoreCoordinate()
    weight: int = 1


class PrioritizerPolicy(View):
    mode: str = "Additive"
    configurations: tuple[PrioritizerConfig, ...] = ()


class RequiredClusterSelector(View):
    label_selector: LabelSelector = LabelSelector()
    claim_selector: LabelSelector = LabelSelector()
    cel_selector: dict[str, Any] = {}

    @property
    def cel_expressions(self) -> tuple[str, ...]:
        return tuple(self.cel_selector.get("celExpressions") or ())


class Predicate(View):
    required_cluster_selector: RequiredClusterSelector = RequiredClusterSelector()


class ClusterToleration(View):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None
    """How long a taint is tolerated after it was added; without it, for ever."""

    def tolerates(self, taint: ClusterTaint) -> bool:
        """Tell whether it is meant for a taint, whatever the time."""
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        return self.operator == "Exists" or (self.operator in ("", "Equal") and self.value == taint.value)

    def tolerates_at(self, taint: ClusterTaint, now: datetime) -> bool:
        """Tell whether a taint is tolerated now; one that does not say since when it is there is not, for a time."""
        if not self.tolerates(taint):
            return False
        end = self.end(taint)
        return self.toleration_seconds is None or (end is not None and now < end)

    def end(self, taint: ClusterTaint) -> datetime | None:
        """Return until when a taint is tolerated; None where that has no end, or cannot be known."""
        if self.toleration_seconds is None or taint.time_added is None:
            return None
        return taint.time_added + timedelta(seconds=self.toleration_seconds)


class GroupClusterSelector(View):
    label_selector: LabelSelector = LabelSelector()
    claim_selector: LabelSelector = LabelSelector()


class DecisionGroup(View):
    group_name: str = ""
    group_cluster_selector: GroupClusterSelector = GroupClusterSelector()


class GroupStrategy(View):
    decision_groups: tuple[DecisionGroup, ...] = ()
    clusters_per_decision_group: int | str = 0
    """A number, or a share such as `25%`; 0 means all in one group."""


class DecisionStrategy(View):
    group_strategy: GroupStrategy = GroupStrategy()


class PlacementSpec(View):
    cluster_sets: tuple[str, ...] = ()
    number_of_clusters: int | None = None
    predicates: tuple[Predicate, ...] = ()
    prioritizer_policy: PrioritizerPolicy = PrioritizerPolicy()
    tolerations: tuple[ClusterToleration, ...] = ()
    decision_strategy: DecisionStrategy = DecisionStrategy()


class PlacementStatus(View):
    number_of_selected_clusters: int = 0
    conditions: tuple[Condition, ...] = ()


class Placement(Object):
    resource: ClassVar = Resource(GROUP, "v1beta1", "Placement", "placements")

    spec: PlacementSpec = PlacementSpec()
    status: PlacementStatus = PlacementStatus()


class Decision(View):
    cluster_name: str
    score: int | None = None
    """Only since API v1.3.0."""


class PlacementDecisionStatus(View):
    written: tuple[Decision, ...] | None = field(default=None, name="decisions")
    """None until somebody writes them: OCM creates a PlacementDecision first, and fills it in a second write."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self.written or ()


class PlacementDecision(Object):
    resource: ClassVar = Resource(GROUP, "v1beta1", "PlacementDecision", "placementdecisions")

    status: PlacementDecisionStatus = PlacementDecisionStatus()

    @property
    def placement_key(self) -> str:
        """The key of the Placement that it belongs to; empty where it names none."""
        name = self.metadata.labels.get(PLACEMENT_LABEL)
        return key_of(self.namespace, name) if name else ""


class ScoreItem(View):
    name: str
    value: int


class AddOnPlacementScoreStatus(View):
    scores: tuple[ScoreItem, ...] = ()
    valid_until: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class AddOnPlacementScore(Object):
    resource: ClassVar = Resource(GROUP, "v1alpha1", "AddOnPlacementScore", "addonplacementscores")

    status: AddOnPlacementScoreStatus = AddOnPlacementScoreStatus()

    def is_expired(self, now: datetime) -> bool:
        """Tell whether its time is over: then each of its scores counts 0."""
        return self.status.valid_until is not None and now > self.status.valid_until

    def value(self, score_name: str) -> int | None:
        return next((score.value for score in self.status.scores if score.name == score_name), None)
