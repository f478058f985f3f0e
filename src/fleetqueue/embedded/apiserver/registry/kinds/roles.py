"""RBAC: roles and bindings, as objects; who may do what by them is decided in `auth`."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import path_segment, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, within
from fleetqueue.embedded.apiserver.registry.strategy import Strategy

GROUP: Final = "rbac.authorization.k8s.io"
SUBJECTS: Final = ("ServiceAccount", "User", "Group")
"""The kinds of subjects, the one without a group first."""


def default_binding(binding: Manifest) -> Manifest:
    after = within(binding, "roleRef", _reference)
    return each_within(after, "subjects", _subject)


def _reference(reference: Manifest) -> Manifest:
    return reference if reference.get("apiGroup") else {**reference, "apiGroup": GROUP}


def _subject(subject: Manifest) -> Manifest:
    if subject.get("apiGroup") or subject.get("kind") not in SUBJECTS[1:]:
        return subject
    return {**subject, "apiGroup": GROUP}


def role_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return checks.all_of(*_rule_faults(new, is_namespaced=True))


def cluster_role_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems = checks.all_of(*_rule_faults(new, is_namespaced=False))
    if "aggregationRule" in new:
        selectors = new["aggregationRule"].get("clusterRoleSelectors") or ()
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            problems.append(required("aggregationRule.clusterRoleSelectors", detail))
        for position, selector in enumerate(selectors):
            problems += checks.selector_faults(selector, f"aggregationRule.clusterRoleSelectors[{position}]")
    return problems


def _rule_faults(role: Manifest, *, is_namespaced: bool) -> list[Faults]:
    rules = role.get("rules") or ()
    return [_one_rule_faults(rule, f"rules[{position}]", is_namespaced) for position, rule in enumerate(rules)]


def _one_rule_faults(rule: Manifest, field: str, is_namespaced: bool) -> Faults:
    if not rule.get("verbs"):
        yield required(f"{field}.verbs", "verbs must contain at least one value")
    if rule.get("nonResourceURLs"):
        if is_namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            yield invalid_value(f"{field}.nonResourceURLs", rule["nonResourceURLs"], detail)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid_value(f"{field}.nonResourceURLs", rule["nonResourceURLs"], detail)
        return
    if not rule.get("apiGroups"):
        yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{field}.resources", "resource rules must supply at least one resource")


def binding_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return _binding_faults(new, old, ("Role", "ClusterRole"), is_namespaced=True)


def cluster_binding_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return _binding_faults(new, old, ("ClusterRole",), is_namespaced=False)


def _binding_faults(
    new: Manifest, old: Manifest | None, kinds: Sequence[str], *, is_namespaced: bool
) -> Sequence[Cause]:
    problems = list(_reference_faults(new.get("roleRef") or {}, kinds))
    for position, subject in enumerate(new.get("subjects") or ()):
        problems += _subject_faults(subject, f"subjects[{position}]", is_namespaced)
    if old is not None and new.get("roleRef") != old.get("roleRef"):
        problems.append(invalid_value("roleRef", new.get("roleRef"), "cannot change roleRef"))
    return problems


def _reference_faults(reference: Manifest, kinds: Sequence[str]) -> Faults:
    if reference.get("apiGroup") != GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name")
    if not name:
        yield required("roleRef.name")
    else:
        yield from (invalid_value("roleRef.name", name, why) for why in path_segment(name))


def _subject_faults(subject: Manifest, field: str, is_namespaced: bool) -> Faults:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required(f"{field}.name")
    if kind == "ServiceAccount":
        if name:
            yield from (invalid_value(f"{field}.name", name, why) for why in subdomain(name))
        if group:
            yield not_supported(f"{field}.apiGroup", group, ("",))
        if not is_namespaced and not subject.get("namespace"):
            yield required(f"{field}.namespace")
    elif kind in SUBJECTS:
        if group != GROUP:
            yield not_supported(f"{field}.apiGroup", group, (GROUP,))
    else:
        yield not_supported(f"{field}.kind", kind, SUBJECTS)


ROLES: Final = Strategy(faults=role_faults)
CLUSTER_ROLES: Final = Strategy(faults=cluster_role_faults)
BINDINGS: Final = Strategy(default=default_binding, faults=binding_faults)
CLUSTER_BINDINGS: Final = Strategy(default=default_binding, faults=cluster_binding_faults)
