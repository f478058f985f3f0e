"""`x-kubernetes-validations`: compile the rules of a schema once, and ask them about every object.

A rule that uses oldSelf is evaluated only where the part existed before the update. A rule that fails on a part that
the update did not touch does not block it.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.validation.cel import CelError, CompiledExpression, CompileError, compile_expression
from fleetqueue.embedded.apiserver.validation.cel.errors import InstantiationError
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, STRING, Type, optional_of
from fleetqueue.embedded.apiserver.validation.known_parts import KnownParts
from fleetqueue.embedded.apiserver.validation.rule_types import converter, type_of

_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[.\[\]]|[^.\[\]']+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadRule(ValueError):
    """A rule that cannot be used; the text is what the real server tells about it."""


class ValidationRule:
    """One compiled rule."""

    def __init__(self, rule: Mapping[str, Any], schema: Schema, described: Type) -> None:
        self.rule = rule
        self.is_optional = bool(rule.get("optionalOldSelf"))
        old = optional_of(described) if self.is_optional else described
        self.variables = {"self": described, "oldSelf": old}
        self.program = compiled_rule(rule["rule"], self.variables)
        self.uses_old = "oldSelf" in self.program.names
        self.message = (
            compiled_message(rule["messageExpression"], self.variables) if rule.get("messageExpression") else None
        )
        self.path = normalized_path(rule["fieldPath"], schema) if rule.get("fieldPath") else ""

    @property
    def shown(self) -> str:
        return str(self.rule.get("message") or self.rule["rule"]).strip()

    @property
    def default_message(self) -> str:
        return self.shown if self.rule.get("message") else f"failed rule: {self.shown}"


def compiled_rule(source: str, variables: Mapping[str, Type]) -> CompiledExpression:
    """Compile a rule; raises BadRule."""
    program = _compiled(source, variables, "")
    if program.result is not BOOL:
        raise BadRule("cel expression must evaluate to a bool")
    return program


def compiled_message(source: str, variables: Mapping[str, Type]) -> CompiledExpression:
    program = _compiled(source, variables, "messageExpression ")
    if program.result is not STRING:
        raise BadRule("messageExpression must evaluate to a string")
    return program


def _compiled(source: str, variables: Mapping[str, Type], what: str) -> CompiledExpression:
    try:
        return compile_expression(source, variables)
    except InstantiationError as error:
        raise BadRule(f"{what}{'' if what else 'program '}instantiation failed: {error}") from None
    except CompileError as error:
        raise BadRule(f"{what}compilation failed: {error}") from None


class RuleNode:
    """The rules of one node of a schema, and the nodes below it that have some."""

    def __init__(self, schema: Schema, described: Type) -> None:
        self.schema = schema
        self.convert: Callable[[Any], Any] | None = _strict(schema) or converter(schema)
        self.rules = [
            ValidationRule(rule, schema, described) for rule in schema.rules.get("x-kubernetes-validations") or ()
        ]
        self.fields = {name: node for name, child in schema.properties.items() if (node := _below(child))}
        self.items = _below(schema.items)
        self.values = _below(schema.values)
        below = [*self.fields.values(), *(node for node in (self.items, self.values) if node is not None)]
        self.minds_old: bool = any(rule.uses_old for rule in self.rules) or any(node.minds_old for node in below)
        """Whether a rule here or below uses oldSelf."""
        self.known = KnownParts()
        """Values that break no rule, unless one that uses oldSelf."""
        self.settled = KnownParts()
        """Values that, left as they were, break no rule at all."""

    @property
    def shown_type(self) -> str:
        return self.schema.type


def _strict(schema: Schema) -> Callable[[Any], Any] | None:
    """Return what lets only integers through where a rule wants one; a whole number that came as 1.0 is none."""
    if schema.is_int_or_string:
        detail = "invalid data, expected XIntOrString value to be either a string or integer"
    elif schema.type == "integer":
        detail = "invalid data, expected int, got float64"
    else:
        return None

    def checked(value: Any) -> Any:
        if type(value) is float:
            raise CelError(detail)
        return value

    return checked


def _below(schema: Schema | None) -> "RuleNode | None":
    if schema is None or not has_rules(schema):
        return None
    described = type_of(schema)
    return None if described is None else RuleNode(schema, described)


@lru_cache(maxsize=100_000)
def has_rules(schema: Schema) -> bool:
    """Whether there are rules here or below."""
    below = [*schema.properties.values(), *(child for child in (schema.values, schema.items) if child is not None)]
    return bool(schema.rules.get("x-kubernetes-validations")) or any(map(has_rules, below))


def compiled_rules(schema: Schema) -> RuleNode | None:
    """Compile all rules of a custom kind; None if it has none. Raises BadRule."""
    described = type_of(schema, is_object=True)
    return RuleNode(schema, described) if described is not None and has_rules(schema) else None


class BadFieldPath(ValueError):
    pass


def normalized_path(path: str, schema: Schema) -> str:
    """Return a path as faults show it; raises BadFieldPath where it leads to nothing that the schema knows."""
    tokens = _TOKEN.findall(path)
    if "".join(tokens) != path:
        raise BadFieldPath("unexpected end of JSON path")
    shown, at = "", 0
    while at < len(tokens):
        name, at = _name(tokens, at)
        shown, schema = _step(shown, schema, name)
    return shown


def _name(tokens: list[str], at: int) -> tuple[str, int]:
    if tokens[at] == "." and at + 1 < len(tokens):
        return tokens[at + 1], at + 2
    if tokens[at] == "[" and at + 2 < len(tokens) and tokens[at + 1].startswith("'") and tokens[at + 2] == "]":
        return _unescaped(tokens[at + 1][1:-1]), at + 3
    raise BadFieldPath(f"expected [ or . but got: {tokens[at]}")


def _step(shown: str, schema: Schema, name: str) -> tuple[str, Schema]:
    if schema.properties:
        child = schema.properties.get(name)
        if child is not None:
            return (f"{shown}.{name}" if shown else name), child
    elif schema.values is not None:
        return f"{shown}[{name}]", schema.values
    raise BadFieldPath("does not refer to a valid field")


def _unescaped(text: str) -> str:
    def one(match: "re.Match[str]") -> str:
        if match[1] not in _ESCAPES:
            raise BadFieldPath(f"invalid escape char {match.group()}")
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", one, text)
