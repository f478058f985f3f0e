"""Quantities are read as Kubernetes reads them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", "0"),
        ("1", "1"),
        (4, "4"),
        (0.5, "0.5"),
        ("500m", "0.5"),
        ("1500m", "1.5"),
        ("100n", "1e-7"),
        ("3u", "3e-6"),
        ("2k", "2000"),
        ("5M", "5e6"),
        ("5G", "5e9"),
        ("1T", "1e12"),
        ("1P", "1e15"),
        ("1E", "1e18"),
        ("1Ki", "1024"),
        ("36Gi", str(36 * 2**30)),
        ("1.5Gi", str(3 * 2**29)),
        ("8Ei", str(2**63)),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("12e-1", "1.2"),
        ("-2", "-2"),
        ("+3Mi", str(3 * 2**20)),
        (".5", "0.5"),
        ("5.", "5"),
    ],
)
def test_parse(text, amount):
    assert quantity.parse(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "1 Gi",
        " 1",
        "1\n",
        "1ki",
        "1Kib",
        "1_000",
        "1,5",
        "Gi",
        "m",
        "NaN",
        "Infinity",
        "1e3Ki",
        "0x10",
        "--1",
        "１",
    ],
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.parse(text)


def test_a_refusal_quotes_the_whole_text():
    with pytest.raises(ValueError, match="'many Gi'"):
        quantity.parse("many Gi")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0"),
        ("64", "64"),
        ("100", "100"),
        ("8500m", "8.5"),
        ("64Gi", "64Gi"),
        ("1536Mi", "1536Mi"),
        ("2Ti", "2Ti"),
        ("1e9", "1000000000"),
    ],
)
def test_an_amount_is_written_as_people_do(amount, text):
    assert quantity.text(quantity.parse(amount)) == text


def test_parse_all_reads_each_resource():
    assert quantity.parse_all({"cpu": "250m", "memory": "1Ki"}) == {"cpu": Decimal("0.25"), "memory": Decimal(1024)}


def test_amounts_add_up_resource_by_resource():
    total = quantity.add([{"cpu": Decimal(1)}, {"cpu": Decimal("0.5"), "gpu": Decimal(2)}, {}])

    assert total == {"cpu": Decimal("1.5"), "gpu": Decimal(2)}


def test_tenths_add_up_exactly():
    total = quantity.add(quantity.parse_all({"cpu": "100m"}) for _ in range(10))

    assert total["cpu"] == 1


@given(st.integers(min_value=-(10**15), max_value=10**15), st.sampled_from(["", "m", "k", "Mi", "Gi"]))
def test_a_number_with_a_suffix_is_the_number_times_its_factor(number, suffix):
    factor = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000), "Mi": Decimal(2**20), "Gi": Decimal(2**30)}

    assert quantity.parse(f"{number}{suffix}") == number * factor[suffix]
