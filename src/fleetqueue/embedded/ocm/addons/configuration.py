"""Give every cluster its configurations of an add-on, as fast as the rollout of its Placement allows.

Reads:   ClusterManagementAddOn, ManagedClusterAddOn, Placement, PlacementDecision, AddOnTemplate, AddOnDeploymentConfig
Writes:  ClusterManagementAddOn status; ManagedClusterAddOn status: configReferences and the condition Configured
Mirrors: OCM pkg/addon/controllers/{cmainstallprogression,addonconfiguration},
         addon-framework controllers/{cmaconfig,addonconfig}
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors, rollouts
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.addons import configs, indexes
from fleetqueue.embedded.ocm.addons.configs import AddOnNode, Child, Desired, Kind
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status, write_status

KINDS: Final[dict[Kind, type[Object]]] = {
    (addon.GROUP, addon.TEMPLATES): addon.AddOnTemplate,
    (addon.GROUP, addon.DEPLOYMENT_CONFIGS): addon.AddOnDeploymentConfig,
}
"""The configurations that we can read; others are hashed by the add-ons that define them."""

log = Log("add-ons")


class ConfigurationController(Controller):
    """A key is the name of an add-on."""

    name = "add-on-configuration"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            *indexes.watches(self.hub),
            Watch(addon.AddOnTemplate, lambda _: self._all()),
            Watch(addon.AddOnDeploymentConfig, lambda _: self._all()),
        )

    def subscribe(self) -> None:
        indexes.add_indexes(self.hub)
        super().subscribe()

    def _all(self) -> list[str]:
        """Return the add-ons that are made of templates: a configuration may be meant by any of them."""
        return [add_on.name for add_on in self.hub.list(addon.ClusterManagementAddOn) if add_on.is_from_template]

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(addon.ClusterManagementAddOn, key)
        if this is None:
            return
        live = live_status(self.hub, this)
        defaults = configs.defaults(this, self._hash_of(this, live))
        nodes = self._nodes(this, defaults, live)
        status = self._status(this, defaults, nodes, live)
        await write_status(self.hub, this, live, status)
        if not this.is_ours or nodes is None:
            return
        for node in nodes.values():
            for name, child in sorted(node.children.items()):
                await self._configure(child, is_updated=name in node.updated)
        soonest = [node.rollout.recheck_after for node in nodes.values() if node.rollout.recheck_after is not None]
        if soonest:
            raise errors.RetryLater(min(soonest), "a rollout waits for time to pass")

    def _nodes(
        self, this: addon.ClusterManagementAddOn, defaults: Desired, live: Manifest
    ) -> dict[str, AddOnNode] | None:
        """Sort the clusters by the Placement that configures them, the last of several; None where one is missing."""
        hash_of = self._hash_of(this, live)
        nodes: dict[str, AddOnNode] = {}
        for strategy in self._placements(this):
            placement = self.hub.get(cluster.Placement, strategy.name, strategy.namespace)
            if placement is None:
                return None
            desired = configs.overridden(defaults, strategy.configs, hash_of)
            groups = rollouts.decision_groups(indexes.decisions(self.hub, placement))
            nodes[placement.key] = AddOnNode(desired, _with_size(strategy.rollout_strategy, placement), groups)
        nodes[""] = AddOnNode(defaults)
        for one in indexes.installed(self.hub, this.name):
            _home(nodes, one.namespace).add(one, self._hash_of(this, live, one))
        for node in nodes.values():
            node.plan(clock.now())
        return nodes

    def _placements(self, this: addon.ClusterManagementAddOn) -> Iterable[addon.PlacementStrategy]:
        strategy = this.spec.install_strategy
        return strategy.placements if strategy.type == "Placements" and this.is_ours else ()

    def _status(
        self, this: addon.ClusterManagementAddOn, defaults: Desired, nodes: dict[str, AddOnNode] | None, live: Manifest
    ) -> Manifest:
        wanted = dict(live)
        wanted["defaultconfigReferences"] = configs.default_references(defaults)
        if this.is_ours or this.spec.install_strategy.type != "Placements":
            known = {key_of(item["namespace"], item["name"]): item for item in live.get("installProgressions") or ()}
            hash_of = self._hash_of(this, live)
            wanted["installProgressions"] = []
            for item in self._placements(this):
                key = key_of(item.namespace, item.name)
                desired = configs.overridden(defaults, item.configs, hash_of)
                progression = configs.install_progression(item, desired, known.get(key, {}))
                node = (nodes or {}).get(key)
                new_progression = progression if node is None else configs.progression(node, progression, clock.now())
                wanted["installProgressions"].append(new_progression)
        return {name: value for name, value in wanted.items() if value}

    async def _configure(self, child: Child, *, is_updated: bool) -> None:
        """Write the configurations of a cluster whose turn it is, and tell those that wait."""
        this = child.this
        live = live_status(self.hub, this)
        wanted = dict(live)
        known = live.get("configReferences") or []
        if is_updated:
            wanted["configReferences"] = configs.references(child.desired, known, self._generation_of)
        elif known:
            wanted["configReferences"] = [configs.observed(reference, self._generation_of) for reference in known]
        is_configured = is_updated or child.status.status == rollouts.SUCCEEDED
        if is_configured or child.status.status == rollouts.TO_APPLY:
            condition = _CONFIGURED if is_configured else _NOT_CONFIGURED
            wanted["conditions"] = with_conditions(live.get("conditions") or [], [condition], clock.now())
        if not wanted.get("configReferences"):
            wanted.pop("configReferences", None)
        if await write_status(self.hub, this, live, wanted):
            log.info("add-on configured", add_on=this.name, cluster=this.namespace, configured=is_configured)

    # What configurations say

    def _hash_of(
        self, this: addon.ClusterManagementAddOn, live: Manifest, one: addon.ManagedClusterAddOn | None = None
    ) -> configs.HashOf:
        """Hash configurations that we can read; of others keep what somebody else has written."""
        written = [*(live.get("defaultconfigReferences") or ())]
        for progression in live.get("installProgressions") or ():
            written += progression.get("configReferences") or ()
        if one is not None:
            written += live_status(self.hub, one).get("configReferences") or ()

        def hash_of(kind: Kind, namespace: str, name: str) -> str:
            if this.is_from_template and kind in KINDS:
                raw = self._raw(kind, namespace, name)
                return configs.spec_hash(raw) if raw is not None else ""
            return configs.known_hash(written, kind, namespace, name)

        return hash_of

    def _generation_of(self, kind: Kind, namespace: str, name: str) -> int | None:
        raw = self._raw(kind, namespace, name) if kind in KINDS else None
        return None if raw is None else int(raw["metadata"].get("generation", 0))

    def _raw(self, kind: Kind, namespace: str, name: str) -> Manifest | None:
        return self.hub.informer(KINDS[kind]).store.raw(key_of(namespace, name))


def _home(nodes: dict[str, AddOnNode], name: str) -> AddOnNode:
    """Return the last Placement that chose a cluster, or the defaults."""
    for node in reversed([node for key, node in nodes.items() if key]):
        if any(name in names for names in (node.groups or {}).values()):
            return node
    return nodes[""]


def _with_size(strategy: rollouts.RolloutStrategy, placement: cluster.Placement) -> rollouts.RolloutStrategy:
    """Take over the size of the Placement's groups where a progressive strategy says none."""
    if strategy.type != rollouts.PROGRESSIVE or strategy.config.max_concurrency not in (0, ""):
        return strategy
    size = placement.spec.decision_strategy.group_strategy.clusters_per_decision_group
    return rollouts.with_concurrency(strategy, size)


_CONFIGURED: Final = Condition.true(addon.CONFIGURED, "ConfigurationsConfigured", "Configurations configured")
_NOT_CONFIGURED: Final = Condition.false(
    addon.CONFIGURED, "ConfigurationsNotConfigured", "Configurations updated and not configured yet"
)
