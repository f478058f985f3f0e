"""OCM's managed clusters, their sets, and what placements decide about them.

The kinds of one API group stand in one file although their versions differ: v1 for clusters, v1beta2 for sets, v1beta1
for placements, v1alpha1 for scores.
"""

from datetime import datetime
from typing import Any, ClassVar

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import LabelSelector

GROUP = "cluster.open-cluster-management.io"
CLUSTER_SET_LABEL = f"{GROUP}/clusterset"
PLACEMENT_LABEL = f"{GROUP}/placement"
UNREACHABLE_TAINT = f"{GROUP}/unreachable"
UNAVAILABLE_TAINT = f"{GROUP}/unavailable"
AVAILABLE = "ManagedClusterConditionAvailable"
JOINED = "ManagedClusterJoined"
ACCEPTED = "HubAcceptedManagedCluster"
SCORE_MIN, SCORE_MAX = -100, 100


class ClientConfig(View):
    url: str = ""
    ca_bundle: str = ""
    """Base64 PEM."""


class ClusterTaint(View):
    key: str = ""
    value: str = ""
    effect: str = ""


class ManagedClusterSpec(View):
    hub_accepts_client: bool = False
    managed_cluster_client_configs: tuple[ClientConfig, ...] = ()
    taints: tuple[ClusterTaint, ...] = ()


class ClusterClaim(View):
    name: str
    value: str = ""


class ManagedClusterStatus(View):
    conditions: tuple[Condition, ...] = ()
    allocatable: dict[str, Quantity] = {}
    cluster_claims: tuple[ClusterClaim, ...] = ()


class ManagedCluster(Object):
    resource: ClassVar = Resource(GROUP, "v1", "ManagedCluster", "managedclusters", namespaced=False)

    spec: ManagedClusterSpec = ManagedClusterSpec()
    status: ManagedClusterStatus = ManagedClusterStatus()


class ClusterSelector(View):
    selector_type: str = "ExclusiveClusterSetLabel"
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(View):
    cluster_selector: ClusterSelector = ClusterSelector()


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


class ManagedClusterSetBinding(Object):
    resource: ClassVar = Resource(GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings")


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


class Predicate(View):
    required_cluster_selector: RequiredClusterSelector = RequiredClusterSelector()


class Toleration(View):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: ClusterTaint) -> bool:
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        return self.operator == "Exists" or self.value == taint.value


class PlacementSpec(View):
    cluster_sets: tuple[str, ...] = ()
    number_of_clusters: int | None = None
    predicates: tuple[Predicate, ...] = ()
    prioritizer_policy: PrioritizerPolicy = PrioritizerPolicy()
    tolerations: tuple[Toleration, ...] = ()


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
    decisions: tuple[Decision, ...] = ()


class PlacementDecision(Object):
    resource: ClassVar = Resource(GROUP, "v1beta1", "PlacementDecision", "placementdecisions")

    status: PlacementDecisionStatus = PlacementDecisionStatus()


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

    def value(self, score_name: str) -> int | None:
        return next((score.value for score in self.status.scores if score.name == score_name), None)
