"""Functions that expressions can call: their overloads, and the table that libraries fill."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fleetqueue.embedded.apiserver.validation.cel.types import Type

Cost = Callable[..., int]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Overload:
    params: tuple[Type, ...]
    """The types of the arguments, the receiver first."""
    result: Type
    run: Callable[..., Any]
    is_member: bool = False
    cost: Cost | None = None
    """How much work a call is beyond one step, from its arguments; None: no more."""


class Library:
    """A set of functions under construction."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Overload]] = {}

    def function(self, name: str, *params: Type, result: Type, cost: Cost | None = None) -> Callable[[F], F]:
        """Declare what is called as `name(...)`; several declarations of one name are its overloads."""
        return self._declare(name, params, result, False, cost)

    def method(self, name: str, *params: Type, result: Type, cost: Cost | None = None) -> Callable[[F], F]:
        """Declare what is called as `receiver.name(...)`."""
        return self._declare(name, params, result, True, cost)

    def _declare(
        self, name: str, params: tuple[Type, ...], result: Type, is_member: bool, cost: Cost | None
    ) -> Callable[[F], F]:
        def keep(run: F) -> F:
            self.functions.setdefault(name, []).append(Overload(params, result, run, is_member, cost))
            return run

        return keep


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a language of expressions offers."""

    functions: Mapping[str, tuple[Overload, ...]]
    mixes_literals: bool = False
    """Whether the parts of a list or map that is written out may be of different types."""


def merged(*libraries: Library) -> Mapping[str, tuple[Overload, ...]]:
    """Put libraries into one table."""
    table: dict[str, list[Overload]] = {}
    for library in libraries:
        for name, overloads in library.functions.items():
            table.setdefault(name, []).extend(overloads)
    return {name: tuple(overloads) for name, overloads in table.items()}


def by_length(*sizes: Any) -> int:
    """The work of reading strings or lists through once: a tenth of their length."""
    return sum(len(size) for size in sizes if hasattr(size, "__len__")) // 10
