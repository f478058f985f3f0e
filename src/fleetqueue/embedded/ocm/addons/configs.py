"""Which configurations an add-on has on each cluster, and how far the change to them has come.

Configurations named on the cluster outrank those of its Placement, and those the defaults of the add-on; of each kind
all that the higher rank names replace all of the lower.

Mirrors: OCM pkg/addon/controllers/{cmainstallprogression,addonconfiguration}
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import rollouts
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition, find
from fleetqueue.api.scheme import Manifest

Kind = tuple[str, str]
"""Group and resource of a configuration."""
Desired = Mapping[Kind, Sequence[Manifest]]
"""Of each kind the wanted configurations, each with its name, namespace and hash."""
HashOf = Callable[[Kind, str, str], str]
"""From kind, namespace and name to the hash of a configuration; empty where there is none."""

GenerationOf = Callable[[Kind, str, str], int | None]
"""From the same to the generation of a configuration; None where that is not known."""

_LAST: Final[tuple[str, ...]] = ("lastAppliedConfig", "lastKnownGoodConfig")


def spec_hash(raw: Manifest) -> str:
    """Hash what a configuration says: all but its names and its status."""
    content = {name: value for name, value in raw.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    written = orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()
    escaped = written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")  # as Go writes them
    return hashlib.sha256(escaped.encode()).hexdigest()


def defaults(this: addon.ClusterManagementAddOn, hash_of: HashOf) -> Desired:
    return {
        (supported.group, supported.resource): [
            _desired(
                (supported.group, supported.resource),
                supported.default_config.namespace,
                supported.default_config.name,
                hash_of,
            )
        ]
        for supported in this.spec.supported_configs
        if supported.default_config is not None
    }


def overridden(desired: Desired, configs: Iterable[addon.AddOnConfig], hash_of: HashOf) -> Desired:
    """Replace, of every kind that is named, all by what is named."""
    named: dict[Kind, list[Manifest]] = {}
    for config in configs:
        kind = (config.group, config.resource)
        one = _desired(kind, config.namespace, config.name, hash_of)
        if one not in named.setdefault(kind, []):
            named[kind].append(one)
    return {**desired, **named}


def default_references(desired: Desired) -> list[Manifest]:
    """Write the defaults, in the order in which the add-on names them."""
    return [{**_kind(kind), "desiredConfig": config} for kind, configs in desired.items() for config in configs]


def install_references(desired: Desired, live: Sequence[Manifest]) -> list[Manifest]:
    """Write the configurations of a Placement; what was applied last is kept for those that stay."""
    known = {_identity(item): item for item in live}
    written: list[Manifest] = []
    for kind in sorted(desired):
        for item in desired[kind]:
            reference = {**_kind(kind), "desiredConfig": item}
            before = known.get(_identity(reference)) or reference
            reference |= {name: before[name] for name in _LAST if name in before}
            written.append(reference)
    return written


def install_progression(strategy: addon.PlacementStrategy, desired: Desired, before: Manifest) -> Manifest:
    """Write the part of a Placement, without what is said of it now."""
    result: Manifest = {"namespace": strategy.namespace, "name": strategy.name}
    if references := install_references(desired, before.get("configReferences") or ()):
        result["configReferences"] = references
    if before.get("conditions"):
        result["conditions"] = before["conditions"]
    return result


def references(desired: Desired, live: Sequence[Manifest], generation_of: GenerationOf) -> list[Manifest]:
    """Write the configurations of an add-on on a cluster: those that stay first, as they stood."""
    wanted = {
        _identity(reference): reference
        for reference in ({**_kind(kind), "desiredConfig": item} for kind in sorted(desired) for item in desired[kind])
    }
    kept = [item for item in live if _identity(item) in wanted]
    known = {_identity(item) for item in kept}
    new = [reference for identity, reference in wanted.items() if identity not in known]
    merged = [{**item, **wanted.get(_identity(item), {})} for item in [*kept, *new]]
    ordered = sorted(merged, key=lambda item: (item["group"], item["resource"]))
    return [observed(item, generation_of) for item in ordered]


def observed(reference: Manifest, generation_of: GenerationOf) -> Manifest:
    """Note which generation of a configuration was seen."""
    one = reference["desiredConfig"]
    seen = generation_of((reference["group"], reference["resource"]), one.get("namespace", ""), one["name"])
    generation = reference.get("lastObservedGeneration", 0) if seen is None else seen
    names = {name: one[name] for name in ("namespace", "name") if name in one}
    return {**reference, **names, "lastObservedGeneration": generation}


def known_hash(written: Iterable[Manifest], kind: Kind, namespace: str, name: str) -> str:
    """Return the hash that somebody has written for a configuration; the last one, as it stands nearest."""
    configs = [item["desiredConfig"] for item in written if _identity(item) == (*kind, namespace, name)]
    return next((item["specHash"] for item in reversed(configs) if item.get("specHash")), "")


def rollout_status(this: addon.ManagedClusterAddOn, desired: Desired) -> rollouts.ClusterStatus:
    """Say how far a cluster is with the wanted configurations."""
    wanted = {
        (kind, one.get("namespace", ""), one["name"]): one for kind, configs in desired.items() for one in configs
    }
    actual = this.status.config_references
    progressing = find(this.status.conditions, addon.PROGRESSING)
    reason = progressing.reason if progressing else ""
    since = progressing.last_transition_time if progressing else None
    if len(actual) != len(wanted):
        return rollouts.ClusterStatus(this.namespace)
    for reference in actual:
        have = reference.desired_config or addon.ConfigSpecHash()
        want = wanted.get(((reference.group, reference.resource), have.namespace, have.name))
        if want is None or want["specHash"] != have.spec_hash:
            return rollouts.ClusterStatus(this.namespace)
        if reference.last_applied_config != have:
            status = rollouts.FAILED if reason == "Failed" else rollouts.UNDER_WAY
            return rollouts.ClusterStatus(
                this.namespace, status, since if reason in ("Failed", "Progressing") else None
            )
    return rollouts.ClusterStatus(this.namespace, rollouts.SUCCEEDED, since if reason == "Completed" else None)


@dataclass(slots=True)
class AddOnNode:
    """The clusters that get their configurations by one Placement, or, without one, by the add-on's defaults."""

    desired: Desired
    strategy: rollouts.RolloutStrategy = field(default_factory=rollouts.RolloutStrategy)
    groups: rollouts.Groups | None = None
    children: dict[str, "Child"] = field(default_factory=dict)
    rollout: rollouts.Rollout = field(default_factory=rollouts.Rollout)

    def add(self, this: addon.ManagedClusterAddOn, hash_of: HashOf) -> None:
        desired = overridden(self.desired, this.spec.configs, hash_of) if this.spec.configs else self.desired
        self.children[this.namespace] = Child(this, desired, rollout_status(this, desired))

    def plan(self, now: datetime) -> None:
        known = [child.status for _, child in sorted(self.children.items())]
        if self.groups is None:
            self.rollout = rollouts.Rollout([status for status in known if status.status != rollouts.SUCCEEDED])
        else:
            self.rollout = rollouts.plan(self.strategy, self.groups, known, now)

    @property
    def updated(self) -> set[str]:
        """The clusters that may have the wanted configurations now."""
        return {cluster_status.cluster for cluster_status in self.rollout.clusters} & self.children.keys()

    @property
    def total(self) -> int:
        return len({name for names in (self.groups or {}).values() for name in names})


@dataclass(frozen=True, slots=True)
class Child:
    this: addon.ManagedClusterAddOn
    desired: Desired
    status: rollouts.ClusterStatus


def progression(node: AddOnNode, live: Manifest, now: datetime) -> Manifest:
    """Say how many clusters of a Placement have their configurations; when all have, those are known to be good."""
    waiting = [child for name, child in node.children.items() if name not in node.updated]
    plain = [child for child in waiting if child.desired is node.desired]
    done = sum(child.status.status == rollouts.SUCCEEDED for child in plain)
    failed = sum(child.status.status == rollouts.FAILED for child in plain)
    counts = f"{failed} failed {len(node.rollout.timed_out)} timeout."
    if node.total == 0 or done != node.total:
        under_way = len(node.updated) + done
        condition = Condition(
            type=addon.PROGRESSING,
            status=TRUE,
            reason="Progressing",
            message=f"{under_way}/{node.total} progressing..., {counts}",
        )
        configs = live.get("configReferences") or []
    else:
        condition = Condition(
            type=addon.PROGRESSING,
            status=FALSE,
            reason="Completed",
            message=f"{done}/{node.total} completed with no errors, {counts}",
        )
        configs = [_known_good(reference) for reference in live.get("configReferences") or ()]
    result = {**live, "conditions": with_conditions(live.get("conditions") or [], [condition], now)}
    return {**result, "configReferences": configs} if configs else result


def _known_good(reference: Manifest) -> Manifest:
    return {
        **reference,
        "lastAppliedConfig": reference["desiredConfig"],
        "lastKnownGoodConfig": reference["desiredConfig"],
    }


def _desired(kind: Kind, namespace: str, name: str, hash_of: HashOf) -> Manifest:
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "specHash": hash_of(kind, namespace, name)}


def _kind(kind: Kind) -> Manifest:
    return {"group": kind[0], "resource": kind[1]}


def _identity(reference: Manifest) -> tuple[str, str, str, str]:
    one = reference.get("desiredConfig") or {}
    return reference["group"], reference["resource"], one.get("namespace", ""), one.get("name", "")
