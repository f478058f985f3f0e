"""The parts of a parsed expression; the checker writes the type of each into it."""

from dataclasses import dataclass, field
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.types import DYN, Type


@dataclass(slots=True, eq=False)
class Node:
    at: int
    """Where it stands in the source, in characters; errors point here."""
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: Any
    literal_type: Type


@dataclass(slots=True, eq=False)
class Name(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    operand: Node
    field: str
    is_test: bool = False
    """Whether this is `has(operand.field)`."""
    is_optional: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    function: str
    target: Node | None
    args: list[Node]


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    items: list[Node]
    optional: set[int]


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    entries: list[tuple[Node, Node, bool]]


@dataclass(slots=True, eq=False)
class Loop(Node):
    """A macro that visits a list or map: all, exists, exists_one, map, filter and their forms with two variables."""

    macro: str
    range: Node
    names: list[str]
    condition: Node | None
    """What must hold for an item: the predicate, or the filter before a transformation."""
    result: Node | None
    """What an item becomes; None where the macro only asks."""


@dataclass(slots=True, eq=False)
class OptionalMap(Node):
    """`target.optMap(name, result)` or optFlatMap: look into an optional, if it holds something."""

    target: Node
    name: str
    result: Node
    is_flat: bool


def children(node: Node) -> list[Node]:
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


def count(node: Node) -> int:
    """Count a node and all below it, as work: constants are free."""
    return (not isinstance(node, Literal)) + sum(map(count, children(node)))
