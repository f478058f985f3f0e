"""Quantities are shown as a real server shows them; each row was asked of apimachinery 0.36.3."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import quantity
from fleetqueue.api.canonical_quantities import canonical


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("-0.000", "0"),
        ("1", "1"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("8Ki", "8Ki"),
        ("1.5Gi", "1536Mi"),
        ("0.1Ki", "102400m"),
        ("512Ki", "512Ki"),
        ("1023Mi", "1023Mi"),
        ("100e3", "100e3"),
        ("1000e3", "1e6"),
        ("1E", "1E"),
        ("0.1n", "1n"),
        ("9999Ei", "9223372036854775807"),
        ("-1.5Gi", "-1536Mi"),
        ("123456789012345678901", "123456789012345678901"),
    ],
)
def test_canonical(text, shown):
    assert canonical(text) == shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must match"),
        ("one", "must match"),
        ("1 Gi", "must match"),
        ("1x", "must match"),
        ("1K", "suffix"),
        ("1e", "suffix"),
        ("1e99999999999", "suffix"),
        ("Pi", "numeric part"),
    ],
)
def test_what_is_no_quantity_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        canonical(text)


@given(
    st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{1,9})?", fullmatch=True),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "e3"]),
)
def test_the_shown_text_is_stable_and_means_the_same(number, suffix):
    shown = canonical(number + suffix)

    assert canonical(shown) == shown
    if len(number) < 12 and "." not in number:
        assert quantity.parse(shown) == quantity.parse(number + suffix)


@given(st.text())
def test_any_text_is_shown_or_refused(text):
    try:
        canonical(text)
    except ValueError:
        return
