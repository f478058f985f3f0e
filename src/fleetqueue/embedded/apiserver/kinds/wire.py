"""The wire format of protobuf: tags, lengths and numbers, read as Go's generated code does.

A message is read into a dict. What is malformed is refused with the words that a real server has for it; a field that
nobody knows is skipped, since a newer client may send it.
"""

from collections.abc import Callable
from typing import Any, Final

VARINT, FIXED64, BYTES, START_GROUP, END_GROUP, FIXED32 = range(6)

DEEPEST: Final = 200
"""Messages within messages; more would exhaust the stack of Python, and no known kind comes near."""

_UINT64: Final = 2**64 - 1
_INT64: Final = 2**63

Out = dict[str, Any]
PutNumber = Callable[[Out, int], None]
PutBytes = Callable[[Out, bytes, int, int, int], None]
"""Reads data[start:stop] at some depth and puts the value into a dict."""


class Malformed(Exception):
    """The bytes are no message of this type."""


class Message:
    """How one type of message becomes a dict."""

    __slots__ = ("contents", "name", "names", "numbers", "zeros")

    def __init__(self, name: str) -> None:
        self.name = name
        self.contents: dict[int, PutBytes] = {}
        """What has a length, by tag, that is number and wire type together."""
        self.numbers: dict[int, PutNumber] = {}
        self.names: dict[int, str] = {}
        """By number, for error messages."""
        self.zeros: list[tuple[str, Callable[[], Any]]] = []
        """The value of a field that was not sent."""

    def add_number(self, number: int, name: str, put: PutNumber) -> None:
        self.numbers[number << 3 | VARINT] = put
        self.names[number] = name

    def add(self, number: int, name: str, put: PutBytes, wire: int = BYTES) -> None:
        self.contents[number << 3 | wire] = put
        self.names[number] = name

    def read(self, data: bytes, at: int, end: int, out: Out, depth: int) -> Out:
        """Read data[at:end] into `out`; an IndexError means that the data ends too early."""
        if depth > DEEPEST:
            raise Malformed("exceeded max depth")
        contents, numbers = self.contents, self.numbers
        while at < end:
            tag = data[at]
            at += 1
            if tag > 0x7F:
                tag, at = varint(data, at - 1)
            put = contents.get(tag)
            if put is not None:
                size = 8
                if tag & 7 == BYTES:
                    size = data[at]
                    at += 1
                    if size > 0x7F:
                        size, at = varint(data, at - 1)
                stop = at + size
                if stop > end:
                    raise too_long(size)
                put(out, data, at, stop, depth)
                at = stop
            elif tag in numbers:
                number = data[at]
                at += 1
                if number > 0x7F:
                    number, at = varint(data, at - 1)
                numbers[tag](out, number)
            else:
                at += self.skipped(memoryview(data)[at:end], tag)
        if at > end:
            raise IndexError
        for name, zero in self.zeros:
            if name not in out:
                out[name] = zero()
        return out

    def skipped(self, rest: memoryview, tag: int) -> int:
        """Return how long a field is that nobody knows, or refuse what cannot stand here."""
        number, wire = tag >> 3 & 0xFFFFFFFF, tag & 7
        if wire == END_GROUP:
            raise Malformed(f"proto: {self.name}: wiretype end group for non-group")
        if not 0 < number < 2**31:
            raise Malformed(f"proto: {self.name}: illegal tag {signed32(number)} (wire type {tag})")
        if number in self.names:
            name = self.names[number]  # nearly always, Go's name is the JSON name with a capital letter
            raise Malformed(f"proto: wrong wireType = {wire} for field {name[0].upper()}{name[1:]}")
        return length(rest, wire)


def length(data: memoryview, wire: int) -> int:
    """Return how long a field is whose tag is already read; a group ends with its end tag."""
    at = groups = 0
    while True:
        if wire == VARINT:
            _, at = varint(data, at)
        elif wire == FIXED64:
            at += 8
        elif wire == BYTES:
            size, at = varint(data, at)
            if at + size > len(data):
                raise too_long(size)
            at += size
        elif wire == START_GROUP:
            groups += 1
        elif wire == END_GROUP:
            groups -= 1
        elif wire == FIXED32:
            at += 4
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        if not groups:
            return at
        tag, at = varint(data, at)
        wire = tag & 7


def varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Read a number of up to 64 bits; return it and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _UINT64, at
    raise Malformed("proto: integer overflow")


def signed32(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number


def signed64(number: int) -> int:
    return number - 2**64 if number >= _INT64 else number


def too_long(size: int) -> Exception:
    """Say why a length cannot be: to Go, a very large one is negative."""
    return Malformed("proto: negative length found during unmarshaling") if size >= _INT64 else IndexError()
