"""Patterns mean what they mean to RE2, and take no longer than RE2 would."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.validation.cel import re2

PATTERNS = [
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "(a|b)*c", "a{2,3}b?", "^(?i)ab$", "(?s)a.b", "(?m)^b$", r"\bb\b", "[^a-c]",
    "x*?a",
    "(ab|a)(c|bcd)", r"a\z", r"\Aa", "[[:alpha:]-]+$", "(a*)*b", "a|^b|c$", r"\Bb", "(?U)a+b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=st.text("abcAB-\n x", max_size=12))
def test_both_engines_agree(pattern, text):
    compiled = re2.compiled(pattern)

    assert compiled.automaton.matches(text) == (compiled.python.search(text) is not None)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        pytest.param("^a$", "a", "a\n", id="a dollar is the very end"),
        pytest.param("^(?i)[a-z]+$", "AbC", "1", id="a flag in the middle"),
        pytest.param("a(?i)b", "aB", "AB", id="a flag holds from where it stands"),
        pytest.param("(?i:a)b", "Ab", "AB", id="a flag of a group ends with it"),
        pytest.param(r"^\d$", "5", "\u0665", id="digits are those of ASCII"),
        pytest.param(r"^\w$", "_", "\u00e9", id="letters are those of ASCII"),
        pytest.param(r"^\pL$", "\u00e9", "5", id="a letter of any script"),
        pytest.param(r"^\Qa.b\E$", "a.b", "axb", id="quoted"),
        pytest.param("^a{,2}$", "a{,2}", "aa", id="a count without its first number is text"),
        pytest.param(r"^[]a]$", "]", "b", id="a bracket first in brackets"),
        pytest.param(r"^[\]\-a&&b]$", "&", "c", id="what Python would take for set operations"),
        pytest.param(r"^\x{e9}\x41$", "\u00e9A", "eA", id="hexadecimal"),
        pytest.param("^[[:^digit:]]$", "a", "1", id="a negated class"),
        pytest.param("^(?:a|b)+?$", "ab", "c", id="lazy"),
    ],
)
def test_a_pattern_means_what_it_means_to_go(pattern, yes, no):
    compiled = re2.compiled(pattern)

    assert compiled.matches(yes)
    assert not compiled.matches(no)
    assert compiled.automaton.matches(yes)
    assert not compiled.automaton.matches(no)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[a", "missing closing ]: `[a`"),
        ("\\", "trailing backslash at end of expression"),
        (r"\pZzz", None),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
    ],
)
def test_what_re2_refuses_is_refused_in_its_words(pattern, problem):
    if problem is None:
        re2.compiled(pattern)
        return
    with pytest.raises(re2.BadPattern, match=re.escape(problem)):
        re2.compiled(pattern)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "a*a*a*a*a*b"])
@pytest.mark.timeout(5)
def test_a_pattern_that_explodes_elsewhere_is_searched_in_one_pass(pattern):
    assert not re2.compiled(pattern).matches("a" * 5000 + "!")
