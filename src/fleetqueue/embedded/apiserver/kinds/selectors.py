"""Selectors as they stand in a query: by labels, and by fields.

Both are parsed once for a request and then matched against every object. What cannot be parsed raises ValueError with
the words that Kubernetes uses.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.embedded.apiserver.kinds.causes import NOWHERE, aggregate, invalid_value
from fleetqueue.embedded.apiserver.kinds.names import label_value, qualified_name

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]

TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!<>(),]|[^=!<>(), \t\r\n]+|$)")
OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
SYMBOLS: Final = {"in": "in", "notin": "notin", "=": "=", "==": "=", "!=": "!=", ">": "gt", "<": "lt"}
SPECIAL: Final = frozenset("=!<>(),") | {"==", "!=", ""}
"""The words that are no identifiers; the empty one is the end."""


def parse_labels(text: str) -> LabelTest | None:
    """Return the test that a label selector stands for; None where it selects everything."""
    tests = _Labels(text).parse()
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda labels: all(test(labels) for test in tests)


class _Labels:
    """One pass over the words of a label selector."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = [*TOKEN.findall(text.rstrip()), ""]
        self.at = 0

    def parse(self) -> list[LabelTest]:
        tests: list[LabelTest] = []
        while (word := self._peek()) != "":
            if word in SPECIAL and word != "!":
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                tests.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            if (word := self._take()) == "":
                break
            if word != ",":
                raise ValueError(f"found '{word}', expected: ',' or 'end of string'")
            if (after := self._peek()) in SPECIAL and after != "!":
                raise ValueError(f"found '{after}', expected: identifier after ','")
        return tests

    def _requirement(self) -> LabelTest:
        is_negated = self._peek() == "!"
        if is_negated:
            self._take()
        key = self._identifier()
        if problems := qualified_name(key):
            raise ValueError(invalid_value(NOWHERE, key, "; ".join(problems)).sentence)
        if is_negated:
            return _absent(key)
        return _present(key) if self._peek() in ("", ",") else self._comparison(key)

    def _comparison(self, key: str) -> LabelTest:
        word = self._take()
        operator = SYMBOLS.get(word)
        if operator is None:
            raise ValueError(f"found '{word}', expected: {', '.join(OPERATORS)}")
        values = sorted(self._values() if operator in ("in", "notin") else {self._value()})
        _check_values(key, operator, values)
        if operator in ("gt", "lt"):
            return _compared(key, operator, int(values[0]))
        wanted = frozenset(values)
        return _outside(key, wanted) if operator in ("!=", "notin") else _among(key, wanted)

    def _value(self) -> str:
        return "" if self._peek() in ("", ",") else self._identifier()

    def _values(self) -> set[str]:
        if (word := self._take()) != "(":
            raise ValueError(f"found '{word}' expected: '('")
        first = self._peek()
        if first in SPECIAL and first not in (",", ")"):
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        values = self._listed() if first != ")" else {""}
        self._take()
        return values

    def _listed(self) -> set[str]:
        """Read values up to the closing bracket; where nothing stands beside a comma, an empty one is meant."""
        values: set[str] = set()
        while self._peek() != ")":
            word, after = self._take(), self._peek()
            if word == ",":
                if not values or after in (",", ")"):
                    values.add("")
            elif word in SPECIAL:
                raise ValueError(f"found '{word}', expected: ',', or identifier")
            elif after not in (",", ")"):
                raise ValueError(f"found '{after}', expected: ',' or ')'")
            else:
                values.add(word)
        return values

    def _identifier(self) -> str:
        word = self._take()
        if word in SPECIAL:
            raise ValueError(f"found '{word}', expected: identifier")
        return word

    def _peek(self) -> str:
        return self.words[self.at]

    def _take(self) -> str:
        word = self.words[self.at]
        self.at += 1
        return word


def _check_values(key: str, operator: str, values: Sequence[str]) -> None:
    causes = []
    if operator in ("gt", "lt") and _integer(values[0]) is None:
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        causes.append(invalid_value("values[0]", values[0], why))
    for position, value in enumerate(values):
        if problems := label_value(value):
            causes.append(invalid_value(f"values[{position}][{key}]", value, "; ".join(problems)))
    if causes:
        raise ValueError(aggregate(causes))


def _present(key: str) -> LabelTest:
    return lambda labels: key in labels


def _absent(key: str) -> LabelTest:
    return lambda labels: key not in labels


def _among(key: str, values: frozenset[str]) -> LabelTest:
    return lambda labels: labels.get(key) in values


def _outside(key: str, values: frozenset[str]) -> LabelTest:
    return lambda labels: labels.get(key) not in values


def _compared(key: str, operator: str, limit: int) -> LabelTest:
    def test(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if operator == "gt" else number < limit)

    return test


def _integer(text: str) -> int | None:
    number = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class FieldTerm:
    path: str
    value: str
    is_equal: bool

    def matches(self, value: str) -> bool:
        return (value == self.value) is self.is_equal


def parse_fields(text: str) -> Sequence[FieldTerm]:
    """Read a field selector: terms `path=value`, `path==value` and `path!=value`, separated by commas."""
    terms = re.findall(r"(?:[^\\,]|\\.?)+", text, re.DOTALL)
    parsed_terms = [_field_term(term, text) for term in sorted(terms)]
    return [term for term in parsed_terms if term.path or term.value]


def field_reader(path: str) -> Callable[[Mapping[str, Any]], str]:
    """Return what reads a field of an object by its path; booleans and numbers are compared as text."""
    parts = path.split(".")

    def read(obj: Mapping[str, Any]) -> str:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read


def _field_term(term: str, whole: str) -> FieldTerm:
    match = re.search(r"!=|==|=", term)
    if match is None:
        raise ValueError(f"invalid selector: '{whole}'; can't understand '{term}'")
    return FieldTerm(term[: match.start()], _unescaped(term[match.end() :]), match.group() != "!=")


def _unescaped(value: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if match[1] is None:
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(match[0])}")
        if match[1] not in ("\\", ",", "="):
            raise ValueError(f"invalid field selector: invalid escape sequence: {match[0]}")
        return match[1]

    return re.sub(r"\\(.?)|=", plain, value, flags=re.DOTALL)
