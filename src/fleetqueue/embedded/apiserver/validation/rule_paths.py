"""The field that a rule blames: `.spec.name` or `['key']`, checked against the schema."""

import re

from fleetqueue.embedded.apiserver.kinds.schema import Schema

_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[.\[\]]|[^.\[\]']+")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class BadFieldPath(ValueError):
    pass


def normalized(path: str, schema: Schema) -> str:
    """Return a path as faults show it; raises BadPath where it leads to nothing that the schema knows."""
    tokens = _TOKEN.findall(path)
    if "".join(tokens) != path:
        raise BadFieldPath("unexpected end of JSON path")
    shown, at = "", 0
    while at < len(tokens):
        name, at = _name(tokens, at)
        shown, schema = _step(shown, schema, name)
    return shown


def _name(tokens: list[str], at: int) -> tuple[str, int]:
    if tokens[at] == "." and at + 1 < len(tokens):
        return tokens[at + 1], at + 2
    if tokens[at] == "[" and at + 2 < len(tokens) and tokens[at + 1].startswith("'") and tokens[at + 2] == "]":
        return _unescaped(tokens[at + 1][1:-1]), at + 3
    raise BadFieldPath(f"expected [ or . but got: {tokens[at]}")


def _step(shown: str, schema: Schema, name: str) -> tuple[str, Schema]:
    if schema.properties:
        child = schema.properties.get(name)
        if child is not None:
            return (f"{shown}.{name}" if shown else name), child
    elif schema.values is not None:
        return f"{shown}[{name}]", schema.values
    raise BadFieldPath("does not refer to a valid field")


def _unescaped(text: str) -> str:
    def one(match: "re.Match[str]") -> str:
        if match[1] not in _ESCAPES:
            raise BadFieldPath(f"invalid escape char {match.group()}")
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", one, text)
