"""Values as Go prints them, for messages that must read like the real server's."""

from typing import Any

import orjson

_KINDS = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}
_HTML = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def text(value: Any) -> str:
    """Return what `%v` prints."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(text(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else number(value)


def source(value: Any) -> str:
    """Return what `%#v` prints."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(name)}:{source(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(source(item) for item in value) + "}"
    if value is None:
        return "interface {}(nil)"
    return quoted(value) if isinstance(value, str) else number(value)


def number(value: bool | int | float) -> str:
    """Return a number or a truth value as both verbs print it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def quoted(value: str) -> str:
    """Return what `%q` prints."""
    return orjson.dumps(value).decode()


def kind(value: Any) -> str:
    """Return what `%T` prints."""
    return "<nil>" if value is None else _KINDS.get(type(value), "float64")


def json_text(value: Any) -> str:
    """Return JSON as Go writes it: keys in order, and nothing that HTML could mistake for a tag."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_HTML)
