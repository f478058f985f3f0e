"""Try out the calls whose arguments are constants: what fails now would fail every time."""

from collections.abc import Mapping, Sequence

from fleetqueue.apiserver.validation.cel import re2
from fleetqueue.apiserver.validation.cel.errors import CelError, InstantiationError
from fleetqueue.apiserver.validation.cel.functions import Overload
from fleetqueue.apiserver.validation.cel.nodes import Call, Literal, Node, children

_CONVERSIONS = frozenset({"int", "uint", "double", "bool", "string", "bytes"})
_SEARCHES = frozenset({"find", "findAll"})


def try_out(node: Node, overloads: Mapping[int, Sequence[Overload]]) -> None:
    """Raise InstantiationError if a constant conversion or pattern fails."""
    if isinstance(node, Call) and node.args and isinstance(node.args[0], Literal):
        _try_call(node, node.args[0], overloads.get(id(node), ()))
    for child in children(node):
        try_out(child, overloads)


def _try_call(node: Call, argument: Literal, overloads: Sequence[Overload]) -> None:
    try:
        if node.function in _SEARCHES and isinstance(argument.value, str):
            re2.compiled(argument.value)
        elif node.function in _CONVERSIONS and node.target is None:
            overloads[0].run(argument.value)
    except (CelError, re2.BadPattern) as error:
        raise InstantiationError(str(error)) from None
