"""How a protobuf field is read as JSON has it, and where it goes: into its place in a dict, onto a list, or into a map.

A zero that was sent is taken out again unless the field keeps it, and what comes last holds, as in Go.
"""

import codecs
import math
import struct
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fleetqueue.embedded.apiserver.kinds.wire import Malformed, Message, Out, PutBytes, PutNumber, varint

Read = Callable[[bytes, int, int, int], Any]
"""Reads data[at:stop] at some depth; reading nothing gives the value of a field that was not sent."""


def _as_go_does(error: UnicodeError) -> tuple[str, int]:
    """Replace one byte that is no UTF-8 by one mark; Python alone would replace several by one."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


LIKE_GO: Final = "fleetqueue-like-go"
codecs.register_error(LIKE_GO, _as_go_does)


def text(data: bytes, at: int, stop: int, depth: int) -> str:
    return data[at:stop].decode("utf-8", LIKE_GO)


def raw_bytes(data: bytes, at: int, stop: int, depth: int) -> bytes:
    return data[at:stop]


def base64(data: bytes, at: int, stop: int, depth: int) -> str:
    return b64encode(data[at:stop]).decode()


def double(data: bytes, at: int, stop: int, depth: int) -> int | float:
    """Read a float; a whole one is written without a point."""
    number: float = struct.unpack_from("<d", data, at)[0]
    if not math.isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


Convert = Callable[[int], Any]


def number(name: str, convert: Convert, *, keeps: bool) -> PutNumber:
    def put(out: Out, number: int) -> None:
        field_value = convert(number)
        if field_value or keeps:
            out[name] = field_value
        elif name in out:
            del out[name]

    return put


def string(name: str, *, keeps: bool) -> PutBytes:
    """Put a string; as fast as can be, since most fields are strings."""

    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        if at != stop or keeps:
            out[name] = data[at:stop].decode("utf-8", LIKE_GO)
        elif name in out:
            del out[name]

    return put


def value(name: str, read: Read, *, keeps: bool) -> PutBytes:
    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        field_value = read(data, at, stop, depth)
        if field_value or keeps:
            out[name] = field_value
        elif name in out:
            del out[name]

    return put


def inner(name: str, message: Message) -> PutBytes:
    """Put a message into its own dict; one that comes in two parts becomes one."""

    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        out[name] = message.read(data, at, stop, out.get(name) or {}, depth + 1)

    return put


def inlined(message: Message) -> PutBytes:
    """Put the fields of a message into the dict of the outer one."""

    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        message.read(data, at, stop, out, depth + 1)

    return put


def item(name: str, read: Read) -> PutBytes:
    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        _items(out, name).append(read(data, at, stop, depth))

    return put


def number_item(name: str, convert: Convert) -> PutNumber:
    def put(out: Out, number: int) -> None:
        _items(out, name).append(convert(number))

    return put


def packed_items(name: str, convert: Convert) -> PutBytes:
    """Put packed numbers, as newer protobuf sends them."""

    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        items = _items(out, name)
        while at < stop:
            number, at = varint(data, at)
            items.append(convert(number))
        if at > stop:
            raise IndexError

    return put


def _items(out: Out, name: str) -> list[Any]:
    items: list[Any] | None = out.get(name)
    if items is None:
        items = out[name] = []
    return items


def entry(name: str, read: Read) -> PutBytes:
    """Put one entry of a map, which is a message of a key and a value."""
    pair = Message("entry")
    pair.add(1, "key", string("key", keeps=True))
    pair.add(2, "value", value("value", read, keeps=True))
    pair.zeros += [("key", str), ("value", partial(read, b"", 0, 0, 0))]

    def put(out: Out, data: bytes, at: int, stop: int, depth: int) -> None:
        fields = pair.read(data, at, stop, {}, depth + 1)
        entries = out.get(name)
        if entries is None:
            entries = out[name] = {}
        entries[fields["key"]] = fields["value"]

    return put
