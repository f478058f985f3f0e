"""What limits others: LimitRanges, ResourceQuotas, PodDisruptionBudgets and PriorityClasses."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import qualified_name
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults, amount
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled, within
from fleetqueue.embedded.apiserver.registry.kinds.resource_rules import STANDARD, quantity_faults, resource_name_faults
from fleetqueue.embedded.apiserver.registry.strategy import Generation, StatusStrategy, Strategy

SCOPES: Final = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
    "VolumeAttributesClass",
)
LIMITED: Final = ("Pod", "Container", "PersistentVolumeClaim")
HIGHEST_PRIORITY: Final = 1_000_000_000
SYSTEM: Final = "system-"
SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def default_range(limits: Manifest) -> Manifest:
    return within(limits, "spec", lambda spec: each_within(spec, "limits", _limit))


def _limit(limit: Manifest) -> Manifest:
    """What is the most is also the default, and that the default request."""
    if limit.get("type") != "Container":
        return limit
    default = filled(limit.get("default") or {}, limit.get("max") or {})
    request = filled(filled(limit.get("defaultRequest") or {}, default), limit.get("min") or {})
    made = {name: value for name, value in (("default", default), ("defaultRequest", request)) if value}
    return limit if all(limit.get(name) == value for name, value in made.items()) else {**limit, **made}


def range_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    limits = (new.get("spec") or {}).get("limits") or ()
    return checks.all_of(*(_limit_faults(limit, f"spec.limits[{index}]") for index, limit in enumerate(limits)))


def _limit_faults(limit: Manifest, field: str) -> Faults:
    kind = limit.get("type", "")
    problems = qualified_name(kind)
    yield from (invalid_value(f"{field}.type", kind, why) for why in problems)
    if not problems and "/" not in kind and kind not in LIMITED:
        yield invalid_value(f"{field}.type", kind, "must be a standard limit type or fully qualified")
    if limit.get("type") == "Pod":
        for name in ("default", "defaultRequest"):
            if limit.get(name):
                yield forbidden(f"{field}.{name}", "may not be specified when `type` is 'Pod'")
    least, most = limit.get("min") or {}, limit.get("max") or {}
    default, request = limit.get("default") or {}, limit.get("defaultRequest") or {}
    if kind == "PersistentVolumeClaim" and "storage" not in least and "storage" not in most:
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{field}.limits", detail)
    for name in dict.fromkeys((*least, *most, *default, *request)):
        low, high, usual, asked = (part.get(name) for part in (least, most, default, request))
        yield from _order(low, high, f"{field}.min[{name}]", "min", "max", low)
        yield from _order(low, asked, f"{field}.defaultRequest[{name}]", "min", "default request", asked)
        yield from _order(asked, high, f"{field}.defaultRequest[{name}]", "default request", "max", asked)
        yield from _order(asked, usual, f"{field}.defaultRequest[{name}]", "default request", "default limit", asked)
        yield from _order(low, usual, f"{field}.default[{name}]", "min", "default", low)
        yield from _order(usual, high, f"{field}.default[{name}]", "default", "max", high)
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        if amount(ratio) < 1:
            where = f"{field}.maxLimitRequestRatio[{name}]"
            yield invalid_value(where, ratio, f"ratio {ratio} is less than 1")
        if name in least and name in most and amount(least[name]) and amount(ratio) > _quotient(most, least, name):
            detail = f"ratio {ratio} is greater than max/min = {_quotient(most, least, name):f}"
            yield invalid_value(f"{field}.maxLimitRequestRatio[{name}]", ratio, detail)


def _quotient(most: Manifest, least: Manifest, name: str) -> float:
    return float(amount(most[name]) / amount(least[name]))


def _order(lower: str | None, upper: str | None, field: str, below: str, above: str, shown: str | None) -> Faults:
    if lower is not None and upper is not None and amount(lower) > amount(upper):
        yield invalid_value(field, shown, f"{below} value {lower} is greater than {above} value {upper}")


def quota_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new.get("spec") or {}
    problems = checks.all_of(*(_hard_faults(name, value) for name, value in (spec.get("hard") or {}).items()))
    scopes = spec.get("scopes") or []
    problems += [invalid_value("spec.scopes", scopes, "unsupported scope") for scope in scopes if scope not in SCOPES]
    if old is not None and (spec.get("scopes") or []) != (old["spec"].get("scopes") or []):
        problems.append(invalid_value("spec.scopes", spec.get("scopes"), checks.IMMUTABLE))
    return problems


def _hard_faults(name: str, value: str) -> Faults:
    field = f"spec.hard[{name}]"
    yield from resource_name_faults(name, field)
    if "/" not in name and name not in STANDARD:
        yield invalid_value(field, name, "must be a standard resource for quota")
    yield from quantity_faults(name, value, field)


def budget_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new.get("spec") or {}
    problems: list[Cause] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        problems.append(invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            problems += checks.count_or_percent(spec[name], f"spec.{name}")
            problems += checks.at_most_all(spec[name], f"spec.{name}")
    problems += checks.selector_faults(spec.get("selector") or {}, "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    problems += checks.one_of(spec, "unhealthyPodEvictionPolicy", "spec", policies)
    return problems


def budget_status_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    numbers = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    return list(checks.non_negative(new.get("status") or {}, "status", *numbers))


def default_class(priority: Manifest) -> Manifest:
    return filled(priority, {"preemptionPolicy": "PreemptLowerPriority"})


def class_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    name, value = new["metadata"]["name"], new.get("value", 0)
    if old is not None:
        return _class_change_faults(new, old)
    if name.startswith(SYSTEM):
        if SYSTEM_CLASSES.get(name) == value:
            return []
        detail = "priority class names with 'system-' prefix are reserved for system use only. error: "
        return [forbidden("metadata.name", detail + f"{name} is not a known system priority class")]
    if value > HIGHEST_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        return [forbidden("value", detail)]
    return list(checks.one_of(new, "preemptionPolicy", "", ("Never", "PreemptLowerPriority")))


def _class_change_faults(new: Manifest, old: Manifest) -> list[Cause]:
    problems: list[Cause] = []
    if new.get("value", 0) != old.get("value", 0):
        problems.append(forbidden("value", "may not be changed in an update."))
    return [*problems, *checks.unchanged(new, old, "", "preemptionPolicy")]


RANGES: Final = Strategy(default=default_range, faults=range_faults)
QUOTAS: Final = Strategy(faults=quota_faults)
BUDGETS: Final = Strategy(faults=budget_faults, status=StatusStrategy(budget_status_faults))
CLASSES: Final = Strategy(default=default_class, faults=class_faults, generation=Generation(counts_spec=False))
