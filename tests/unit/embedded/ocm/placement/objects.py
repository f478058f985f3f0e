"""Short ways to say what tests of placement are about: manifests, and views of them."""

from datetime import timedelta

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.meta import key_of
from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts
from fleetqueue.embedded.ocm.placement.ranking import Ranking
from fleetqueue.embedded.ocm.placement.scheduling import count
from fleetqueue.testing.virtual_time import START

NOW = START + timedelta(hours=1)
NAMESPACE = "team"


def in_seconds(seconds):
    return timestamp(NOW + timedelta(seconds=seconds))


def cluster_manifest(name="a", *, of="s", labels=None, claims=None, taints=(), amounts=None, deleting=False):
    """Build a ManagedCluster; `of` is its set, `amounts` what it has and can allocate."""
    own = {cluster.CLUSTER_SET_LABEL: of} if of else {}
    status = {
        "allocatable": amounts or {},
        "capacity": amounts or {},
        "clusterClaims": [{"name": key, "value": value} for key, value in (claims or {}).items()],
    }
    manifest = cluster.ManagedCluster.manifest(
        name,
        labels={**own, **(labels or {})},
        spec={"hubAcceptsClient": True, "taints": list(taints)},
        status={field: value for field, value in status.items() if value},
    )
    if deleting:
        manifest["metadata"] |= {"deletionTimestamp": timestamp(START), "finalizers": ["fleetqueue.test/wait"]}
    return manifest


def managed_cluster(name="a", **parts):
    return cluster.ManagedCluster.view(cluster_manifest(name, **parts))


def set_manifest(name="s", **selector):
    return cluster.ManagedClusterSet.manifest(name, spec={"clusterSelector": selector} if selector else {})


def cluster_set(name="s", **selector):
    return cluster.ManagedClusterSet.view(set_manifest(name, **selector))


def binding_manifest(name="s", namespace=NAMESPACE):
    return cluster.ManagedClusterSetBinding.manifest(name, namespace, spec={"clusterSet": name})


def placement_manifest(name="p", *, annotations=None, **spec):
    return cluster.Placement.manifest(name, NAMESPACE, annotations=annotations, spec=spec)


def placement(name="p", **spec):
    return cluster.Placement.view(placement_manifest(name, **spec))


def score_manifest(of="a", *, name="usage", until=None, **scores):
    """Build an AddOnPlacementScore; `until` is in seconds from `NOW`."""
    status = {"scores": [{"name": key, "value": value} for key, value in scores.items()]}
    if until is not None:
        status["validUntil"] = in_seconds(until)
    return cluster.AddOnPlacementScore.manifest(name, of, status=status)


def decision_manifest(name="p-decision-1", *clusters, of="p", namespace=NAMESPACE):
    return cluster.PlacementDecision.manifest(
        name,
        namespace,
        labels={cluster.PLACEMENT_LABEL: of} if of else None,
        status={"decisions": [{"clusterName": each, "reason": ""} for each in clusters]},
    )


def by_score(score="gpu", weight=1, resource="usage"):
    coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}
    return {"scoreCoordinate": coordinate, "weight": weight}


def built_in(name, weight=1):
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}


def exactly(*configurations):
    return {"mode": "Exact", "configurations": list(configurations)}


def asking_for(labels=None, claims=(), expressions=()):
    """Build one predicate."""
    selector = {
        "labelSelector": {"matchLabels": labels or {}},
        "claimSelector": {"matchExpressions": list(claims)},
        "celSelector": {"celExpressions": list(expressions)},
    }
    return {"requiredClusterSelector": selector}


def no_expressions(source, scores_of):
    raise ValueError(f"compilation failed: {source}")


class ListedFacts:
    """The hub as one Placement sees it, from listed objects."""

    def __init__(self, placement, clusters, scores=(), decisions=()):
        self.placement = placement
        self.decision_counts = DecisionCounts()
        self._raw = {raw["metadata"]["name"]: raw for raw in clusters}
        self._clusters = {name: cluster.ManagedCluster.view(raw) for name, raw in self._raw.items()}
        self._scores = {score.key: score for score in map(cluster.AddOnPlacementScore.view, scores)}
        for decision in map(cluster.PlacementDecision.view, decisions):
            count(self.decision_counts, decision)

    @property
    def names(self):
        return self._clusters

    def cluster(self, name):
        return self._clusters.get(name)

    def raw_cluster(self, name):
        return self._raw[name]

    def score(self, cluster, resource):
        return self._scores.get(key_of(cluster, resource))


def listed(clusters=(), scores=(), decisions=()):
    return ListedFacts(f"{NAMESPACE}/p", clusters, scores, decisions)


def ranked(wanted, facts, *, sets=None, now=NOW, compile_expression=no_expressions):
    """Rank all listed clusters for a Placement."""
    ranking = Ranking(wanted, [cluster_set()] if sets is None else sets, facts, compile_expression)
    ranking.refresh(facts.names, now)
    return ranking
