"""Scalars of protobuf as JSON has them.

A reader takes data[at:stop] at some depth. Reading nothing gives the value of a field that did not travel.
"""

import codecs
import math
import struct
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from fleetqueue.embedded.apiserver.kinds.wire import Malformed

Read = Callable[[bytes, int, int, int], Any]


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
