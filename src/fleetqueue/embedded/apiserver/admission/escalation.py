"""Nobody gives rights away that he does not have, unless he may `escalate` the role or `bind` it.

The rules of a role are broken down into single rights, and each must be covered by a rule that the writer holds.

Mirrors: kubernetes pkg/registry/rbac (policybased, validation)
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.rbac import ALL, GrantedRule, Rbac
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


class EscalationCheck:
    def __init__(self, rbac: Rbac, find: Callable[[str, str, str, str], Manifest | None]) -> None:
        self._rbac = rbac
        self._find = find
        """Returns an object by group, plural, namespace and name, as writers see it."""

    async def admit(self, review: AdmissionRequest) -> Manifest | None:
        new, resource = review.new, review.resource
        if resource.group != GROUP or new is None or MASTERS in review.user.groups or _is_as_before(new, review.old):
            return new
        if resource.plural in ROLES:
            self._check_role(review, new)
        elif resource.plural in BINDINGS:
            self._check_binding(review, new)
        return new

    def _check_role(self, review: AdmissionRequest, role: Manifest) -> None:
        try:
            self._check_rules(review, role)
        except errors.Forbidden:
            if not self._may(review, "escalate", GROUP, review.resource.plural, review.path_name):
                raise

    def _check_rules(self, review: AdmissionRequest, role: Manifest) -> None:
        self._check_held(review, role.get("rules") or ())
        if (_is_aggregated(role) or _is_aggregated(review.old)) and self._lacks(review, EVERYTHING):
            raise review.forbidden("must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, review: AdmissionRequest, binding: Manifest) -> None:
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

    def _rules(self, review: AdmissionRequest, plural: str, name: str) -> Iterable[Manifest]:
        """Return the rules of a binding's role; a real server names a missing role as if it were a binding."""
        namespace = _namespace(review) if plural == "roles" else ""
        if plural == "roles" and not namespace:
            raise errors.BadRequest("Namespace parameter required.", reason="BadRequest")
        role = self._find(GROUP, plural, namespace, name)
        if role is None:
            raise refusals.not_found(keys.key_of(GROUP, review.resource.plural, namespace, name))
        return role.get("rules") or ()

    def _may(self, review: AdmissionRequest, verb: str, group: str, plural: str, name: str) -> bool:
        asked = Attributes(review.user, verb, group, plural, name=name, namespace=_namespace(review))
        return self._rbac.reason(asked) is not None

    def _check_held(self, review: AdmissionRequest, rules: Iterable[Manifest]) -> None:
        if lacking := self._lacks(review, rules):
            user = f"user {quoted(review.user.name)} (groups={quoted_list(review.user.groups)})"
            raise review.forbidden(f"{user} is attempting to grant RBAC permissions not currently held:\n{lacking}")

    def _lacks(self, review: AdmissionRequest, rules: Iterable[Manifest]) -> str:
        """Describe what who writes does not have of some rules where they would hold; empty where he has all."""
        held = list(self._rbac.policy.rules_of(review.user, _namespace(review)))
        return described(missing(held, rules))


def _namespace(review: AdmissionRequest) -> str:
    return str(review.metadata.get("namespace", ""))


def _is_aggregated(role: Manifest | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_as_before(new: Manifest, old: Manifest | None) -> bool:
    return old is not None and _decided(new) == _decided(old)


def _decided(obj: Manifest) -> Manifest:
    """Return what a client decides of a role or a binding."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in KEPT_BY_THE_SERVER}
    return {**obj, "metadata": metadata}


class SingleRule(NamedTuple):
    """The smallest part of a rule: one verb for one resource, or for one URL."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str | None = None
    """That of the only object that it is for; None where it is for all of them."""
    url: str | None = None


def missing(held: Sequence[GrantedRule], rules: Iterable[Manifest]) -> list[SingleRule]:
    """Return the rights that none of a user's rules covers."""
    return [right for rule in rules for right in rights_of(rule) if not any(_covers(own, right) for own in held)]


def rights_of(rule: Manifest) -> Iterator[SingleRule]:
    groups, resources, verbs = (rule.get(field) or () for field in ("apiGroups", "resources", "verbs"))
    for group, resource, verb in product(groups, resources, verbs):
        for name in rule.get("resourceNames") or (None,):
            yield SingleRule(verb, group, resource, name)
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield SingleRule(verb, url=url)


def described(rights: Iterable[SingleRule]) -> str:
    """Return one line for each resource, with all verbs that are meant, and one for each verb for a URL."""
    verbs: dict[SingleRule, list[str]] = {}
    lines = set()
    for right in rights:
        if right.url is not None:
            lines.add(f"{{NonResourceURLs:{quoted_list([right.url])}, Verbs:{quoted_list([right.verb])}}}")
        else:
            verbs.setdefault(right._replace(verb=""), []).append(right.verb)
    lines.update(_line(right, verb_names) for right, verb_names in verbs.items())
    return "\n".join(sorted(lines))


def quoted_list(words: Iterable[str]) -> str:
    """Return what `%q` prints of a list of strings."""
    return f"[{' '.join(map(quoted, words))}]"


def _line(right: SingleRule, verbs: Sequence[str]) -> str:
    what = f"APIGroups:{quoted_list([right.group])}, Resources:{quoted_list([right.resource])}"
    names = "" if right.name is None else f", ResourceNames:{quoted_list([right.name])}"
    return f"{{{what}{names}, Verbs:{quoted_list(verbs)}}}"


def _covers(held: GrantedRule, right: SingleRule) -> bool:
    if right.verb not in held.verbs and ALL not in held.verbs:
        return False
    if held.names and right.name not in held.names:
        return False
    if right.url is not None:
        return any(_url_covers(url, right.url) for url in held.urls)
    return (right.group in held.groups or ALL in held.groups) and _covers_resource(held, right.resource)


def _covers_resource(held: GrantedRule, resource: str) -> bool:
    if resource in held.resources or ALL in held.resources:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held.resources


def _url_covers(held: str, url: str) -> bool:
    return held == url or (held.endswith(ALL) and url.startswith(held.rstrip(ALL)))
