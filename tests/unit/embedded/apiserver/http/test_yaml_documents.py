"""YAML as Go reads and writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.http.yaml_documents import YamlError, dump, load


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("a: {b: [1, x]}", {"a": {"b": [1, "x"]}}, id="maps and lists"),
        pytest.param("[yes, n, On, ~, null]", [True, False, True, None, None], id="words that mean something"),
        pytest.param("['yes', \"1\", !!str 5]", ["yes", "1", "5"], id="words that do not"),
        pytest.param("[1_000, 010, 0x1f, 0o17, -3]", [1000, 8, 31, 15, -3], id="whole numbers"),
        pytest.param("[1e3, 1.5, .5]", [1000.0, 1.5, 0.5], id="other numbers"),
        pytest.param("2001-01-01", "2001-01-01", id="a date is text"),
        pytest.param("1:20", "1:20", id="a time of day is text"),
        pytest.param("{1: a, true: b}", {"1": "a", "true": "b"}, id="keys become text"),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="an alias"),
        pytest.param("a: &x {k: 1}\nb: {<<: *x, l: 2}", {"a": {"k": 1}, "b": {"k": 1, "l": 2}}, id="a merge"),
        pytest.param("a: 1\n---\nb: 2", {"a": 1}, id="only the first document"),
        pytest.param("!!python/object:os.system {}", {}, id="a tag of another language is nothing"),
    ],
)
def test_load(text, value):
    assert load(text.encode()) == (value, [])


def test_a_key_that_stands_twice_is_told_with_its_line():
    assert load(b"a: 1\nb: 2\na: 3\n") == ({"a": 3, "b": 2}, ['line 3: key "a" already set in map'])


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]" for before, name in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: b: c", "yaml: mapping values are not allowed in this context", id="no YAML"),
        pytest.param("x: 1\na: b: c", "yaml: line 2: mapping values are not allowed", id="no YAML in the second line"),
        pytest.param("\tx: 1", "yaml: found character that cannot start any token", id="a tab"),
        pytest.param("&a [*a]", "value contains itself", id="a list in itself"),
        pytest.param(BOMB, "excessive aliasing", id="aliases of aliases of aliases"),
        pytest.param("[" * 600 + "]" * 600, "exceeded max depth", id="too deep"),
        pytest.param("[" * 50_000, "yaml: ", id="far too deep"),
        pytest.param("x: .inf", "unsupported value", id="a number that JSON has not"),
        pytest.param("? [1]\n: 2", "invalid map key", id="a list as key"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(YamlError, match=words):
        load(text.encode())


def test_text_that_looks_like_something_else_is_quoted():
    assert dump({"a": "y", "b": "1", "c": "null", "d": "x"}) == b'a: "y"\nb: "1"\nc: "null"\nd: x\n'


def test_lines_stay_lines():
    assert dump({"a": "x\ny\n"}) == b"a: |\n  x\n  y\n"


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63)
        | st.text(st.characters(codec="utf-8", exclude_categories=["C"])),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text("abyn01-.~: ", min_size=1), inner, max_size=4)
        ),
        max_leaves=10,
    )
)
def test_what_is_written_is_read_again(value):
    assert load(dump(value))[0] == value
