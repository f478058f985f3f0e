"""The functions and operators of the language itself."""

import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any

from fleetqueue.embedded.apiserver.kinds.go_text import number
from fleetqueue.embedded.apiserver.validation.cel import members, numbers, re2, times
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library, by_length
from fleetqueue.embedded.apiserver.validation.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    B,
    Type,
    list_of,
    map_of,
    type_of,
)
from fleetqueue.embedded.apiserver.validation.cel.values import Duration, Timestamp, Uint, equal, ordered

library = Library()
mixed_comparisons = Library()
"""Comparisons of numbers of different types."""
_LIST, _MAP = list_of(A), map_of(A, B)
_ORDERED = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
_NUMBERS = (INT, UINT, DOUBLE)


def _operators() -> None:
    library.function("_?_:_", BOOL, A, A, result=A)(lambda condition, yes, no: yes if condition else no)
    library.function("_==_", A, A, result=BOOL)(equal)
    library.function("_!=_", A, A, result=BOOL)(lambda one, other: not equal(one, other))
    library.function("!_", BOOL, result=BOOL)(operator.not_)
    library.function("@in", A, _LIST, result=BOOL, cost=lambda value, items: len(items))(
        lambda value, items: any(equal(value, item) for item in items)
    )
    library.function("@in", A, _MAP, result=BOOL)(lambda key, entries: key in entries)
    library.function("_[_]", _LIST, INT, result=A)(members.at_position)
    library.function("_[_]", _MAP, A, result=B)(members.at_key)
    library.function("type", A, result=type_of(A))(lambda value: value)
    library.function("dyn", DYN, result=DYN)(lambda value: value)


def _comparisons() -> None:
    for name, compare in (("_<_", operator.lt), ("_<=_", operator.le), ("_>_", operator.gt), ("_>=_", operator.ge)):
        for one in _ORDERED:
            library.function(name, one, one, result=BOOL)(_compared(compare))
            for other in _NUMBERS if one in _NUMBERS else ():
                if other is not one:
                    mixed_comparisons.function(name, one, other, result=BOOL)(_compared(compare))


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda one, other: compare(*ordered(one, other))


def _arithmetic() -> None:
    for name, exact in (("_+_", operator.add), ("_-_", operator.sub), ("_*_", operator.mul)):
        library.function(name, INT, INT, result=INT)(_within(exact, numbers.checked_int))
        library.function(name, UINT, UINT, result=UINT)(_within(exact, numbers.checked_uint))
        library.function(name, DOUBLE, DOUBLE, result=DOUBLE)(exact)
    library.function("_/_", INT, INT, result=INT)(numbers.quotient)
    library.function("_/_", UINT, UINT, result=UINT)(numbers.uint_quotient)
    library.function("_/_", DOUBLE, DOUBLE, result=DOUBLE)(numbers.divided)
    library.function("_%_", INT, INT, result=INT)(numbers.remainder)
    library.function("_%_", UINT, UINT, result=UINT)(lambda one, other: Uint(numbers.remainder(one, other)))
    library.function("-_", INT, result=INT)(_within(operator.neg, numbers.checked_int))
    library.function("-_", DOUBLE, result=DOUBLE)(operator.neg)
    for kind in (STRING, BYTES, _LIST):
        library.function("_+_", kind, kind, result=kind, cost=by_length)(operator.add)


def _within(exact: Callable[..., int], checked: Callable[[int], int]) -> Callable[..., int]:
    return lambda *args: checked(exact(*args))


def _time_arithmetic() -> None:
    def later(one: Any, other: Any) -> Any:
        total = one.nanos + other.nanos
        if type(one) is type(other):
            return times.checked_duration(total)
        return times.checked_timestamp(total, one.offset if isinstance(one, Timestamp) else other.offset)

    library.function("_+_", DURATION, DURATION, result=DURATION)(later)
    library.function("_+_", TIMESTAMP, DURATION, result=TIMESTAMP)(later)
    library.function("_+_", DURATION, TIMESTAMP, result=TIMESTAMP)(later)
    between = lambda one, other: times.checked_duration(one.nanos - other.nanos)  # noqa: E731
    library.function("_-_", DURATION, DURATION, result=DURATION)(between)
    library.function("_-_", TIMESTAMP, TIMESTAMP, result=DURATION)(between)
    library.function("_-_", TIMESTAMP, DURATION, result=TIMESTAMP)(
        lambda one, other: times.checked_timestamp(one.nanos - other.nanos, one.offset)
    )


def _sizes_and_strings() -> None:
    for kind in (STRING, BYTES, _LIST, _MAP):
        library.function("size", kind, result=INT)(len)
        library.method("size", kind, result=INT)(len)
    library.method("contains", STRING, STRING, result=BOOL, cost=by_length)(lambda text, part: part in text)
    library.method("startsWith", STRING, STRING, result=BOOL)(str.startswith)
    library.method("endsWith", STRING, STRING, result=BOOL)(str.endswith)
    for declare in (library.function, library.method):
        declare(
            "matches", STRING, STRING, result=BOOL, cost=lambda text, pattern: len(text) * (len(pattern) // 4 + 1) // 10
        )(_matches)


def _matches(text: str, pattern: str) -> bool:
    try:
        return re2.compiled(pattern).matches(text)
    except re2.BadPattern as error:
        raise CelError(str(error)) from None


def _conversions() -> None:
    same = lambda value: value  # noqa: E731
    for name, kind in (("int", INT), ("uint", UINT), ("double", DOUBLE), ("string", STRING), ("bytes", BYTES),
                       ("bool", BOOL), ("timestamp", TIMESTAMP), ("duration", DURATION)):  # fmt: skip
        library.function(name, kind, result=kind)(same)
    convert("int", UINT, INT, lambda value: numbers.checked_int(int(value)))
    convert("int", DOUBLE, INT, numbers.int_of_double)
    convert("int", STRING, INT, _parsed_int)
    convert("int", TIMESTAMP, INT, lambda moment: moment.nanos // times.SECOND)
    convert("uint", INT, UINT, numbers.checked_uint)
    convert("uint", DOUBLE, UINT, numbers.uint_of_double)
    convert("uint", STRING, UINT, _parsed_uint)
    convert("double", INT, DOUBLE, float)
    convert("double", UINT, DOUBLE, float)
    convert("double", STRING, DOUBLE, _parsed_double)
    convert("string", BOOL, STRING, lambda value: "true" if value else "false")
    convert("string", INT, STRING, str)
    convert("string", UINT, STRING, lambda value: str(int(value)))
    convert("string", DOUBLE, STRING, number)
    convert("string", BYTES, STRING, _decoded)
    convert("string", TIMESTAMP, STRING, times.shown_timestamp)
    convert("string", DURATION, STRING, times.shown_duration)
    convert("bytes", STRING, BYTES, str.encode)
    convert("bool", STRING, BOOL, _parsed_bool)
    convert("timestamp", STRING, TIMESTAMP, _parsed_time("Timestamp", times.parsed_timestamp))
    convert("timestamp", INT, TIMESTAMP, times.timestamp_of)
    convert("duration", STRING, DURATION, _parsed_time("Duration", times.parsed_duration))
    convert("duration", INT, DURATION, times.duration_of)


def convert(name: str, given: Type, result: Type, run: Callable[[Any], Any]) -> None:
    library.function(name, given, result=result)(run)


def _refused(kind: str) -> CelError:
    return CelError(f"type conversion error from 'string' to '{kind}'")


def _parsed_int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()) or not numbers.MIN_INT <= int(text) <= numbers.MAX_INT:
        raise _refused("int")
    return int(text)


def _parsed_uint(text: str) -> Uint:
    if not (text.isascii() and text.isdigit()) or int(text) > numbers.MAX_UINT:
        raise _refused("uint")
    return Uint(text)


def _parsed_double(text: str) -> float:
    try:
        if text.strip() == text:
            return float(text)
    except ValueError:
        pass
    raise _refused("double")


def _parsed_time(kind: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            return read(text)
        except times.TimeOverflow:
            raise
        except CelError:
            raise _refused(f"google.protobuf.{kind}") from None

    return parsed


def _parsed_bool(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise _refused("bool")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


_CLOCK_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda clock: clock.year,
    "getMonth": lambda clock: clock.month - 1,
    "getDate": lambda clock: clock.day,
    "getDayOfMonth": lambda clock: clock.day - 1,
    "getDayOfWeek": lambda clock: clock.isoweekday() % 7,
    "getDayOfYear": lambda clock: clock.timetuple().tm_yday - 1,
    "getHours": lambda clock: clock.hour,
    "getMinutes": lambda clock: clock.minute,
    "getSeconds": lambda clock: clock.second,
}


def _parts_of_time() -> None:
    for name, part in _CLOCK_PARTS.items():
        run = _part(part)
        library.method(name, TIMESTAMP, result=INT)(run)
        library.method(name, TIMESTAMP, STRING, result=INT)(run)
    library.method("getMilliseconds", TIMESTAMP, result=INT)(times.milliseconds)
    library.method("getMilliseconds", TIMESTAMP, STRING, result=INT)(times.milliseconds)
    for name, unit in (
        ("getHours", 3600 * 10**9),
        ("getMinutes", 60 * 10**9),
        ("getSeconds", 10**9),
        ("getMilliseconds", 10**6),
    ):
        library.method(name, DURATION, result=INT)(_whole(unit))


def _part(part: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda moment, zone="UTC": part(times.in_zone(moment, zone))


def _whole(unit: int) -> Callable[[Duration], int]:
    return lambda length: numbers.quotient(length.nanos, unit)


for declare_all in (
    _operators, _comparisons, _arithmetic, _time_arithmetic, _sizes_and_strings, _conversions, _parts_of_time,
):  # fmt: skip
    declare_all()
