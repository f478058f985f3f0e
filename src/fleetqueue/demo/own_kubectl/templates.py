"""Templates of `-o jsonpath=…`: text, paths in braces, and ranges over lists."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from fleetqueue.api import json_paths
from fleetqueue.demo.own_kubectl.problems import KubectlProblem

_PIECE: Final = re.compile(r"\{(?P<code>(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^{}'\"])*)\}|(?P<text>[^{]+)")
_LITERAL: Final = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'")
_ESCAPES: Final = {"n": "\n", "t": "\t"}

Pieces = Sequence[tuple[str, str]]
"""Each piece of a template: `text`, `path`, `range` or `end`, and what stands there."""


def render(template: str, value: Any) -> str:
    """Write a value by a template; raises KubectlProblem."""
    written, rest = _written(list(_pieces(template)), value)
    if rest:
        raise KubectlProblem("error: error executing jsonpath: not in range, nothing to end")
    return written


def _written(pieces: Pieces, value: Any) -> tuple[str, Pieces]:
    """Write pieces until the range that they stand in ends; return what comes after that end."""
    written: list[str] = []
    while pieces:
        (kind, content), pieces = pieces[0], pieces[1:]
        if kind == "end":
            return "".join(written), [("end", ""), *pieces]
        if kind == "range":
            text, pieces = _ranged(content, pieces, value)
            written.append(text)
        else:
            written.append(content if kind == "text" else " ".join(_plain(one) for one in _found(content, value)))
    return "".join(written), []


def _ranged(path: str, pieces: Pieces, value: Any) -> tuple[str, Pieces]:
    texts = [_written(pieces, item) for item in _found(path, value)]
    _, rest = texts[-1] if texts else _written(pieces, None)
    if not rest:
        raise KubectlProblem("error: error parsing jsonpath: unterminated range")
    return "".join(text for text, _ in texts), rest[1:]


def _found(path: str, value: Any) -> list[Any]:
    try:
        return json_paths.find(path, value)
    except json_paths.BadPath as error:
        raise KubectlProblem(f"error: error parsing jsonpath {{{path}}}, {error}") from None


def _pieces(template: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(template):
        match = _PIECE.match(template, position)
        if match is None:
            raise KubectlProblem(f"error: error parsing jsonpath {template}, unclosed action")
        position = match.end()
        yield ("text", match["text"]) if match["text"] is not None else _code(match["code"].strip())


def _code(code: str) -> tuple[str, str]:
    if code == "end":
        return "end", ""
    if code.startswith("range "):
        return "range", code.removeprefix("range ").strip()
    if (literal := _LITERAL.fullmatch(code)) is not None:
        quoted = literal[1] if literal[1] is not None else literal[2]
        return "text", re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[1]), quoted)
    return "path", code


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:g}"
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
