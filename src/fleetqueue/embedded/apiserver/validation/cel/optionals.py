"""Functions on values that may be absent."""

from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, INT, A, B, list_of, map_of, optional_of
from fleetqueue.embedded.apiserver.validation.cel.values import NONE, Optional, Span

library = Library()
_OPTIONAL = optional_of(A)
_LIST, _MAP = list_of(A), map_of(A, B)

library.function("optional.of", A, result=_OPTIONAL)(Optional)
library.function("optional.none", result=_OPTIONAL)(lambda: NONE)
library.method("hasValue", _OPTIONAL, result=BOOL)(lambda optional: optional.is_present)
library.method("value", _OPTIONAL, result=A)(lambda optional: optional.value)
library.method("or", _OPTIONAL, _OPTIONAL, result=_OPTIONAL)(lambda one, other: one if one.is_present else other)
library.method("orValue", _OPTIONAL, A, result=A)(lambda one, other: one.content if one.is_present else other)
library.method("first", _LIST, result=_OPTIONAL)(lambda items: Optional(items[0]) if items else NONE)
library.method("last", _LIST, result=_OPTIONAL)(lambda items: Optional(items[-1]) if items else NONE)


@library.function("optional.ofNonZeroValue", A, result=_OPTIONAL)
def of_non_zero(value: Any) -> Optional:
    is_zero = value is None or value.nanos == 0 if isinstance(value, Span) else not value
    return NONE if is_zero else Optional(value)


@library.function("optional.unwrap", list_of(_OPTIONAL), result=_LIST)
@library.method("unwrapOpt", list_of(_OPTIONAL), result=_LIST)
def unwrapped(optionals: list[Optional]) -> list[Any]:
    return [optional.content for optional in optionals if optional.is_present]


def at(holder: Any, index: Any) -> Optional:
    """`holder[?index]`: the item, if there is one."""
    if isinstance(holder, Optional):
        if not holder.is_present:
            return NONE
        holder = holder.content
    if isinstance(holder, list):
        if not isinstance(index, int):
            raise CelError("no such overload")
        return Optional(holder[index]) if 0 <= index < len(holder) else NONE
    return Optional(holder[index]) if index in holder else NONE


for _wrap in (lambda kind: kind, optional_of):
    library.function("_[?_]", _wrap(_LIST), INT, result=_OPTIONAL)(at)
    library.function("_[?_]", _wrap(_MAP), A, result=optional_of(B))(at)
library.function("_[_]", optional_of(_LIST), INT, result=_OPTIONAL)(at)
library.function("_[_]", optional_of(_MAP), A, result=optional_of(B))(at)
