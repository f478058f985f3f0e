"""Selectors as they stand in a query."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds.selectors import FieldTerm, parse_fields, parse_labels

REAL = json.loads(Path(__file__).with_name("real_selectors.json").read_text())
LABELS = {"app": "web", "tier": "front", "weight": "10", "example.com/gpu": "yes", "in": "x", "empty": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("app!=db", True),
        ("other!=x", True),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("other", False),
        ("app in (web,db)", True),
        ("app in (db)", False),
        ("app notin (db, cache)", True),
        ("other notin (db)", True),
        ("app in ()", False),
        ("empty in ()", True),
        ("empty=", True),
        ("empty in (,a)", True),
        ("weight>5", True),
        ("weight<5", False),
        ("weight > 10", False),
        ("app>1", False),
        ("example.com/gpu=yes,tier in (front),!gone", True),
        ("app=web,tier=back", False),
        ("in in (x)", True),
    ],
)
def test_labels_match(text, matches):
    assert parse_labels(text)(LABELS) == matches


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_selector_is_no_test(text):
    assert parse_labels(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a==(b", "unable to parse requirement: found '(', expected: identifier"),
        ("-a=b", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of alphanumeric'),
        (
            "a=-b",
            'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty string',
        ),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must",
        ),
    ],
)
def test_what_cannot_be_parsed_is_told_in_kubernetes_words(text, message):
    with pytest.raises(ValueError) as refused:
        parse_labels(text)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("metadata.name=a", [FieldTerm("metadata.name", "a", True)]),
        ("metadata.name==a,spec.x!=b", [FieldTerm("metadata.name", "a", True), FieldTerm("spec.x", "b", False)]),
        ("a=", [FieldTerm("a", "", True)]),
        (r"a=b\,c\=d\\", [FieldTerm("a", "b,c=d\\", True)]),
    ],
)
def test_fields_are_read(text, terms):
    assert list(parse_fields(text)) == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        (r"a=b\c", r"invalid field selector: invalid escape sequence: \c"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_bad_fields_are_refused(text, message):
    with pytest.raises(ValueError) as refused:
        parse_fields(text)

    assert str(refused.value) == message


def test_a_term_compares():
    assert FieldTerm("a", "x", True).matches("x")
    assert not FieldTerm("a", "x", False).matches("x")


@pytest.mark.parametrize("case", REAL["selectors"], ids=lambda case: case["text"])
def test_a_selector_selects_or_is_refused_as_by_the_real_server(case):
    assert labels_outcome(case["text"]) == case["labels"]
    assert fields_outcome(case["text"]) == case["fields"]


def labels_outcome(text):
    try:
        test = parse_labels(text)
    except ValueError as refused:
        return str(refused)
    return [test is None or test(labels) for labels in REAL["sets"]]


def fields_outcome(text):
    try:
        return [[term.path, "=" if term.is_equal else "!=", term.value] for term in parse_fields(text)]
    except ValueError as refused:
        return str(refused)
