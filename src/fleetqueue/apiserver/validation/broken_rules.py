"""Ask the validation rules about an object, at every place where the schema has some."""

from typing import Any

from fleetqueue.apiserver.kinds.causes import (
    NOWHERE,
    Cause,
    duplicate,
    forbidden,
    invalid_omitted,
    invalid_value,
    required,
)
from fleetqueue.apiserver.kinds.schema import MAP
from fleetqueue.apiserver.validation.cel import COST_LIMIT, CelError, CostExceeded, Program
from fleetqueue.apiserver.validation.cel.values import NONE, Optional
from fleetqueue.apiserver.validation.correlation import Correlation, key_of, keyed
from fleetqueue.apiserver.validation.rules import Rule, RuleNode

BUDGET = 10 * COST_LIMIT
"""Work that all rules of one object may do together, as in the real server."""
MAX_MESSAGE_BYTES = 5 * 1024


class BudgetExceeded(Exception):
    """No further rules are asked."""


class Ratchet:
    """Where the walk is in the old object, for deciding whether a fault is old, too."""

    __slots__ = ("here", "parent")

    def __init__(self, here: Correlation | None, parent: Correlation | None) -> None:
        self.here = here
        self.parent = parent

    @property
    def holds(self) -> bool:
        nearest = self.here or self.parent
        return nearest is not None and nearest.is_equal

    def key(self, name: str) -> "Ratchet":
        if self.here is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return Ratchet(None, None)  # both objects were converted to the version of the request
        return Ratchet(self.here.key(name), self.here)

    def index(self, position: int) -> "Ratchet":
        return self if self.here is None else Ratchet(self.here.index(position), self.here)


def broken_rules(node: RuleNode, obj: Any, old: Any, correlation: Correlation | None, path: str = "") -> list[Cause]:
    """Ask all rules about an object; `old` is None for a new one."""
    walk = _Walk()
    try:
        walk.visit(node, obj, old, path, Ratchet(correlation, None))
    except BudgetExceeded:
        pass
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found: list[Cause] = []
        self.budget = BUDGET

    def visit(self, node: RuleNode, value: Any, old: Any, path: str, ratchet: Ratchet) -> None:
        if value is None:
            return
        if node.rules:
            self.ask(node, value, old, path, ratchet)
        if type(value) is list and node.items is not None:
            self.visit_list(node, node.items, value, old, path, ratchet)
        elif type(value) is dict and (node.fields or node.values is not None):
            self.visit_dict(node, value, old, path, ratchet)

    def visit_dict(self, node: RuleNode, value: dict[str, Any], old: Any, path: str, ratchet: Ratchet) -> None:
        before = old if isinstance(old, dict) else {}
        for name, item in value.items():
            child = node.fields.get(name)
            if child is not None and not path:
                self.visit_part(child, item, before.get(name), name, ratchet)
            elif child is not None:
                self.visit(child, item, before.get(name), f"{path}.{name}", ratchet.key(name))
            elif node.values is not None and name not in node.schema.properties:
                self.visit(node.values, item, before.get(name), f"{path}[{name}]", ratchet.key(name))

    def visit_part(self, node: RuleNode, value: Any, old: Any, name: str, ratchet: Ratchet) -> None:
        """Visit a field of the object itself; one that is left as it was and is known to be in order needs no look."""
        is_kept = value is old
        if is_kept and node.known.has(name, value):
            return
        faults = len(self.found)
        self.visit(node, value, old, name, ratchet.key(name))
        if is_kept and len(self.found) == faults:
            node.known.add(name, value)

    def visit_list(
        self, node: RuleNode, child: RuleNode, value: list[Any], old: Any, path: str, ratchet: Ratchet
    ) -> None:
        before = keyed(old, node.schema) if node.schema.list_type == MAP and old else {}
        for position, item in enumerate(value):
            was = before.get(key_of(item, node.schema)) if before else None
            self.visit(child, item, was, f"{path}[{position}]", ratchet.index(position))

    def ask(self, node: RuleNode, value: Any, old: Any, path: str, ratchet: Ratchet) -> None:
        for rule in node.rules:
            if rule.uses_old and old is None and not rule.is_optional:
                continue
            self.ask_one(rule, node, value, old, path or NOWHERE, ratchet)

    def ask_one(self, rule: Rule, node: RuleNode, value: Any, old: Any, path: str, ratchet: Ratchet) -> None:
        try:
            variables = _variables(rule, node, value, old)
            holds = self.evaluated(rule.program, variables)
        except CostExceeded as error:
            told = "no further validation rules will be run due to call cost exceeds limit for rule"
            self.give_up(path, node, f"'{error}': {told}: {rule.shown}")
        except CelError as error:
            self.found.append(invalid_value(path, node.shown_type, _failure(str(error), rule)))
            return
        if holds is True or (not rule.uses_old and ratchet.holds):
            return
        at = rule.path if path == NOWHERE and rule.path else f"{path}.{rule.path}" if rule.path else path
        self.found.append(_fault(rule, node, value, at, self.message(rule, variables)))

    def evaluated(self, program: Program, variables: tuple[Any, Any]) -> Any:
        result, cost = program.evaluate(*variables, limit=min(COST_LIMIT, self.budget))
        self.budget -= cost
        return result

    def give_up(self, path: str, node: RuleNode, detail: str) -> None:
        if self.budget < COST_LIMIT:
            detail = "validation failed due to running out of cost budget, no further validation rules will be run"
        self.found.append(invalid_value(path, node.shown_type, detail))
        raise BudgetExceeded

    def message(self, rule: Rule, variables: tuple[Any, Any]) -> str:
        """Return what the rule says; its expression only if that yields one usable line."""
        if rule.message is None:
            return rule.default_message
        try:
            told = str(self.evaluated(rule.message, variables)).strip()
        except (CelError, CostExceeded):
            return rule.default_message
        is_usable = told and "\n" not in told and len(told.encode()) <= MAX_MESSAGE_BYTES
        return told if is_usable else rule.default_message


def _variables(rule: Rule, node: RuleNode, value: Any, old: Any) -> tuple[Any, Any]:
    convert = node.convert
    new = value if convert is None else convert(value)
    if not rule.uses_old:
        return new, None
    before = old if convert is None or old is None else convert(old)
    if rule.is_optional:
        return new, NONE if old is None else Optional(before)
    return new, before


def _failure(error: str, rule: Rule) -> str:
    if error.startswith("no such overload"):
        detail = "call arguments did not match a supported operator, function or macro signature"
        return f"'{error}': {detail} for rule: {rule.shown}"
    return f"{error} evaluating rule: {rule.shown}"


def _fault(rule: Rule, node: RuleNode, value: Any, path: str, detail: str) -> Cause:
    is_large = node.schema.type in ("object", "array")
    match rule.rule.get("reason"):
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return Cause("FieldValueDuplicate", "Duplicate value", path) if is_large else duplicate(path, value)
    return invalid_omitted(path, detail) if is_large else invalid_value(path, value, detail)
