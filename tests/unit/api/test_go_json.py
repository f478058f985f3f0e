"""What is said of text that is no JSON; the right words were seen on a real server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.go_json import fault


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":', "unexpected end of JSON input"),
        ('"ab', "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('  {"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a":01}', "invalid character '1' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ('{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        ('{"a":nul', "invalid character ' ' in literal null (expecting 'l')"),
        ('{"a":-}', "invalid character '}' in numeric literal"),
        ('{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        ("1e+", "invalid character ' ' in exponent of numeric literal"),
        ('{"a":"\x01"}', "invalid character '\\x01' in string literal"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ('{"a":"\\u12g4"}', "invalid character 'g' in \\u hexadecimal character escape"),
        ("[" * 11_000, "invalid character '[' exceeded max depth"),
        ('{"a":' * 11_000, "invalid character '{' exceeded max depth"),
    ],
)
def test_fault(text, words):
    assert fault(text.encode()) == words


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_has_no_fault(value):
    assert fault(json.dumps(value).encode()) == ""


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_json_without_its_end_has_one(value, data):
    text = json.dumps(value).encode()

    cut = data.draw(st.integers(0, len(text) - 1))

    assert fault(text[:cut]) != ""
