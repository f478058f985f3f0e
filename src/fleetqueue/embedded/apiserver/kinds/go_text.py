"""Values as Go prints them, for messages that must read like the real server's."""

import math
import re
from typing import Any, Final

import orjson

_KINDS: Final = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}
_HTML: Final = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"})
ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
"""Text that needs no escape, which nearly all text is."""


def text(value: Any) -> str:
    """Return what `%v` prints."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(text(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else number(value)


def as_string(value: Any) -> str:
    """Return what `%s` prints, which is meant for strings."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{as_string(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(as_string, value)) + "]"
    if isinstance(value, str):
        return value
    return "%!s(<nil>)" if value is None else f"%!s({kind(value)}={number(value)})"


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
    return _double(value) if isinstance(value, float) else str(value)


def _double(value: float) -> str:
    """Write the shortest digits that give a double back, with an exponent where it is large or small."""
    if not math.isfinite(value):
        return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = _decimal(value)
    if -4 <= exponent < 6:
        return sign + _without_exponent(digits, exponent)
    return f"{sign}{_mantissa(digits)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _json_double(value: float) -> str:
    sign, digits, exponent = _decimal(value)
    if -6 <= exponent < 21:
        return sign + _without_exponent(digits, exponent)
    return f"{sign}{_mantissa(digits)}e{exponent:+d}"


def _decimal(value: float) -> tuple[str, str, int]:
    """Return the sign, the digits without zeros around them, and the power of ten of the first."""
    mantissa, _, power = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    sign = "-" if math.copysign(1, value) < 0 else ""
    return sign, digits.strip("0") or "0", 0 if not value else len(whole) - 1 + int(power or 0) - leading


def _mantissa(digits: str) -> str:
    return f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits


def _without_exponent(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def quoted(value: str) -> str:
    """Return what `%q` prints."""
    if _PLAIN.fullmatch(value):
        return f'"{value}"'
    return '"' + "".join(ESCAPES.get(char) or _visible(char) for char in value) + '"'


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def kind(value: Any) -> str:
    """Return what `%T` prints."""
    return "<nil>" if value is None else _KINDS.get(type(value), "float64")


def json_text(value: Any) -> str:
    """Return JSON as Go writes it: keys in order, and nothing that HTML could mistake for a tag."""
    return orjson.dumps(_for_json(value)).decode().translate(_HTML)


def _for_json(value: Any) -> Any:
    if isinstance(value, dict):
        names = value if isinstance(value, GoStruct) else sorted(value)
        return {name: _for_json(value[name]) for name in names}
    if isinstance(value, list):
        return [_for_json(item) for item in value]
    return orjson.Fragment(_json_double(value)) if isinstance(value, float) else value


class GoStruct(dict[str, Any]):
    """The fields of a Go struct, whose JSON keeps their order; the keys of a map are sorted."""
