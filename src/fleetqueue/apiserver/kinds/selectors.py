"""Selectors as they stand in a query: by labels, and by fields.

Both are parsed once for a request and then asked of every object. What cannot be parsed raises ValueError with the
words that Kubernetes uses.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]

TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!<>(),]|[^=!<>(), \t\r\n]+|$)")
OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
SYMBOLS: Final = {"in": "in", "notin": "notin", "=": "=", "==": "=", "!=": "!=", ">": "gt", "<": "lt"}
SPECIAL: Final = frozenset("=!<>(),") | {"==", "!="}

NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def parse_labels(text: str) -> LabelTest | None:
    """Return the test that a label selector stands for; None where it selects everything."""
    tests = _Labels(text).parse()
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else lambda labels: all(test(labels) for test in tests)


class _Labels:
    """One pass over the words of a label selector."""

    def __init__(self, text: str) -> None:
        self.words = TOKEN.findall(text.rstrip())
        if not self.words or self.words[-1]:
            self.words.append("")
        self.at = 0

    def parse(self) -> list[LabelTest]:
        tests: list[LabelTest] = []
        while (word := self._peek()) != "":
            if word in SPECIAL and word != "!":
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            tests.append(self._requirement())
            self._separator()
        return tests

    def _separator(self) -> None:
        word = self._take()
        if word == ",":
            after = self._peek()
            if after == "" or (after in SPECIAL and after != "!"):
                raise ValueError(f"found '{after}', expected: identifier after ','")
        elif word != "":
            raise ValueError(f"found '{word}', expected: ',' or 'end of string'")
        else:
            self.at -= 1

    def _requirement(self) -> LabelTest:
        try:
            is_negated = self._peek() == "!"
            if is_negated:
                self._take()
            key = self._identifier()
            _check_key(key)
            if self._peek() in ("", ","):
                return _absent(key) if is_negated else _present(key)
            return self._comparison(key)
        except ValueError as error:
            raise ValueError(f"unable to parse requirement: {error}") from None

    def _comparison(self, key: str) -> LabelTest:
        word = self._take()
        operator = SYMBOLS.get(word)
        if operator is None:
            raise ValueError(f"found '{word}', expected: {', '.join(OPERATORS)}")
        values = self._values() if operator in ("in", "notin") else [self._value()]
        for index, value in enumerate(sorted(set(values))):
            _check_value(key, value, index)
        if operator in ("gt", "lt"):
            return _compared(key, operator, values[0])
        wanted = frozenset(values)
        return _outside(key, wanted) if operator in ("!=", "notin") else _among(key, wanted)

    def _value(self) -> str:
        return "" if self._peek() in ("", ",") else self._identifier()

    def _values(self) -> list[str]:
        if (word := self._take()) != "(":
            raise ValueError(f"found '{word}' expected: '('")
        first = self._peek()
        if first == "" or (first in SPECIAL and first not in (",", ")")):
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        values = [""]
        while (word := self._take()) != ")":
            if word == ",":
                values.append("")
            elif word == "" or word in SPECIAL:
                raise ValueError(f"found '{word}', expected: ',' or ')'")
            elif values[-1]:
                raise ValueError(f"found '{word}', expected: ',' or ')'")
            else:
                values[-1] = word
        return values

    def _identifier(self) -> str:
        word = self._take()
        if word == "" or word in SPECIAL:
            raise ValueError(f"found '{word}', expected: identifier")
        return word

    def _peek(self) -> str:
        return str(self.words[self.at]) if self.at < len(self.words) else ""

    def _take(self) -> str:
        word = self._peek()
        self.at += 1
        return word


def _present(key: str) -> LabelTest:
    return lambda labels: key in labels


def _absent(key: str) -> LabelTest:
    return lambda labels: key not in labels


def _among(key: str, values: frozenset[str]) -> LabelTest:
    return lambda labels: labels.get(key) in values


def _outside(key: str, values: frozenset[str]) -> LabelTest:
    return lambda labels: labels.get(key) not in values


def _compared(key: str, operator: str, value: str) -> LabelTest:
    limit = _integer(value)
    if limit is None:
        raise ValueError(
            f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
        )

    def test(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if operator == "gt" else number < limit)

    return test


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None


def _check_key(key: str) -> None:
    """Demand the form `[domain/]name` that label keys have."""
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash and not (len(prefix) <= 253 and DOMAIN.fullmatch(prefix)):
        problems.append("prefix part must be a DNS subdomain of at most 253 characters")
    if not NAME.fullmatch(name):
        problems.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
            " an alphanumeric character"
        )
    if len(name) > 63:
        problems.append("name part must be no more than 63 characters")
    if problems:
        raise ValueError(f'key: Invalid value: "{key}": {"; ".join(problems)}')


def _check_value(key: str, value: str, index: int) -> None:
    problems = []
    if len(value) > 63:
        problems.append("must be no more than 63 characters")
    if not VALUE.fullmatch(value):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for"
            " validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
    if problems:
        raise ValueError(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(problems)}')


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
    return [_field_term(term, text) for term in terms]


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
    path, operator, value = _split(term)
    if not operator:
        raise ValueError(f"invalid selector: '{whole}'; can't understand '{term}'")
    return FieldTerm(path, _unescaped(value), operator != "!=")


def _split(term: str) -> tuple[str, str, str]:
    found = re.search(r"!=|==|=", term)
    if found is None:
        return term, "", ""
    return term[: found.start()], found.group(), term[found.end() :]


def _unescaped(value: str) -> str:
    if bad := re.search(r"\\(?![\\,=]).?", re.sub(r"\\[\\,=]", "", value), re.DOTALL):
        raise ValueError(f"invalid field selector: invalid escape sequence: {bad.group()}")
    if bad := re.search(r"=", re.sub(r"\\.", "", value)):
        raise ValueError(f"invalid field selector: unescaped character in value: {ord(bad.group())}")
    return re.sub(r"\\(.)", r"\1", value)
