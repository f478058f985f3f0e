"""Amounts as whole numbers, and as people read them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.scheduling.amounts import LARGEST, amount, requests, written


@pytest.mark.parametrize(
    ("resource", "quantity", "value"),
    [
        pytest.param("cpu", "1500m", 1500, id="cpu is counted in thousandths"),
        pytest.param("cpu", "100u", 1, id="less than a thousandth of a cpu is one"),
        pytest.param("memory", "1Gi", 2**30, id="memory is counted in bytes"),
        pytest.param("memory", "1500m", 2, id="a broken byte is a whole one"),
        pytest.param("nvidia.com/gpu", "3", 3, id="anything else is counted in units"),
        pytest.param("memory", "16Ei", LARGEST, id="no more than 64 bits hold"),
    ],
)
def test_a_quantity_is_a_whole_number(resource, quantity, value):
    assert amount(resource, quantity) == value


@pytest.mark.parametrize(
    ("resource", "value", "quantity"),
    [
        pytest.param("cpu", 0, "0", id="nothing"),
        pytest.param("cpu", 1500, "1500m", id="one and a half cpus"),
        pytest.param("cpu", 2000, "2", id="whole cpus"),
        pytest.param("cpu", 4_000_000, "4k", id="many cpus"),
        pytest.param("memory", 2**30, "1Gi", id="memory in powers of two"),
        pytest.param("memory", 1536 * 2**20, "1536Mi", id="memory that is no whole power"),
        pytest.param("memory", 1_000_000_001_000, "1000000001k", id="memory that has nothing of a power of two"),
        pytest.param("memory", 1000, "1k", id="little memory is decimal"),
        pytest.param("hugepages-2Mi", 2**21, "2Mi", id="huge pages"),
        pytest.param("nvidia.com/gpu", 5000, "5k", id="many gpus"),
        pytest.param("cpu", -500, "-500m", id="less than nothing"),
    ],
)
def test_an_amount_is_written_as_kueue_writes_it(resource, value, quantity):
    assert written(resource, value) == quantity


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 2**50))
def test_what_is_written_is_read_as_the_same(resource, value):
    assert amount(resource, written(resource, value)) == value


def test_requests_are_multiplied_and_never_less_than_nothing():
    found = requests({"cpu": Decimal("0.5"), "memory": Decimal(-1)}, times=3)

    assert found == {"cpu": 1500, "memory": 0}
