"""Ask the validation rules about an object, at every place where the schema has some."""

from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import (
    NOWHERE,
    Cause,
    duplicate,
    forbidden,
    invalid_omitted,
    invalid_value,
    required,
)
from fleetqueue.embedded.apiserver.kinds.schema import MAP
from fleetqueue.embedded.apiserver.validation.cel import COST_LIMIT, CelError, CompiledExpression, CostExceeded
from fleetqueue.embedded.apiserver.validation.cel.values import NONE, Optional
from fleetqueue.embedded.apiserver.validation.correlation import Correlation, key_of, keyed
from fleetqueue.embedded.apiserver.validation.rules import RuleNode, ValidationRule

BUDGET = 10 * COST_LIMIT
"""Work that all rules of one object may do together, as in the real server."""
MAX_MESSAGE_BYTES = 5 * 1024


class BudgetExceeded(Exception):
    """No further rules are evaluated."""


Way = tuple[Any, str | int] | None
"""Where a walk is: the way to the parent, and the last field, key or index; None at the object itself."""


def broken_rules(node: RuleNode, obj: Any, old: Any, correlation: Correlation | None, path: str = "") -> list[Cause]:
    """Ask all rules about an object; `old` is None for a new one."""
    walk = _Walk(correlation)
    try:
        walk.visit(node, obj, old, path, None)
    except BudgetExceeded:
        pass
    return walk.found


class _Walk:
    def __init__(self, correlation: Correlation | None) -> None:
        self.correlation = correlation
        self.found: list[Cause] = []
        self.budget = BUDGET
        self.trusts_old = False
        """Whether the part as it was, in which the walk is, is known to break no rule that does not use oldSelf."""
        self.spares = False
        """Whether a broken rule was let pass, since it was broken before."""

    def visit(self, node: RuleNode, value: Any, old: Any, path: str, way: Way) -> None:
        if value is None or (value is old and self.trusts_old and not node.minds_old):
            return
        if node.rules:
            self.ask(node, value, old, path, way)
        if type(value) is list and node.items is not None:
            self.visit_list(node, node.items, value, old, path, way)
        elif type(value) is dict and (node.fields or node.values is not None):
            self.visit_dict(node, value, old, path, way)

    def visit_dict(self, node: RuleNode, value: dict[str, Any], old: Any, path: str, way: Way) -> None:
        before = old if isinstance(old, dict) else {}
        for name, item in value.items():
            child = node.fields.get(name)
            if child is not None and not path:
                self.visit_part(child, item, before.get(name), name)
            elif child is not None:
                self.visit(child, item, before.get(name), f"{path}.{name}", (way, name))
            elif node.values is not None and name not in node.schema.properties:
                self.visit(node.values, item, before.get(name), f"{path}[{name}]", (way, name))

    def visit_part(self, node: RuleNode, value: Any, old: Any, name: str) -> None:
        """Visit a field of the object itself; one that is left as it was and is known to be in order needs no look."""
        is_kept = value is old
        if is_kept and node.settled.has(name, value):
            return
        faults = len(self.found)
        self.trusts_old = node.known.has(name, old)
        self.visit(node, value, old, name, (None, name))
        self.trusts_old = False
        if len(self.found) > faults or not isinstance(value, (dict, list)):
            return
        if is_kept:
            node.settled.add(name, value)
        if not self.spares:
            node.known.follow(name, old, value)

    def visit_list(self, node: RuleNode, child: RuleNode, value: list[Any], old: Any, path: str, way: Way) -> None:
        before = keyed(old, node.schema) if node.schema.list_type == MAP and old else {}
        for position, item in enumerate(value):
            previous = before.get(key_of(item, node.schema)) if before else None
            self.visit(child, item, previous, f"{path}[{position}]", (way, position))

    def ask(self, node: RuleNode, value: Any, old: Any, path: str, way: Way) -> None:
        for rule in node.rules:
            if rule.uses_old and old is None and not rule.is_optional:
                continue
            self.ask_one(rule, node, value, old, path or NOWHERE, way)

    def ask_one(self, rule: ValidationRule, node: RuleNode, value: Any, old: Any, path: str, way: Way) -> None:
        try:
            variables = _variables(rule, node, value, old)
            holds = self.evaluated(rule.program, variables)
        except CostExceeded as error:
            message = "no further validation rules will be run due to call cost exceeds limit for rule"
            self.give_up(path, node, f"'{error}': {message}: {rule.shown}")
        except CelError as error:
            self.found.append(invalid_value(path, node.shown_type, _failure(str(error), rule)))
            return
        if holds is True:
            return
        if not rule.uses_old and is_old(self.correlation, way):
            self.spares = True
            return
        at = rule.path if path == NOWHERE and rule.path else f"{path}.{rule.path}" if rule.path else path
        self.found.append(_fault(rule, node, value, at, self.message(rule, variables)))

    def evaluated(self, program: CompiledExpression, variables: tuple[Any, Any]) -> Any:
        result, cost = program.evaluate(*variables, limit=min(COST_LIMIT, self.budget))
        self.budget -= cost
        return result

    def give_up(self, path: str, node: RuleNode, detail: str) -> None:
        if self.budget < COST_LIMIT:
            detail = "validation failed due to running out of cost budget, no further validation rules will be run"
        self.found.append(invalid_value(path, node.shown_type, detail))
        raise BudgetExceeded

    def message(self, rule: ValidationRule, variables: tuple[Any, Any]) -> str:
        """Return what the rule says; its expression only if that yields one usable line."""
        if rule.message is None:
            return rule.default_message
        try:
            message = str(self.evaluated(rule.message, variables)).strip()
        except (CelError, CostExceeded):
            return rule.default_message
        is_usable = message and "\n" not in message and len(message.encode()) <= MAX_MESSAGE_BYTES
        return message if is_usable else rule.default_message


def is_old(correlation: Correlation | None, way: Way) -> bool:
    """Tell whether a fault at the end of a way is old, too: where nothing has changed, or nearest to where it was."""
    here, parent = correlation, None
    for step in _steps(way):
        if here is None:
            break
        if parent is None and step in ("apiVersion", "kind"):
            return False  # both objects were converted to the version of the request
        here, parent = (here.index(step) if isinstance(step, int) else here.key(step)), here
    nearest = here or parent
    return nearest is not None and nearest.is_equal


def _steps(way: Way) -> list[str | int]:
    steps: list[str | int] = []
    while way is not None:
        way, step = way
        steps.append(step)
    return steps[::-1]


def _variables(rule: ValidationRule, node: RuleNode, value: Any, old: Any) -> tuple[Any, Any]:
    convert = node.convert
    new = value if convert is None else convert(value)
    if not rule.uses_old:
        return new, None
    before = old if convert is None or old is None else convert(old)
    if rule.is_optional:
        return new, NONE if old is None else Optional(before)
    return new, before


def _failure(error: str, rule: ValidationRule) -> str:
    if error.startswith("no such overload"):
        detail = "call arguments did not match a supported operator, function or macro signature"
        return f"'{error}': {detail} for rule: {rule.shown}"
    return f"{error} evaluating rule: {rule.shown}"


def _fault(rule: ValidationRule, node: RuleNode, value: Any, path: str, detail: str) -> Cause:
    is_large = node.schema.type in ("object", "array")
    match rule.rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return Cause("FieldValueDuplicate", "Duplicate value", path) if is_large else duplicate(path, value)
    return invalid_omitted(path, detail) if is_large else invalid_value(path, value, detail)
