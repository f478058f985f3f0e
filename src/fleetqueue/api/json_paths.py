r"""The part of Kubernetes' JSONPath in which columns, feedback of works and kubectl name fields of objects.

Fields (`.a.b`, `['a']`, `.a\.b`), positions (`[0]`, `[-1]`), slices (`[-1:]`, `[0:4:2]`), all items (`[*]`, `.*`), and
filters on a field of each item (`[?(@.type=="Ready")].status`). `$` and `@` at the beginning stand for the object
itself.

Simplified: no unions and no recursive descent (`..`).
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

Step = Callable[[Any], Iterator[Any]]

_FIELD: Final = re.compile(r"\.((?:\\.|[^.\[\]\\*\s])+)")
_NAME: Final = re.compile(r"\.?\[(?:'([^']*)'|\"([^\"]*)\")\]")
_POSITION: Final = re.compile(r"\.?\[(-?\d+)\]")
_SLICE: Final = re.compile(r"\.?\[(-?\d+)?:(-?\d+)?(?::([1-9]\d*)?)?\]")
_ALL: Final = re.compile(r"\.?(?:\[\*\]|\*)")
_FILTER: Final = re.compile(
    r"\.?\[\?\(\s*@(?P<path>[^=!<>\s)]*)\s*(?:(?P<sign>==|!=|<=|>=|<|>)\s*(?P<value>.+?))?\s*\)\]"
)
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


class BadPath(ValueError):
    """A path that cannot be read; the text is Kubernetes'."""


def find(path: str, value: Any) -> list[Any]:
    """Return all that a path leads to, in the order of lists and of names; raises BadPath."""
    values = [value]
    for step in _parsed(path):
        values = [inner for one in values for inner in step(one)]
    return values


def first(path: str, value: Any) -> Any:
    """Return the first thing that a path leads to; None where it leads to nothing. Raises BadPath."""
    values = find(path, value)
    return values[0] if values else None


@lru_cache(maxsize=4096)
def _parsed(path: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    rest = path[1:] if path[:1] in ("$", "@") else path
    while rest and rest != ".":
        step, rest = _next(rest)
        steps.append(step)
    return tuple(steps)


def _next(rest: str) -> tuple[Step, str]:
    for pattern, make in _STEPS:
        match = pattern.match(rest)
        if match is not None:
            return make(match), rest[match.end() :]
    if rest[0].isalpha():
        raise BadPath(f"unrecognized identifier {rest.partition('.')[0]}")
    raise BadPath(f"unrecognized character in action: U+{ord(rest[0]):04X} {rest[0]!r}")


def _by_name(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _by_position(position: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= position < len(value):
            yield value[position]

    return step


def _sliced(match: "re.Match[str]") -> Step:
    start, end, stride = (None if text is None else int(text) for text in match.groups())

    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            return
        first_one, last_one = (
            bound + len(value) if bound < 0 else bound for bound in (start or 0, len(value) if end is None else end)
        )
        if 0 <= first_one <= last_one <= len(value):  # Kubernetes refuses others, and does not cut them
            yield from value[first_one : last_one : stride or 1]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from (value[name] for name in sorted(value))


def _filtered(match: "re.Match[str]") -> Step:
    path, sign, wanted = match["path"], match["sign"], _literal(match["value"])

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            seen = find(path, item)
            if seen and (sign is None or _compares(_COMPARISONS[sign], seen[0], wanted)):
                yield item

    return step


def _compares(comparison: Callable[[Any, Any], bool], seen: Any, wanted: Any) -> bool:
    try:
        return comparison(seen, wanted)
    except TypeError:
        return False


def _literal(text: str | None) -> Any:
    if text is None:
        return None
    if text[0] in "'\"":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        raise BadPath(f"unrecognized identifier {text}") from None


_STEPS: Final[tuple[tuple["re.Pattern[str]", Callable[["re.Match[str]"], Step]], ...]] = (
    (_FILTER, _filtered),
    (_NAME, lambda found: _by_name(found[1] if found[1] is not None else found[2])),
    (_POSITION, lambda found: _by_position(int(found[1]))),
    (_SLICE, _sliced),
    (_ALL, lambda found: _all),
    (_FIELD, lambda found: _by_name(re.sub(r"\\(.)", r"\1", found[1]))),
)
