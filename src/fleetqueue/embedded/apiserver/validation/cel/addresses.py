"""Say why a text is no IP address, in the words of Go's parser; what it lets pass, Python's own can read."""

import re
from typing import Final

from fleetqueue.embedded.apiserver.kinds.go_text import quoted

_GROUP: Final = re.compile("[0-9a-fA-F]*")
_GROUPS: Final = 8
_EMBEDDED: Final = 2
"""How many groups an embedded IPv4 address replaces."""


class _Fault(Exception):
    def __init__(self, why: str, at: str = "") -> None:
        super().__init__(f"{why} (at {quoted(at)})" if at else why)


def problem_of(text: str) -> str:
    """Return what is wrong with an address; empty if nothing is."""
    try:
        _check(text)
    except _Fault as fault:
        return f"ParseAddr({quoted(text)}): {fault}"
    return ""


def _check(text: str) -> None:
    first = re.search("[.:%]", text)
    if first is None:
        raise _Fault("unable to parse IP")
    if first[0] == "%":
        raise _Fault("missing IPv6 address")
    if first[0] == ".":
        _check_v4(text)
    else:
        _check_v6(text)


def _check_v4(text: str) -> None:
    octets, digits = 0, ""
    for at, char in enumerate(text):
        if char in "0123456789":
            if digits == "0":
                raise _Fault("IPv4 field has octet with leading zero")
            digits += char
            if int(digits) > 255:
                raise _Fault("IPv4 field has value >255")
        elif char != ".":
            raise _Fault("unexpected character", text[at:])
        elif not digits or at == len(text) - 1:
            raise _Fault("IPv4 field must have at least one digit", text[at:])
        elif octets == 3:
            raise _Fault("IPv4 address too long")
        else:
            octets, digits = octets + 1, ""
    if octets < 3:
        raise _Fault("IPv4 address too short")


def _check_v6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _Fault("zone must be a non-empty string")
    groups, has_ellipsis = 0, rest.startswith("::")
    if has_ellipsis:
        rest = rest[2:]
        if not rest:
            return
    while groups < _GROUPS:
        after = _after_group(rest)
        if after.startswith("."):
            groups, rest = _embedded(rest, groups, has_ellipsis), ""
            break
        groups, rest = groups + 1, after
        if not rest:
            break
        if not rest.startswith(":"):
            raise _Fault("unexpected character, want colon", rest)
        if rest == ":":
            raise _Fault("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest.startswith(":"):
            if has_ellipsis:
                raise _Fault("multiple :: in address", rest)
            has_ellipsis, rest = True, rest[1:]
            if not rest:
                break
    if rest:
        raise _Fault("trailing garbage after address", rest)
    _check_count(groups, has_ellipsis)


def _after_group(rest: str) -> str:
    match = _GROUP.match(rest)
    assert match is not None
    if match.end() > 4:
        raise _Fault("each group must have 4 or less digits", rest)
    if not match[0]:
        raise _Fault("each colon-separated field must have at least one digit", rest)
    return rest[match.end() :]


def _embedded(rest: str, groups: int, has_ellipsis: bool) -> int:
    if not has_ellipsis and groups != _GROUPS - _EMBEDDED:
        raise _Fault("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups + _EMBEDDED > _GROUPS:
        raise _Fault("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_v4(rest)
    return groups + _EMBEDDED


def _check_count(groups: int, has_ellipsis: bool) -> None:
    if groups < _GROUPS and not has_ellipsis:
        raise _Fault("address string too short")
    if groups == _GROUPS and has_ellipsis:
        raise _Fault("the :: must expand to at least one field of zeros")
