"""Nobody gives rights away that he does not have, unless he may `escalate` the role or `bind` it.

Mirrors: kubernetes pkg/registry/rbac (policybased, validation)
"""

from collections.abc import Callable, Iterable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import Review
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.coverage import described, missing, quoted_list
from fleetqueue.embedded.apiserver.auth.rbac import Rbac
from fleetqueue.embedded.apiserver.auth.users import MASTERS
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.storage import keys, refusals

GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = ("clusterroles", "roles")
BINDINGS: Final = ("clusterrolebindings", "rolebindings")
REFERENCES: Final = {"ClusterRole": "clusterroles", "Role": "roles"}
EVERYTHING: Final[tuple[Manifest, ...]] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
KEPT_BY_THE_SERVER: Final = ("finalizers", "managedFields", "ownerReferences", "resourceVersion", "selfLink")
"""What the garbage collector changes, which need not have the rights, and what no client decides."""


class Granting:
    def __init__(self, rbac: Rbac, find: Callable[[str, str, str, str], Manifest | None]) -> None:
        self._rbac = rbac
        self._find = find
        """Returns an object by group, plural, namespace and name, as writers see it."""

    async def admit(self, review: Review) -> Manifest | None:
        new, resource = review.new, review.resource
        if resource.group != GROUP or new is None or MASTERS in review.user.groups or _is_as_before(new, review.old):
            return new
        if resource.plural in ROLES:
            self._check_role(review, new)
        elif resource.plural in BINDINGS:
            self._check_binding(review, new)
        return new

    def _check_role(self, review: Review, role: Manifest) -> None:
        try:
            self._check_rules(review, role)
        except errors.Forbidden:
            if not self._may(review, "escalate", GROUP, review.resource.plural, review.path_name):
                raise

    def _check_rules(self, review: Review, role: Manifest) -> None:
        self._check_held(review, role.get("rules") or ())
        if (_is_aggregated(role) or _is_aggregated(review.old)) and self._lacks(review, EVERYTHING):
            raise review.forbidden("must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, review: Review, binding: Manifest) -> None:
        role = binding.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        plural = REFERENCES.get(kind)
        if plural is None:
            raise errors.ServerError(f"unsupported role reference kind: {quoted(kind)}")
        try:
            self._check_held(review, self._rules(review, plural, name))
        except errors.ApiError:  # who may bind a role may do so before there is one
            if not self._may(review, "bind", role.get("apiGroup", ""), plural, name):
                raise

    def _rules(self, review: Review, plural: str, name: str) -> Iterable[Manifest]:
        """Return the rules of the role that a binding names; a real server speaks of a missing one as of a binding."""
        namespace = _namespace(review) if plural == "roles" else ""
        if plural == "roles" and not namespace:
            raise errors.BadRequest("Namespace parameter required.", reason="BadRequest")
        role = self._find(GROUP, plural, namespace, name)
        if role is None:
            raise refusals.not_found(keys.key_of(GROUP, review.resource.plural, namespace, name))
        return role.get("rules") or ()

    def _may(self, review: Review, verb: str, group: str, plural: str, name: str) -> bool:
        asked = Attributes(review.user, verb, group, plural, name=name, namespace=_namespace(review))
        return self._rbac.reason(asked) is not None

    def _check_held(self, review: Review, rules: Iterable[Manifest]) -> None:
        if lacking := self._lacks(review, rules):
            user = f"user {quoted(review.user.name)} (groups={quoted_list(review.user.groups)})"
            raise review.forbidden(f"{user} is attempting to grant RBAC permissions not currently held:\n{lacking}")

    def _lacks(self, review: Review, rules: Iterable[Manifest]) -> str:
        """Describe what who writes does not have of some rules where they would hold; empty where he has all."""
        held = list(self._rbac.policy.rules_of(review.user, _namespace(review)))
        return described(missing(held, rules))


def _namespace(review: Review) -> str:
    return str(review.metadata.get("namespace", ""))


def _is_aggregated(role: Manifest | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_as_before(new: Manifest, old: Manifest | None) -> bool:
    return old is not None and _decided(new) == _decided(old)


def _decided(obj: Manifest) -> Manifest:
    """Return what a client decides of a role or a binding."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in KEPT_BY_THE_SERVER}
    return {**obj, "metadata": metadata}
