"""Fill ClusterRoles that are made of others: the rules of all ClusterRoles that their selectors match.

Reads:   ClusterRole
Writes:  ClusterRole rules (server-side apply)
Mirrors: kubernetes pkg/controller/clusterroleaggregation
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

MANAGER: Final = "clusterrole-aggregation-controller"

log = Log("cluster-roles")


class ClusterRoleController(Controller):
    name = "cluster-roles"

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(ClusterRole, self._made_of),)

    async def reconcile(self, key: str) -> None:
        role = self.hub.get(ClusterRole, key)
        if role is None or role.aggregation_rule is None:
            return
        rules = aggregated(role, self.hub.list(ClusterRole))
        if rules == list(role.rules):
            return
        manifest = ClusterRole.manifest(key, rules=rules)
        await self.hub.client.apply(ClusterRole.resource, manifest, manager=MANAGER)
        log.info("cluster role aggregated", role=key, rules=len(rules))

    def _made_of(self, changed: ClusterRole) -> Iterable[str]:
        """Wake the role itself, and every one that is made of it."""
        roles = [changed, *self.hub.list(ClusterRole)]
        return {role.name: None for role in roles if _is_part(role, changed) or role is changed}


def aggregated(role: ClusterRole, others: Sequence[ClusterRole]) -> list[dict[str, Any]]:
    """Return the rules of all that match, each once, in the order of the selectors and then of the names."""
    rules: list[dict[str, Any]] = []
    assert role.aggregation_rule is not None
    for selector in role.aggregation_rule.cluster_role_selectors:
        for other in sorted(others, key=lambda other: other.name):
            if other.name != role.name and selector.matches(other.metadata.labels):
                rules += [rule for rule in other.rules if rule not in rules]
    return rules


def _is_part(role: ClusterRole, part: ClusterRole) -> bool:
    rule = role.aggregation_rule
    return rule is not None and any(one.matches(part.metadata.labels) for one in rule.cluster_role_selectors)
