"""What Go says about text that is not JSON, so that a refusal reads like the real server's.

Only called when a faster parser has refused a text already.
"""

import re
from collections.abc import Callable
from typing import Any, Final

MOST_LEVELS: Final = 10_000
"""How deep Go lets values nest."""

_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_STRING_PART: Final = re.compile(rb'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}

_Step = Callable[[], Any]
_VALUE: Final = "looking for beginning of value"
_KEY: Final = "looking for beginning of object key string"


class _Fault(Exception):
    def __init__(self, character: int, why: str) -> None:
        super().__init__(f"invalid character {_quoted(character)} {why}")


def fault(text: bytes) -> str:
    """Return what is wrong with a text, in Go's words; nothing where it is JSON to Go."""
    try:
        # Go ends every text with a space, to see whether a number or a literal ends with it.
        _Scanner(text + b" ").scan()
    except _Fault as found:
        return str(found)
    except IndexError:
        return "unexpected end of JSON input"
    return ""


class _Scanner:
    """Each step reads one thing and returns the step that comes next, so that no nesting is too deep for Python."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0
        self.open: list[int] = []
        """The closing brackets of the values that we are in."""

    def scan(self) -> None:
        step: _Step | None = self._value
        while step is not None:
            step = step()

    def _next(self) -> int:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at]

    def _value(self) -> "_Step":
        first = self._next()
        if first in b"{[":
            return self._open(first)
        if first == ord('"'):
            self._string()
        elif first in b"-0123456789":
            self._number()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        else:
            raise _Fault(first, _VALUE)
        return self._after

    def _open(self, bracket: int) -> "_Step":
        if len(self.open) == MOST_LEVELS:
            raise _Fault(bracket, "exceeded max depth")
        is_object = bracket == ord("{")
        self.open.append(ord("}") if is_object else ord("]"))
        self.at += 1
        if self._next() == self.open[-1]:
            return self._after
        return self._key if is_object else self._value

    def _key(self) -> "_Step":
        first = self._next()
        if first != ord('"'):
            raise _Fault(first, _KEY)
        self._string()
        colon = self._next()
        if colon != ord(":"):
            raise _Fault(colon, "after object key")
        self.at += 1
        return self._value

    def _after(self) -> "_Step | None":
        if not self.open:
            if self.text[self.at :].strip(b" \t\n\r"):
                raise _Fault(self._next(), "after top-level value")
            return None
        byte, closing = self._next(), self.open[-1]
        if byte == closing:
            self.open.pop()
        elif byte != ord(","):
            raise _Fault(byte, "after object key:value pair" if closing == ord("}") else "after array element")
        self.at += 1
        if byte == closing:
            return self._after
        return self._key if closing == ord("}") else self._value

    def _string(self) -> None:
        match = _STRING_PART.match(self.text, self.at + 1)
        assert match is not None
        self.at = match.end()
        end = self.text[self.at]
        if end == ord("\\"):
            self._escape()
        if end != ord('"'):
            raise _Fault(end, "in string literal")
        self.at += 1

    def _escape(self) -> None:
        escaped = self.text[self.at + 1]
        if escaped != ord("u"):
            raise _Fault(escaped, "in string escape code")
        digits = self.text[self.at + 2 : self.at + 6]
        raise _Fault(next(one for one in digits if one not in b"0123456789abcdefABCDEF"), _HEXADECIMAL)

    def _number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise _Fault(self.text[self.at + 1], "in numeric literal")
        self.at = match.end()
        end = self.text[self.at]
        if end == ord(".") and not re.search(rb"[.eE]", match[0]):
            raise _Fault(self.text[self.at + 1], "after decimal point in numeric literal")
        if end in b"eE" and not re.search(rb"[eE]", match[0]):
            signed = self.at + 1 + (self.text[self.at + 1] in b"+-")
            raise _Fault(self.text[signed], "in exponent of numeric literal")

    def _literal(self, literal: bytes) -> None:
        for offset, wanted in enumerate(literal):
            byte = self.text[self.at + offset]
            if byte != wanted:
                raise _Fault(byte, f"in literal {literal.decode()} (expecting '{chr(wanted)}')")
        self.at += len(literal)


_HEXADECIMAL: Final = "in \\u hexadecimal character escape"
_QUOTED: Final = {ord("'"): r"'\''", ord("\\"): r"'\\'", ord("\t"): r"'\t'", ord("\n"): r"'\n'", ord("\r"): r"'\r'"}


def _quoted(character: int) -> str:
    if character in _QUOTED:
        return _QUOTED[character]
    return f"'{chr(character)}'" if chr(character).isprintable() else f"'\\x{character:02x}'"
