"""The YAML form of a scenario about ClusterProfiles, and the objects that it stands for.

    name: a cluster of a bound set has a profile
    differs: {why: _, at: [_]}   # where ours is known to end otherwise; checked to be still so
    alone: true                  # a set of everybody would take in the clusters of others
    sets:                        # by default one: `s`
      s: {}                      # its members carry the set's label
      t: {labelSelector: {matchLabels: {region: eu}}}
    bindings: {ns: [s]}          # by default: which sets are bound to which namespaces
    clusters:                    # available and joined are [status, reason, message]
      a: {claims: {platform: kind}, version: v1.36.3, available: ["True", Available, well], labels: {region: eu}}
    profiles: {ns/a: other}      # profiles that other managers made
    steps:                       # merged into the above, one after the other; null deletes an object
      - clusters: {a: {set: t}, b: null}
      - edit: {ns/a: {metadata: {labels: {x: y}}}}    # what somebody merges into a profile
      - lose: [ns/a]                                  # profiles that somebody deletes

Every name gets the prefix of its scenario; it is cut off what comes out.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.virtual_time import START

from ..running import Change, Objects, Round, Scenario, changes, keyed, merged  # noqa: TID252 - all rooms share it
from ..world import Described  # noqa: TID252
from .end_state import cleaner, reader

KINDS = ("sets", "bindings", "clusters", "profiles")
SCENARIO_LABEL = "scenario"
SAID = {"available": cluster.AVAILABLE, "joined": cluster.JOINED}


def scenario(described: Described, prefix: str) -> Scenario:
    maker = Maker(prefix, is_alone=described.get("alone", False))
    return Scenario(
        described["name"],
        list(_rounds(maker, described)),
        clean_up=cleaner(prefix),
        end_state=reader(prefix),
        is_alone=maker.is_alone,
    )


def _rounds(maker: "Maker", described: Described) -> Iterator[Round]:
    state: Described = {"sets": {"s": {}}, "bindings": {"ns": ["s"]}, "clusters": {}, "profiles": {}}
    state |= {kind: described[kind] for kind in KINDS if kind in described}
    objects: Objects = {}
    for step in ({}, *described.get("steps", ())):
        state = merged(state, {kind: step[kind] for kind in KINDS if kind in step})
        objects, before = maker.objects(state), objects
        edited = [maker.edited(name, patch) for name, patch in step.get("edit", {}).items()]
        lost = [maker.lost(name) for name in step.get("lose", ())]
        yield Round([*changes(before, objects), *edited, *lost])


class Maker:
    """Makes the objects of one scenario."""

    def __init__(self, prefix: str, *, is_alone: bool) -> None:
        self.prefix = prefix
        self.is_alone = is_alone

    def objects(self, state: Described) -> Objects:
        return keyed(self._all(state))

    def edited(self, place: str, patch: Manifest) -> Change:
        manifest = self._profile(place)
        return Change(ClusterProfile.resource, manifest, merged(manifest, patch))

    def lost(self, place: str) -> Change:
        return Change(ClusterProfile.resource, self._profile(place), None)

    def _all(self, state: Described) -> Iterator[tuple[Any, Manifest]]:
        for name in state["bindings"]:
            yield Namespace, Namespace.manifest(self.prefix + name)
        for place, manager in state["profiles"].items():
            spec = {"displayName": "theirs", "clusterManager": {"name": manager}}
            yield ClusterProfile, {**self._profile(place), "spec": spec}
        for name, described in state["sets"].items():
            yield cluster.ManagedClusterSet, self._set(name, described)
        for name, described in state["clusters"].items():
            yield cluster.ManagedCluster, self._cluster(name, described)
        for namespace, bound in state["bindings"].items():
            for name in bound:
                spec = {"clusterSet": self.prefix + name}
                kind = cluster.ManagedClusterSetBinding
                yield kind, kind.manifest(self.prefix + name, self.prefix + namespace, spec=spec)

    def _profile(self, place: str) -> Manifest:
        namespace, name = place.split("/")
        return ClusterProfile.manifest(self.prefix + name, self.prefix + namespace)

    def _set(self, name: str, described: Described) -> Manifest:
        selector: Manifest = {"selectorType": "ExclusiveClusterSetLabel"}
        if "labelSelector" in described:
            wanted = described["labelSelector"]
            if not self.is_alone:
                labels = {**wanted.get("matchLabels", {}), SCENARIO_LABEL: self.prefix[:-1]}
                wanted = {**wanted, "matchLabels": labels}
            selector = {"selectorType": "LabelSelector", "labelSelector": wanted}
        return cluster.ManagedClusterSet.manifest(self.prefix + name, spec={"clusterSelector": selector})

    def _cluster(self, name: str, described: Described) -> Manifest:
        labels = {SCENARIO_LABEL: self.prefix[:-1], **described.get("labels", {})}
        if own := described.get("set", "s"):
            labels[cluster.CLUSTER_SET_LABEL] = self.prefix + own
        status = {
            "clusterClaims": [{"name": key, "value": value} for key, value in described.get("claims", {}).items()],
            "conditions": [_condition(SAID[key], *described[key]) for key in SAID if key in described],
            "version": {"kubernetes": described["version"]} if "version" in described else {},
        }
        manifest = cluster.ManagedCluster.manifest(
            self.prefix + name,
            labels=labels,
            spec={"hubAcceptsClient": True},
            status={field: value for field, value in status.items() if value},
        )
        if "finalizers" in described:
            manifest["metadata"]["finalizers"] = described["finalizers"]
        return manifest


def _condition(kind: str, status: str, reason: str, message: str) -> Manifest:
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    return {**said, "lastTransitionTime": timestamp(START)}
