"""`"%s has %d".format([...])`: put values into a text."""

import math
from collections.abc import Callable
from typing import Any

from fleetqueue.embedded.apiserver.kinds.go_text import ESCAPES, number
from fleetqueue.embedded.apiserver.validation.cel import times
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.types import Type
from fleetqueue.embedded.apiserver.validation.cel.values import kind_of


def quoted(text: str) -> str:
    return '"' + "".join(ESCAPES.get(char, char) for char in text) + '"'


def formatted(template: str, args: list[Any]) -> str:
    """Fill the clauses of a template with arguments, one after the other."""
    made: list[str] = []
    at = used = 0
    while True:
        percent = template.find("%", at)
        if percent < 0:
            return "".join(made) + template[at:]
        made.append(template[at:percent])
        precision, verb, at = _clause(template, percent + 1)
        if verb == "%":
            made.append("%")
            continue
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        made.append(_written(verb, args[used], precision))
        used += 1


def verbs(template: str) -> list[str]:
    """Return the verbs of a template that take an argument; raises CelError if there is no such verb."""
    verb_names: list[str] = []
    at = template.find("%")
    while at >= 0:
        _, verb, at = _clause(template, at + 1)
        if verb != "%":
            if verb not in _VERBS:
                raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
            verb_names.append(verb)
        at = template.find("%", at)
    return verb_names


def problem_of(verb: str, given: Type) -> str:
    """Say why a verb cannot show values of a type; empty if it can."""
    name, kinds, wanted = _ALLOWED[verb]
    if given.is_dyn or given.kind in kinds:
        return ""
    return _refusal(name, _TYPE_NAMES.get(given.kind, given.name or given.kind), wanted)


def _refusal(verb: str, shown: str, wanted: str) -> str:
    is_base = verb in ("hex", "binary")
    what = f"only {wanted} can be formatted as {verb}" if is_base else f"{verb} clause can only be used on {wanted}"
    return f"error during formatting: {what}, was given {shown}"


def _clause(template: str, at: int) -> tuple[int | None, str, int]:
    precision: int | None = None
    if template[at : at + 1] == ".":
        end = at + 1
        while template[end : end + 1].isdigit():
            end += 1
        precision, at = int(template[at + 1 : end] or 0), end
    if at >= len(template):
        raise CelError("unexpected end of string")
    return precision, template[at], at + 1


def _written(verb: str, value: Any, precision: int | None) -> str:
    write = _VERBS.get(verb)
    if write is None:
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    return write(value, 6 if precision is None else precision)


def _refused(verb: str, value: Any, wanted: str) -> CelError:
    return CelError(_refusal(verb, _TYPE_NAMES.get(kind_of(value), kind_of(value)), wanted))


_ANYTHING = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
_SHOWABLE = frozenset("list map int uint double bool string timestamp bytes duration type null".split())
_ALLOWED: dict[str, tuple[str, frozenset[str], str]] = {
    "s": ("string", _SHOWABLE, _ANYTHING),
    "d": ("decimal", frozenset({"int", "uint"}), "integers"),
    "f": ("fixed-point", frozenset({"double", "string"}), "doubles"),
    "e": ("scientific", frozenset({"double", "string"}), "doubles"),
    "b": ("binary", frozenset({"int", "uint", "bool"}), "integers and bools"),
    "o": ("octal", frozenset({"int", "uint"}), "integers"),
    "x": ("hex", frozenset({"int", "uint", "string", "bytes"}), "integers, byte buffers, and strings"),
    "X": ("hex", frozenset({"int", "uint", "string", "bytes"}), "integers, byte buffers, and strings"),
}  # fmt: skip
_TYPE_NAMES = {"null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}


def _string(value: Any, precision: int = 6) -> str:
    match kind_of(value):
        case "string":
            return str(value)
        case "bool":
            return "true" if value else "false"
        case "null":
            return "null"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return number(value)
        case "bytes":
            return bytes(value).decode(errors="replace")
        case "timestamp":
            return times.shown_timestamp(value)
        case "duration":
            return times.shown_duration(value)
        case "type":
            return str(value)
        case "list":
            return "[" + ", ".join(map(_member, value)) + "]"
        case "map":
            entries = sorted((_member(key), _member(value[key])) for key in value)
            return "{" + ", ".join(f"{key}:{item}" for key, item in entries) + "}"
    raise _refused("string", value, _ANYTHING)


def _member(value: Any) -> str:
    """Write a part of a list or map so that it could stand in an expression."""
    match kind_of(value):
        case "string":
            return quoted(value)
        case "bytes":
            return f"b{quoted(bytes(value).decode(errors='replace'))}"
        case "double":
            return f"{value:.6f}"
        case "timestamp":
            return f'timestamp("{times.shown_timestamp(value)}")'
        case "duration":
            return f'duration("{times.shown_duration(value)}")'
    return _string(value)


def _decimal(value: Any, precision: int) -> str:
    if kind_of(value) not in ("int", "uint"):
        raise _refused("decimal", value, "integers")
    return _string(value)


def _number(verb: str, value: Any) -> float:
    if kind_of(value) == "double":
        return float(value)
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _refused(verb, value, "doubles")


def _fixed(value: Any, precision: int) -> str:
    number = _number("fixed-point", value)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _infinite(number)


_RAISED = str.maketrans("-+0123456789", "\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def _scientific(value: Any, precision: int) -> str:
    """Write a power of ten the way the real server's locale does; it always shows six digits."""
    number = _number("scientific", value)
    if not math.isfinite(number):
        return _infinite(number)
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    return f"{mantissa}\u00d710{exponent.removeprefix('+').translate(_RAISED)}"


def _infinite(number: float) -> str:
    return "NaN" if number != number else "\u221e" if number > 0 else "-\u221e"


def _binary(value: Any, precision: int) -> str:
    if kind_of(value) not in ("int", "uint", "bool"):
        raise _refused("binary", value, "integers and bools")
    return f"{int(value):b}"


def _octal(value: Any, precision: int) -> str:
    if kind_of(value) not in ("int", "uint"):
        raise _refused("octal", value, "integers")
    return f"{int(value):o}"


def _hexadecimal(is_upper: bool) -> Callable[[Any, int], str]:
    def write(value: Any, precision: int) -> str:
        if kind_of(value) in ("int", "uint"):
            text = f"{int(value):x}"
        elif kind_of(value) in ("string", "bytes"):
            text = (value.encode() if isinstance(value, str) else value).hex()
        else:
            raise _refused("hex", value, "integers, byte buffers, and strings")
        return text.upper() if is_upper else text

    return write


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _string, "d": _decimal, "f": _fixed, "e": _scientific, "b": _binary, "o": _octal,
    "x": _hexadecimal(False), "X": _hexadecimal(True),
}  # fmt: skip
