"""The string functions that Kubernetes offers to expressions, and its searches by pattern."""

import string

from fleetqueue.embedded.apiserver.validation.cel import re2
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library, by_length
from fleetqueue.embedded.apiserver.validation.cel.string_format import formatted, quoted
from fleetqueue.embedded.apiserver.validation.cel.types import DYN, INT, STRING, list_of

library = Library()
_STRINGS = list_of(STRING)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)

library.method("lowerAscii", STRING, result=STRING, cost=by_length)(lambda text: text.translate(_LOWER))
library.method("upperAscii", STRING, result=STRING, cost=by_length)(lambda text: text.translate(_UPPER))
library.method("trim", STRING, result=STRING, cost=by_length)(str.strip)
library.method("format", STRING, list_of(DYN), result=STRING, cost=by_length)(formatted)
library.function("strings.quote", STRING, result=STRING, cost=by_length)(quoted)


@library.method("charAt", STRING, INT, result=STRING)
def char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise CelError(f"index out of range: {position}")
    return text[position : position + 1]


@library.method("indexOf", STRING, STRING, result=INT, cost=by_length)
@library.method("indexOf", STRING, STRING, INT, result=INT, cost=by_length)
def index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


@library.method("lastIndexOf", STRING, STRING, result=INT, cost=by_length)
@library.method("lastIndexOf", STRING, STRING, INT, result=INT, cost=by_length)
def last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return len(text) if not part else text.rfind(part)
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


@library.method("join", _STRINGS, result=STRING, cost=by_length)
@library.method("join", _STRINGS, STRING, result=STRING, cost=by_length)
def join(parts: list[str], separator: str = "") -> str:
    return separator.join(parts)


@library.method("replace", STRING, STRING, STRING, result=STRING, cost=by_length)
@library.method("replace", STRING, STRING, STRING, INT, result=STRING, cost=lambda *args: by_length(*args[:3]))
def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


@library.method("split", STRING, STRING, result=_STRINGS, cost=by_length)
@library.method("split", STRING, STRING, INT, result=_STRINGS, cost=lambda text, *rest: by_length(text))
def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        chars = list(text)
        return chars if limit < 0 or len(chars) <= limit else [*chars[: limit - 1], "".join(chars[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1)


@library.method("substring", STRING, INT, result=STRING, cost=lambda text, *rest: by_length(text))
@library.method("substring", STRING, INT, INT, result=STRING, cost=lambda text, *rest: by_length(text))
def substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, last):
        if not 0 <= position <= len(text):
            raise CelError(f"index out of range: {position}")
    return text[start:last]


@library.method("find", STRING, STRING, result=STRING, cost=by_length)
def find(text: str, pattern: str) -> str:
    match = _searcher(text, pattern).python.search(text)
    return match.group() if match else ""


@library.method("findAll", STRING, STRING, result=_STRINGS, cost=by_length)
@library.method("findAll", STRING, STRING, INT, result=_STRINGS, cost=lambda text, *rest: by_length(text))
def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches: list[str] = []
    for match in _searcher(text, pattern).python.finditer(text):
        if len(matches) == limit:
            break
        matches.append(match.group())
    return matches


def _searcher(text: str, pattern: str) -> re2.Pattern:
    """Return a pattern that Python may search with; where it could take for ever, say so."""
    try:
        compiled = re2.compiled(pattern)
    except re2.BadPattern as error:
        raise CelError(f"Illegal regex: {error}") from None
    if not compiled.is_safe(text):
        raise CelError("the string is too long to be searched with this pattern; use matches()")
    return compiled
