"""The YAML form of a placement scenario, and the objects that it stands for.

    name: the cluster with the most memory is chosen
    differs: {why: _, at: [_]}   # where ours is known to end otherwise; checked to be still so
    alone: true                  # others on the hub would change what comes out: Balance, or a set of everybody
    sets:                        # by default one: `s`
      s: {}                      # its members carry the set's label
      t: {labelSelector: {matchLabels: {region: eu}}}
    bindings: [s, t]             # by default all sets are bound to the namespace of the Placements
    clusters:
      a: {allocatable: {memory: 8Gi}, claims: {platform: kind}, scores: {usage: {gpu: 70, validUntil: +5s}}}
      b: {set: t, labels: {region: eu}, taints: [{key: gpu, effect: NoSelect, timeAdded: -1m}]}
      n: {count: 105}            # n-001 to n-105
    decisions:                   # PlacementDecisions that others made
      other: {clusters: [a]}
    placements:                  # the spec of each, and its annotations
      p: {numberOfClusters: 1, prioritizerPolicy: {...}}
    steps:                       # merged into the above, one after the other; null deletes an object
      - clusters: {a: {labels: {region: us}}, b: null}
      - wait: 6                  # seconds
      - touch: [p]               # an annotation, so that the real controller looks again
      - lose: [p-decision-1]     # PlacementDecisions that somebody deletes

Every name gets the prefix of its scenario, which `PREFIX-` stands for in texts; it is cut off what comes out.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.scheme import Manifest

from ..running import Change, Objects, Round, Scenario, changes, keyed, merged  # noqa: TID252 - all rooms share it
from ..world import Described  # noqa: TID252
from .end_state import cleaner, reader

KINDS = ("sets", "bindings", "clusters", "decisions", "placements")
SCENARIO_LABEL = "scenario"


def scenario(described: Described, prefix: str) -> Scenario:
    maker = Maker(prefix, is_alone=described.get("alone", False))
    rounds = list(_rounds(maker, described))
    return Scenario(
        described["name"],
        rounds,
        clean_up=cleaner(prefix),
        end_state=reader(prefix, with_scores=_tells_scores(described)),
        is_alone=maker.is_alone,
    )


def _tells_scores(described: Described) -> bool:
    """Tell whether the last scores that are told are the same on both sides.

    Other Placements change them whenever one is looked at. And the real controller tells them again where an
    annotation changed; ours only where decisions did.
    """
    is_touched = any("touch" in step for step in described.get("steps", ()))
    return not is_touched and (described.get("alone", False) or len(described["placements"]) == 1)


def _rounds(maker: "Maker", described: Described) -> Iterator[Round]:
    state: Described = {"sets": {"s": {}}, "clusters": {}, "decisions": {}, "placements": {}}
    state |= {kind: described[kind] for kind in KINDS if kind in described}
    placements = state.pop("placements")
    objects: Objects = {}
    for some in ({}, *({name: spec} for name, spec in placements.items())):
        state["placements"] = {**state.get("placements", {}), **some}
        objects, before = maker.objects(state), objects
        yield Round(changes(before, objects))
    for step in described.get("steps", ()):
        state = merged(state, {kind: step[kind] for kind in KINDS if kind in step})
        for name in step.get("touch", ()):
            touched = int(state["placements"][name].get("annotations", {}).get("touched", 0)) + 1
            state = merged(state, {"placements": {name: {"annotations": {"touched": str(touched)}}}})
        objects, before = maker.objects(state), objects
        lost = [maker.lost(name) for name in step.get("lose", ())]
        yield Round([*changes(before, objects), *lost], wait=step.get("wait", 0.0))


class Maker:
    """Makes the objects of one scenario."""

    def __init__(self, prefix: str, *, is_alone: bool) -> None:
        self.prefix = prefix
        self.is_alone = is_alone
        self.namespace = f"{prefix}ns"

    def objects(self, state: Described) -> Objects:
        return keyed((kind, _with_prefix(manifest, self.prefix)) for kind, manifest in self._all(state))

    def lost(self, decision: str) -> Change:
        kind = cluster.PlacementDecision
        return Change(kind.resource, kind.manifest(decision, self.namespace), None)

    def _all(self, state: Described) -> Iterator[tuple[Any, Manifest]]:
        yield Namespace, Namespace.manifest(self.namespace)
        for name, described in state["sets"].items():
            yield cluster.ManagedClusterSet, self._set(name, described)
        for name in state.get("bindings", state["sets"]):
            spec = {"clusterSet": self.prefix + name}
            yield (
                cluster.ManagedClusterSetBinding,
                cluster.ManagedClusterSetBinding.manifest(self.prefix + name, self.namespace, spec=spec),
            )
        for name, described in state["clusters"].items():
            for each in _counted(name, described.get("count", 0)):
                yield from self._cluster(each, described)
        for name, described in state["decisions"].items():
            yield cluster.PlacementDecision, self._decision(name, described)
        for name, described in state["placements"].items():
            yield cluster.Placement, self._placement(name, described)

    def _set(self, name: str, described: Described) -> Manifest:
        selector: Manifest = {"selectorType": "ExclusiveClusterSetLabel"}
        if "labelSelector" in described:
            wanted = described["labelSelector"]
            selector = {"selectorType": "LabelSelector", "labelSelector": wanted}
            if not self.is_alone:
                labels = {**wanted.get("matchLabels", {}), SCENARIO_LABEL: self.prefix[:-1]}
                selector["labelSelector"] = {**wanted, "matchLabels": labels}
        return cluster.ManagedClusterSet.manifest(self.prefix + name, spec={"clusterSelector": selector})

    def _cluster(self, name: str, described: Described) -> Iterator[tuple[Any, Manifest]]:
        labels = {SCENARIO_LABEL: self.prefix[:-1], **described.get("labels", {})}
        if (own := described.get("set", "s")) is not None:
            labels[cluster.CLUSTER_SET_LABEL] = self.prefix + own
        allocatable = described.get("allocatable", {})
        claims = [{"name": key, "value": value} for key, value in described.get("claims", {}).items()]
        status = {
            "allocatable": allocatable,
            "capacity": described.get("capacity", allocatable),
            "clusterClaims": claims,
            "version": {"kubernetes": described["version"]} if "version" in described else {},
        }
        manifest = cluster.ManagedCluster.manifest(
            self.prefix + name,
            labels=labels,
            annotations=described.get("annotations"),
            spec={"hubAcceptsClient": True, "taints": described.get("taints", [])},
            status={field: value for field, value in status.items() if value},
        )
        if "finalizers" in described:
            manifest["metadata"]["finalizers"] = described["finalizers"]
        yield cluster.ManagedCluster, manifest
        for resource, scores in described.get("scores", {}).items():
            yield Namespace, Namespace.manifest(self.prefix + name)
            yield cluster.AddOnPlacementScore, self._score(resource, name, scores)

    def _score(self, resource: str, name: str, scores: Described) -> Manifest:
        status: Manifest = {
            "scores": [{"name": key, "value": value} for key, value in scores.items() if key != "validUntil"]
        }
        if "validUntil" in scores:
            status["validUntil"] = scores["validUntil"]
        return cluster.AddOnPlacementScore.manifest(resource, self.prefix + name, status=status)

    def _decision(self, name: str, described: Described) -> Manifest:
        chosen = [{"clusterName": self.prefix + each, "reason": ""} for each in described["clusters"]]
        return cluster.PlacementDecision.manifest(
            name, self.namespace, labels=described.get("labels"), status={"decisions": chosen}
        )

    def _placement(self, name: str, described: Described) -> Manifest:
        spec = {field: value for field, value in described.items() if field != "annotations"}
        if "clusterSets" in spec:
            spec["clusterSets"] = [self.prefix + each for each in spec["clusterSets"]]
        return cluster.Placement.manifest(name, self.namespace, annotations=described.get("annotations"), spec=spec)


def _counted(name: str, number: int) -> list[str]:
    return [f"{name}-{each:03d}" for each in range(1, number + 1)] if number else [name]


def _with_prefix(value: Any, prefix: str) -> Any:
    if isinstance(value, str):
        return value.replace("PREFIX-", prefix)
    if isinstance(value, dict):
        return {key: _with_prefix(item, prefix) for key, item in value.items()}
    return [_with_prefix(item, prefix) for item in value] if isinstance(value, list) else value
