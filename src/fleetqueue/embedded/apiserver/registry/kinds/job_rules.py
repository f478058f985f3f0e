"""The rules for the spec of a Job, in a Job or in a CronJob."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import (
    Cause,
    duplicate,
    invalid_omitted,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from fleetqueue.embedded.apiserver.kinds.names import qualified_name, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.job_status import BadIndexes, count
from fleetqueue.embedded.apiserver.registry.kinds.pod_rules import template_faults

MODES: Final = ("NonIndexed", "Indexed")
ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
MOST_INDEXES: Final = 100_000
MOST_RULES: Final = 20
MOST_CODES: Final = 255
MANAGER_LENGTH: Final = 63
NUMBERS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    "backoffLimitPerIndex",
)
NEEDS_INDEXES: Final = "requires indexed completion mode"


def job_faults(spec: Manifest, field: str) -> list[Cause]:
    """Return what is wrong with the spec of a Job, which has a selector."""
    causes = list(spec_faults(spec, field))
    selector = spec.get("selector")
    if selector is None:
        causes.append(required(f"{field}.selector"))
    elif problems := list(checks.selector_faults(selector, f"{field}.selector")):
        return causes + problems
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not checks.selects(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        causes.append(invalid_value(f"{field}.template.metadata.labels", labels, detail))
    return causes


def spec_faults(spec: Manifest, field: str) -> Faults:
    yield from checks.non_negative(spec, field, *NUMBERS)
    if "maxFailedIndexes" in spec:
        yield from checks.non_negative(spec, field, "maxFailedIndexes")
        if "backoffLimitPerIndex" not in spec:
            yield required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        yield from _manager_faults(spec["managedBy"], f"{field}.managedBy")
    yield from checks.one_of(spec, "completionMode", field, MODES)
    if spec.get("completionMode") == "Indexed":
        yield from _indexed_faults(spec, field)
    elif spec.get("completionMode", "NonIndexed") == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid_value(f"{field}.{name}", spec[name], NEEDS_INDEXES)
    if "podFailurePolicy" in spec:
        yield from _failure_faults(spec, f"{field}.podFailurePolicy")
    if "successPolicy" in spec:
        yield from _success_faults(spec, f"{field}.successPolicy")
    allowed = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    yield from checks.one_of(spec, "podReplacementPolicy", field, allowed)
    yield from template_faults(spec.get("template") or {}, f"{field}.template")
    yield from _restart_faults(spec, f"{field}.template.spec.restartPolicy")


def _manager_faults(manager: str, field: str) -> Faults:
    prefix, slash, path = manager.partition("/")
    if not manager:
        yield required(field)
    elif not slash or not prefix or not path:
        yield invalid_value(field, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (invalid_value(field, prefix, why) for why in subdomain(prefix))
        if not checks.matches(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", path):
            detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
            yield invalid_value(field, path, detail)
    if len(manager) > MANAGER_LENGTH:
        yield too_long(field, MANAGER_LENGTH)


def _indexed_faults(spec: Manifest, field: str) -> Faults:
    if "completions" not in spec:
        yield required(f"{field}.completions", "when completion mode is Indexed")
    if spec.get("parallelism", 0) > MOST_INDEXES:
        detail = f"must be less than or equal to {MOST_INDEXES} when completion mode is Indexed"
        yield invalid_value(f"{field}.parallelism", spec["parallelism"], detail)
    failed = spec.get("maxFailedIndexes")
    if failed is not None and "completions" in spec and failed > spec["completions"]:
        yield invalid_value(f"{field}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _failure_faults(spec: Manifest, field: str) -> Faults:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > MOST_RULES:
        yield too_many(f"{field}.rules", len(rules), MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {one.get("name") for part in ("containers", "initContainers") for one in pod.get(part) or ()}
    for position, rule in enumerate(rules):
        yield from _failure_rule_faults(spec, rule, f"{field}.rules[{position}]", names)


def _failure_rule_faults(spec: Manifest, rule: Manifest, field: str, names: set[str | None]) -> Faults:
    action = rule.get("action", "")
    if not action:
        yield required(f"{field}.action", f"valid values: {_quoted(ACTIONS)}")
    elif action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            yield invalid_value(f"{field}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in ACTIONS:
        yield not_supported(f"{field}.action", action, ACTIONS)
    if "onExitCodes" in rule:
        yield from _code_faults(rule["onExitCodes"], f"{field}.onExitCodes", names)
    for position, pattern in enumerate(rule.get("onPodConditions") or ()):
        where = f"{field}.onPodConditions[{position}]"
        kind = pattern.get("type", "")
        yield from (invalid_value(f"{where}.type", kind, why) for why in qualified_name(kind))
        yield from checks.one_of(pattern, "status", where, ("False", "True", "Unknown"))
    if "onExitCodes" in rule and rule.get("onPodConditions"):
        yield invalid_omitted(field, "specifying both OnExitCodes and OnPodConditions is not supported")
    if "onExitCodes" not in rule and not rule.get("onPodConditions"):
        yield invalid_omitted(field, "specifying one of OnExitCodes and OnPodConditions is required")


def _code_faults(codes: Manifest, field: str, names: set[str | None]) -> Faults:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield required(f"{field}.operator", f"valid values: {_quoted(('In', 'NotIn'))}")
    elif operator not in ("In", "NotIn"):
        yield not_supported(f"{field}.operator", operator, ("In", "NotIn"))
    if "containerName" in codes and codes["containerName"] not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid_value(f"{field}.containerName", codes["containerName"], detail)
    if not values:
        yield invalid_value(f"{field}.values", codes.get("values"), "at least one value is required")
    elif len(values) > MOST_CODES:
        yield too_many(f"{field}.values", len(values), MOST_CODES)
    for position, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid_value(f"{field}.values[{position}]", value, "must not be 0 for the In operator")
        if value in values[:position]:
            yield duplicate(f"{field}.values[{position}]", value)
    if values != sorted(values):
        yield invalid_value(f"{field}.values", values, "must be ordered")


def _success_faults(spec: Manifest, field: str) -> Faults:
    if spec.get("completionMode") != "Indexed":
        yield invalid_value(field, spec["successPolicy"], NEEDS_INDEXES)
        return
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        yield required(f"{field}.rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > MOST_RULES:
        yield too_many(f"{field}.rules", len(rules), MOST_RULES)
    for position, rule in enumerate(rules):
        yield from _success_rule_faults(rule, spec.get("completions", 0), f"{field}.rules[{position}]")


def _success_rule_faults(rule: Manifest, completions: int, field: str) -> Faults:
    wanted, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if wanted is None and indexes is None:
        yield required(field, "at least one of succeededCount or succeededIndexes must be specified")
    if indexes is not None:
        try:
            total = count(indexes, completions)
        except BadIndexes as error:
            yield invalid_value(f"{field}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if wanted is None:
        return
    yield from checks.non_negative(rule, field, "succeededCount")
    if wanted > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid_value(f"{field}.succeededCount", wanted, detail)
    if indexes is not None and wanted > total:
        about = "(the number of indexes in the specified succeededIndexes field)"
        yield invalid_value(f"{field}.succeededCount", wanted, f"must be less than or equal to {total} {about}")


def _restart_faults(spec: Manifest, field: str) -> Faults:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(field, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid_value(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _quoted(values: Sequence[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"
