"""Versions such as `1.2.3` in expressions."""

import re
from functools import total_ordering
from typing import Any

from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, INT, STRING, opaque

library = Library()
SEMVER = opaque("kubernetes.Semver")
_LARGEST = 2**64 - 1


@total_ordering
class Semver:
    type_name = "kubernetes.Semver"

    def __init__(self, numbers: tuple[int, ...], before: list[tuple[int, int, str]]) -> None:
        self.numbers = numbers
        self.before = before
        """The parts of a pre-release: numbers come before words."""

    @property
    def key(self) -> tuple[Any, ...]:
        return self.numbers, not self.before, self.before  # the release comes after all that precede it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: "Semver") -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.numbers)


@library.function("semver", STRING, result=SEMVER)
@library.function("semver", STRING, BOOL, result=SEMVER)
def semver(text: str, normalize: bool = False) -> Semver:
    return _parsed(_normalized(text) if normalize else text)


def _parsed(text: str) -> Semver:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "Major"), _number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    numbers = (major, minor, _number(patch, "Patch"))
    before = [_pre_release(part) for part in pre.split(".")] if dash else []
    for part in build.split(".") if plus else ():
        _check_letters(part, "Build meta data is empty", "build meta data")
    return Semver(numbers, before)


def _number(text: str, what: str) -> int:
    if not re.fullmatch("[0-9]*", text):
        raise CelError(f"Invalid character(s) found in {what.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"{what} number must not contain leading zeroes {quoted(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) > _LARGEST:
        raise CelError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _pre_release(text: str) -> tuple[int, int, str]:
    _check_letters(text, "Prerelease is empty", "prerelease")
    if not re.fullmatch("[0-9]+", text):
        return 1, 0, text
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
    return 0, _uint(text), ""


def _check_letters(text: str, if_empty: str, what: str) -> None:
    if not text:
        raise CelError(if_empty)
    if not re.fullmatch("[0-9A-Za-z-]+", text):
        raise CelError(f"Invalid character(s) found in {what} {quoted(text)}")


def _normalized(text: str) -> str:
    """Drop a leading v and leading zeros, and fill up missing numbers."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isascii() and rest[:1].isdigit() else f"0{rest}"


@library.function("isSemver", STRING, result=BOOL)
@library.function("isSemver", STRING, BOOL, result=BOOL)
def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        semver(text, normalize)
    except CelError:
        return False
    return True


library.method("isGreaterThan", SEMVER, SEMVER, result=BOOL)(lambda one, other: one > other)
library.method("isLessThan", SEMVER, SEMVER, result=BOOL)(lambda one, other: one < other)
library.method("compareTo", SEMVER, SEMVER, result=INT)(lambda one, other: (one > other) - (one < other))
library.method("major", SEMVER, result=INT)(lambda version: version.numbers[0])
library.method("minor", SEMVER, result=INT)(lambda version: version.numbers[1])
library.method("patch", SEMVER, result=INT)(lambda version: version.numbers[2])
