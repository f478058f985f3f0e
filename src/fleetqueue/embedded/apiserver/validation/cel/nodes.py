"""The parts of a parsed expression; the checker writes the type of each into it."""

from dataclasses import dataclass, field
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.types import DYN, Type


@dataclass(slots=True, eq=False)
class SyntaxNode:
    at: int
    """Where it stands in the source, in characters; errors point here."""
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(SyntaxNode):
    value: Any
    literal_type: Type


@dataclass(slots=True, eq=False)
class Name(SyntaxNode):
    name: str


@dataclass(slots=True, eq=False)
class Select(SyntaxNode):
    operand: SyntaxNode
    field: str
    is_test: bool = False
    """Whether this is `has(operand.field)`."""
    is_optional: bool = False


@dataclass(slots=True, eq=False)
class Call(SyntaxNode):
    function: str
    target: SyntaxNode | None
    args: list[SyntaxNode]


@dataclass(slots=True, eq=False)
class ListLiteral(SyntaxNode):
    items: list[SyntaxNode]
    optional: set[int]


@dataclass(slots=True, eq=False)
class MapLiteral(SyntaxNode):
    entries: list[tuple[SyntaxNode, SyntaxNode, bool]]


@dataclass(slots=True, eq=False)
class Loop(SyntaxNode):
    """A macro that visits a list or map: all, exists, exists_one, map, filter and their forms with two variables."""

    macro: str
    range: SyntaxNode
    names: list[str]
    condition: SyntaxNode | None
    """What must hold for an item: the predicate, or the filter before a transformation."""
    result: SyntaxNode | None
    """What an item becomes; None where the macro only asks."""


@dataclass(slots=True, eq=False)
class OptionalMap(SyntaxNode):
    """`target.optMap(name, result)` or optFlatMap: look into an optional, if it holds something."""

    target: SyntaxNode
    name: str
    result: SyntaxNode
    is_flat: bool


def children(node: SyntaxNode) -> list[SyntaxNode]:
    """Return the nodes right below one."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return [*([node.target] if node.target else []), *node.args]
    if isinstance(node, ListLiteral):
        return node.items
    if isinstance(node, MapLiteral):
        return [part for key, value, _ in node.entries for part in (key, value)]
    if isinstance(node, Loop):
        return [part for part in (node.range, node.condition, node.result) if part is not None]
    return [node.target, node.result] if isinstance(node, OptionalMap) else []


def count(node: SyntaxNode) -> int:
    """Count a node and all below it, as work: constants are free."""
    return (not isinstance(node, Literal)) + sum(map(count, children(node)))
