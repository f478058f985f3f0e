"""Conditions of an object that a work defines by rules: expressions over the object, or well-known ones.

Mirrors: OCM work/spoke/conditions/{reader.go,rules/rule.go}
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition
from fleetqueue.api.scheme import Manifest

EVALUATED: Final = "ConditionRuleEvaluated"
INVALID: Final = "ConditionRuleInvalid"
EXPRESSION_ERROR: Final = "ConditionRuleExpressionError"

Evaluate = Callable[[str, dict[str, Any]], Any]
"""Evaluates a CEL expression over variables (`object`, `result`); raises ValueError with what is wrong with it."""


def evaluated(
    obj: Manifest, rules: Sequence[work.ConditionRule], evaluate: Evaluate, generation: int
) -> list[Condition]:
    """Return what the rules say of an object; a well-known one that its kind does not have says nothing."""
    conditions = []
    for rule in rules:
        verdict = (
            _well_known(obj, rule, evaluate) if rule.type == "WellKnownConditions" else _by_rule(obj, rule, evaluate)
        )
        if verdict is not None:
            status, reason, message = verdict
            conditions.append(
                Condition(
                    type=rule.condition, status=status, reason=reason, message=message, observed_generation=generation
                )
            )
    return conditions


Said = tuple[str, str, str]
"""Status, reason and message."""


def _by_rule(obj: Manifest, rule: work.ConditionRule, evaluate: Evaluate) -> Said:
    if rule.type != "CEL":
        return UNKNOWN, INVALID, f"unrecognized condition rule type {rule.type}"
    try:
        is_true = all(_truth(evaluate(expression, {"object": obj})) for expression in rule.cel_expressions)
    except ValueError as error:
        return FALSE, EXPRESSION_ERROR, str(error)
    return TRUE if is_true else FALSE, EVALUATED, _message(obj, rule, is_true, evaluate, "")


def _well_known(obj: Manifest, rule: work.ConditionRule, evaluate: Evaluate) -> Said | None:
    judge = _WELL_KNOWN.get((obj["apiVersion"], obj["kind"], rule.condition))
    if judge is None:
        return None
    is_true, message = judge(obj.get("status") or {})
    return TRUE if is_true else FALSE, EVALUATED, _message(obj, rule, is_true, evaluate, message)


def _message(obj: Manifest, rule: work.ConditionRule, is_true: bool, evaluate: Evaluate, default: str) -> str:
    if rule.message_expression:
        try:
            text = evaluate(rule.message_expression, {"object": obj, "result": is_true})
        except ValueError as error:
            return str(error)
        if not isinstance(text, str):
            return f"expected message expression to have a string result, got {_go_type(text)}"
        if text:
            return text
    words = "is" if is_true else "is not"
    return default or rule.message or f"Manifest {words} {rule.condition}"


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected bool result, got {_go_type(value)}")
    return value


def _go_type(value: Any) -> str:
    return {int: "int64", float: "float64", str: "string", bool: "bool"}.get(type(value), "interface {}")


def _job_complete(status: Manifest) -> tuple[bool, str]:
    ended = [
        condition for condition in status.get("conditions") or () if condition.get("type") in ("Complete", "Failed")
    ]
    is_finished = any(condition.get("status") == TRUE for condition in ended)
    return is_finished, "Job is finished" if is_finished else "Job is not finished"


def _pod_complete(status: Manifest) -> tuple[bool, str]:
    phase = status.get("phase", "")
    return phase in ("Succeeded", "Failed"), f"Pod is in phase {phase}"


_WELL_KNOWN: Final[dict[tuple[str, str, str], Callable[[Manifest], tuple[bool, str]]]] = {
    ("batch/v1", "Job", work.COMPLETE): _job_complete,
    ("v1", "Pod", work.COMPLETE): _pod_complete,
}
