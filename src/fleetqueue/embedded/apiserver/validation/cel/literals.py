"""What is known about constants before an expression ever runs, and types as values."""

from collections.abc import Callable, Iterator
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel import re2, string_format, times
from fleetqueue.embedded.apiserver.validation.cel.checker import TYPE_NAMES
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, SourceProblem
from fleetqueue.embedded.apiserver.validation.cel.nodes import (
    Call,
    ListLiteral,
    Literal,
    MapLiteral,
    SyntaxNode,
    children,
)
from fleetqueue.embedded.apiserver.validation.cel.types import Type, is_optional, opaque, same, unwrapped
from fleetqueue.embedded.apiserver.validation.cel.values import Struct, kind_of

_READERS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("matches", "string"): re2.compiled,
    ("timestamp", "string"): times.parsed_timestamp,
    ("timestamp", "int"): times.timestamp_of,
    ("duration", "string"): times.parsed_duration,
    ("duration", "int"): times.duration_of,
}
"""What reads a constant argument of a function."""


def problems(node: SyntaxNode, *, mixes_literals: bool) -> Iterator[SourceProblem]:
    """Find constants that can never be read, and lists and maps whose parts are of different types."""
    if isinstance(node, Call):
        yield from _of_argument(node)
    elif mixes_literals:
        pass
    elif isinstance(node, ListLiteral):
        yield from _of_mixture([(item, position in node.optional) for position, item in enumerate(node.items)])
    elif isinstance(node, MapLiteral):
        yield from _of_mixture([(key, False) for key, _, _ in node.entries])
        yield from _of_mixture([(value, optional) for _, value, optional in node.entries])
    for child in children(node):
        if not (isinstance(node, Call) and node.function == "format" and isinstance(child, ListLiteral)):
            yield from problems(child, mixes_literals=mixes_literals)


def _of_argument(node: Call) -> Iterator[SourceProblem]:
    argument = node.args[-1] if node.args else None
    if node.function == "format" and isinstance(node.target, Literal) and isinstance(argument, ListLiteral):
        yield from _of_format(node, node.target.value, argument.items)
    if not isinstance(argument, Literal):
        return
    read = _READERS.get((node.function, argument.literal_type.kind))
    if read is not None and not _can(read, argument.value):
        yield SourceProblem(argument.at, f"invalid {node.function} argument")


def _can(read: Callable[[Any], Any], value: Any) -> bool:
    try:
        read(value)
    except (CelError, re2.BadPattern):
        return False
    return True


def _of_mixture(parts: list[tuple[SyntaxNode, bool]]) -> Iterator[SourceProblem]:
    first: Type | None = None
    for part, optional in parts:
        part_type = unwrapped(part.type) if optional and is_optional(part.type) else part.type
        first = first or part_type
        if not same(first, part_type):
            yield SourceProblem(part.at, f"expected type '{first}' but found '{part_type}'")
            return


def _of_format(node: Call, template: str, args: list[SyntaxNode]) -> Iterator[SourceProblem]:
    """Check that a template and its arguments fit each other."""
    try:
        verbs = string_format.verbs(template)
    except CelError as error:
        yield SourceProblem(node.at, str(error))
        return
    for position, verb in enumerate(verbs):
        if position >= len(args):
            yield SourceProblem(node.at, f"index {position} out of range")
            return
        problem = string_format.problem_of(verb, args[position].type)
        if problem:
            yield SourceProblem(args[position].at, problem)
            return
    if len(args) > len(verbs):
        detail = f"(expected {len(verbs)}, got {len(args)})"
        yield SourceProblem(node.at, f"too many arguments supplied to string.format {detail}")


_BY_KIND = {described.kind: described for described in TYPE_NAMES.values()}


def runtime_type(kind: str) -> Type:
    return _BY_KIND.get(kind) or opaque(kind)


def accepts(wanted: Type, value: Any) -> bool:
    """Whether a value can be given for a parameter of this type."""
    if wanted.is_dyn or wanted.kind == "param":
        return True
    if wanted.kind == "opaque":
        return kind_of(value) == wanted.name
    if wanted.kind == "map":
        return isinstance(value, (dict, Struct))
    return kind_of(value) == wanted.kind
