"""What Kueue refuses in ClusterQueues, Cohorts and ResourceFlavors, beside what their schemas refuse.

Mirrors: Kueue pkg/webhooks
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from fleetqueue.api.quantity import parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.webhooks.field_errors import (
    NEGATIVE,
    duplicate,
    invalid,
    unchanged,
    unqualified,
    unsupported,
)

GROUPS = "spec.resourceGroups"
CHECKS = "spec.admissionChecksStrategy.admissionChecks"
MOST = 256
MOST_COMBINATIONS = 512


def cluster_queue_faults(old: Manifest | None, queue: Manifest) -> list[str]:
    spec = queue["spec"]
    groups = spec.get("resourceGroups") or []
    return [
        *_of_groups(groups, alone="" if spec.get("cohortName") else "cohort", lends_own=True),
        *_of_preemption(spec.get("preemption") or {}),
        *_of_fungibility(spec.get("flavorFungibility") or {}),
        *_of_weight(spec),
        *_of_totals(groups),
        *_of_checks(old, spec),
        *(_policy_changes(old["spec"], spec) if old is not None else ()),
    ]


def cohort_faults(old: Manifest | None, cohort: Manifest) -> list[str]:
    spec = cohort.get("spec") or {}
    alone = "" if spec.get("parentName") else "parent"
    return [*_of_weight(spec), *_of_groups(spec.get("resourceGroups") or [], alone=alone, lends_own=False)]


def flavor_faults(old: Manifest | None, flavor: Manifest) -> list[str]:
    spec = flavor.get("spec") or {}
    problems = [
        invalid("spec.nodeLabels", key, why) for key in sorted(spec.get("nodeLabels") or {}) for why in unqualified(key)
    ]
    seen: set[tuple[str, str]] = set()
    for number, taint in enumerate(spec.get("nodeTaints") or ()):
        path, known = f"spec.nodeTaints[{number}]", (taint.get("key", ""), taint.get("effect", ""))
        problems += [invalid(f"{path}.key", known[0], why) for why in unqualified(known[0])]
        if known in seen:
            problems.append(f"{duplicate(path, taint)}: taints must be unique by key and effect pair")
        seen.add(known)
    for number, toleration in enumerate(spec.get("tolerations") or ()):
        key = toleration.get("key", "")
        problems += [invalid(f"spec.tolerations[{number}].key", key, why) for why in (unqualified(key) if key else ())]
    return problems


def _of_groups(groups: Sequence[Manifest], *, alone: str, lends_own: bool) -> Iterable[str]:
    """Judge quotas; `alone` names what is missing where nobody can be lent to or borrowed from."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for number, group in enumerate(groups):
        covered = group["coveredResources"]
        for place, name in enumerate(covered):
            path = f"{GROUPS}[{number}].coveredResources[{place}]"
            yield from (invalid(path, name, why) for why in unqualified(name))
            if name in resources:
                yield duplicate(path, name)
            resources.add(name)
        for place, flavor in enumerate(group["flavors"]):
            path = f"{GROUPS}[{number}].flavors[{place}]"
            for index, (quota, name) in enumerate(zip(flavor["resources"], covered, strict=False)):
                yield from _of_quota(quota, name, f"{path}.resources[{index}]", alone, lends_own)
            if flavor["name"] in flavors:
                yield duplicate(f"{path}.name", flavor["name"])
            flavors.add(flavor["name"])


def _of_quota(quota: Manifest, name: str, path: str, alone: str, lends_own: bool) -> Iterable[str]:
    if quota["name"] != name:
        yield invalid(f"{path}.name", quota["name"], "must match the name in coveredResources")
    yield from _not_negative(f"{path}.nominalQuota", quota["nominalQuota"])
    borrowed, lent = quota.get("borrowingLimit"), quota.get("lendingLimit")
    if borrowed is not None:
        yield from _not_alone(f"{path}.borrowingLimit", borrowed, alone)
        yield from _not_negative(f"{path}.borrowingLimit", borrowed)
    if lent is not None:
        yield from _not_negative(f"{path}.lendingLimit", lent)
        yield from _not_alone(f"{path}.lendingLimit", lent, alone)
        if lends_own and parse(lent) > parse(quota["nominalQuota"]):
            yield invalid(f"{path}.lendingLimit", str(lent), "must be less than or equal to the nominalQuota")


def _not_negative(path: str, value: Any) -> Iterable[str]:
    if parse(value) < 0:
        yield invalid(path, str(value), NEGATIVE)


def _not_alone(path: str, value: Any, alone: str) -> Iterable[str]:
    if alone:
        yield invalid(path, str(value), f"must be nil when {alone} is empty")


def _of_preemption(preemption: Manifest) -> Iterable[str]:
    borrows = (preemption.get("borrowWithinCohort") or {}).get("policy", "Never") != "Never"
    if preemption.get("reclaimWithinCohort", "Never") == "Never" and borrows:
        yield invalid("spec.preemption", preemption, "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never")


def _of_fungibility(fungibility: Manifest) -> Iterable[str]:
    preference = fungibility.get("preference")
    tries_all = all(fungibility.get(f"whenCan{what}") == "TryNextFlavor" for what in ("Borrow", "Preempt"))
    if preference and not tries_all:
        why = f'preference "{preference}" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor'
        yield invalid("spec.flavorFungibility.preference", preference, why)


def _of_weight(spec: Manifest) -> Iterable[str]:
    weight = (spec.get("fairSharing") or {}).get("weight")
    if weight is None:
        return
    if parse(weight) < 0:
        yield invalid("spec.fairSharing", str(weight), NEGATIVE)
    if 0 < parse(weight) <= Decimal("1e-9"):
        yield invalid("spec.fairSharing", str(weight), "When not 0, weight must be > 10e-9")


def _of_totals(groups: Sequence[Manifest]) -> Iterable[str]:
    flavors = sum(len(group["flavors"]) for group in groups)
    if flavors > MOST:
        why = f"total number of flavors across all resourceGroups must be ≤ {MOST}, got {flavors}"
        yield invalid(GROUPS, flavors, why)
    covered = sum(len(group["coveredResources"]) for group in groups)
    if covered > MOST:
        why = f"total number of covered resources across all resourceGroups must be ≤ {MOST}, got {covered}"
        yield invalid(GROUPS, covered, why)
    for number, group in enumerate(groups):
        combined = sum(len(flavor["resources"]) for flavor in group["flavors"])
        if combined > MOST_COMBINATIONS:
            limit = f"must be ≤ {MOST_COMBINATIONS}, got {combined}"
            yield invalid(
                f"{GROUPS}[{number}]", combined, f"number of flavor-resource combinations in a resourceGroup {limit}"
            )


def _of_checks(old: Manifest | None, spec: Manifest) -> Iterable[str]:
    """Judge the flavors of checks; what was wrong before and is unchanged is let through."""
    known = _flavors(spec)
    before: dict[str, set[str]] = {}
    if old is not None and set(_flavors(old["spec"])) == set(known):
        before = {check["name"]: set(check.get("onFlavors") or ()) for check in _checks(old["spec"])}
    for number, check in enumerate(_checks(spec)):
        listed = check.get("onFlavors") or ()
        if before.get(check["name"]) == set(listed):
            continue
        for place, flavor in enumerate(listed):
            if flavor not in known:
                yield unsupported(f"{CHECKS}[{number}].onFlavors[{place}]", flavor, known)


def _policy_changes(old: Manifest, new: Manifest) -> Iterable[str]:
    field = "concurrentAdmissionPolicy"
    return unchanged(f"spec.{field}", new.get(field), old.get(field))


def _flavors(spec: Manifest) -> list[str]:
    return [flavor["name"] for group in spec.get("resourceGroups") or () for flavor in group["flavors"]]


def _checks(spec: Manifest) -> Sequence[Manifest]:
    listed: Sequence[Manifest] = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    return listed
