"""Role-based access: which rules the bindings give to a user, and whether one of them allows a request.

The policy is compiled from all roles and bindings at once and thrown away when one of them changes, which is rare;
asking it is what every request does.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.attributes import Attributes
from fleetqueue.embedded.apiserver.auth.users import MASTERS, SERVICE_ACCOUNT_PREFIX, User

ALL: Final = "*"
MOST_FOUND: Final = 4096
"""So many decisions are cached; one that is not costs some ten microseconds more."""
Subject = tuple[str, str]
"""The kind (User or Group) and the name."""


@dataclass(frozen=True, slots=True)
class GrantedRule:
    """One rule of a role, and the sentence that names where a user has it from."""

    raw: Manifest
    source: str
    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    urls: Sequence[str]

    @classmethod
    def of(cls, raw: Manifest, source: str) -> "GrantedRule":
        def words(field: str) -> frozenset[str]:
            return frozenset(raw.get(field) or ())

        urls = tuple(raw.get("nonResourceURLs") or ())
        return cls(raw, source, words("verbs"), words("apiGroups"), words("resources"), words("resourceNames"), urls)

    def allows(self, asked: Attributes) -> bool:
        """Tell whether something may be done, whatever the name of the object; `names` may narrow that."""
        if asked.verb not in self.verbs and ALL not in self.verbs:
            return False
        if asked.path:
            return any(_url_matches(url, asked.path) for url in self.urls)
        return (asked.group in self.groups or ALL in self.groups) and self._has_resource(asked)

    def _has_resource(self, asked: Attributes) -> bool:
        if ALL in self.resources or asked.full_resource in self.resources:
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in self.resources


@dataclass(frozen=True, slots=True)
class Policy:
    """Who has which rules: by subject, and by the namespace in which they hold (none: everywhere)."""

    rules: Mapping[Subject, Mapping[str, Sequence[GrantedRule]]]
    _found: dict[tuple[Any, ...], Sequence[GrantedRule]] = field(default_factory=dict, repr=False, compare=False)
    """The rules that allow a request, cached by its attributes: programs repeat the same request thousands of times."""

    def rules_of(self, user: User, namespace: str) -> Iterator[GrantedRule]:
        """Return the rules that a user has in a namespace, those that hold everywhere first."""
        scopes = ("", namespace) if namespace else ("",)
        for scope in scopes:
            for subject in (("User", user.name), *(("Group", group) for group in user.groups)):
                yield from self.rules.get(subject, {}).get(scope, ())

    def reason(self, asked: Attributes) -> str | None:
        """Say by which binding something is allowed; None where it is not."""
        if MASTERS in asked.user.groups:
            return ""
        for rule in self._allowing(asked):
            if not rule.names or asked.path or asked.name in rule.names:
                return rule.source
        return None

    def _allowing(self, asked: Attributes) -> Sequence[GrantedRule]:
        """Return the rules that allow something to do, with objects of some name at least."""
        user, what = asked.user, (asked.verb, asked.group, asked.resource, asked.subresource, asked.path)
        sort = (user.name, *user.groups), asked.namespace, what
        rules = self._found.get(sort)
        if rules is None:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            rules = self._found[sort] = [rule for rule in self.rules_of(user, asked.namespace) if rule.allows(asked)]
        return rules


def compile_policy(roles: Iterable[Manifest], bindings: Iterable[Manifest]) -> Policy:
    """Resolve bindings to the rules that they give; a binding to a role that is missing gives none."""
    by_key = {_key(role): role for role in roles}
    rules: dict[Subject, dict[str, list[GrantedRule]]] = defaultdict(lambda: defaultdict(list))
    for binding in sorted(bindings, key=_key):
        namespace = binding["metadata"].get("namespace", "")
        reference = binding.get("roleRef") or {}
        scope = namespace if reference.get("kind") == "Role" else ""
        role = by_key.get((scope, reference.get("name", "")))
        given = role.get("rules") or () if role is not None else ()
        for subject in binding.get("subjects") or ():
            bound_rules = [GrantedRule.of(rule, _source(binding, reference, subject)) for rule in given]
            rules[_subject(subject)][namespace].extend(bound_rules)
    return Policy({subject: dict(scopes) for subject, scopes in rules.items()})


class Rbac:
    """Answers by the roles and bindings as they stand."""

    def __init__(self, version: Callable[[], Any], read: Callable[[], tuple[Iterable[Manifest], Iterable[Manifest]]]):
        self._version = version
        """A version of all roles and bindings; compared at every request, so it must be cheap."""
        self._read = read
        self._compiled: tuple[Any, Policy] | None = None

    @property
    def policy(self) -> Policy:
        version = self._version()
        if self._compiled is None or self._compiled[0] != version:
            self._compiled = (version, compile_policy(*self._read()))
        return self._compiled[1]

    def reason(self, asked: Attributes) -> str | None:
        """Say by which binding something is allowed; None where it is not."""
        return self.policy.reason(asked)


def _key(obj: Manifest) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _subject(subject: Manifest) -> Subject:
    if subject.get("kind") == "ServiceAccount":
        return "User", f"{SERVICE_ACCOUNT_PREFIX}{subject.get('namespace', '')}:{subject.get('name', '')}"
    return subject.get("kind", ""), subject.get("name", "")


def _source(binding: Manifest, role: Manifest, subject: Manifest) -> str:
    """Say it as Kubernetes does: RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "z"."""
    name = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace', '')}"
    namespace = binding["metadata"].get("namespace")
    bound = (
        f'RoleBinding "{binding["metadata"]["name"]}/{namespace}"'
        if namespace
        else (f'ClusterRoleBinding "{binding["metadata"]["name"]}"')
    )
    return f'RBAC: allowed by {bound} of {role.get("kind")} "{role.get("name")}" to {subject.get("kind")} "{name}"'


def _url_matches(url: str, path: str) -> bool:
    if url in (ALL, path):
        return True
    return url.endswith(ALL) and path.startswith(url.rstrip(ALL))
