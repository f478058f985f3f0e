"""Try out the calls whose arguments are constants: what fails now would fail every time."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleetqueue.embedded.apiserver.validation.cel import literals, re2
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, InstantiationError
from fleetqueue.embedded.apiserver.validation.cel.functions import Overload
from fleetqueue.embedded.apiserver.validation.cel.nodes import Call, Literal, SyntaxNode, children
from fleetqueue.embedded.apiserver.validation.cel.types import UINT
from fleetqueue.embedded.apiserver.validation.cel.values import Uint, kind_of

_CONVERSIONS: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration", "dyn"})
_SEARCHES: Final = frozenset({"find", "findAll"})
_UNKNOWN: Final = object()


def try_out(node: SyntaxNode, overloads: Mapping[int, Sequence[Overload]]) -> None:
    """Raise InstantiationError if a constant conversion or pattern fails."""
    try:
        _value(node, overloads)
    except (CelError, re2.BadPattern) as error:
        raise InstantiationError(str(error)) from None


def _value(node: SyntaxNode, overloads: Mapping[int, Sequence[Overload]]) -> Any:
    """Return the value of a constant, or of a conversion of one; all that is below other nodes is tried out, too."""
    if isinstance(node, Literal):
        return Uint(node.value) if node.literal_type is UINT else node.value
    values = [_value(child, overloads) for child in children(node)]
    if not isinstance(node, Call) or not node.args:
        return _UNKNOWN
    if node.function in _SEARCHES and isinstance(node.args[0], Literal) and isinstance(node.args[0].value, str):
        re2.compiled(node.args[0].value)
    if node.function in _CONVERSIONS and node.target is None and values[0] is not _UNKNOWN:
        return _converted(node.function, values[0], overloads.get(id(node), ()))
    return _UNKNOWN


def _converted(name: str, value: Any, overloads: Sequence[Overload]) -> Any:
    for overload in overloads:
        if literals.accepts(overload.params[0], value):
            return overload.run(value)
    kind = kind_of(value)
    raise CelError(f"no such overload: {name}({'null_type' if kind == 'null' else kind})")
