"""How many seeds are run: a few in the ordinary lane, as many as are asked for by `make faults SEEDS=200`."""

import os

import pytest

from tests.invariants.refusals import no_part_is_refused

SEEDS = int(os.environ.get("FLEETQUEUE_SEEDS", "12"))
FIRST = int(os.environ.get("FLEETQUEUE_FIRST_SEED", "0"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(FIRST, FIRST + SEEDS))


@pytest.fixture(autouse=True)
def parts_are_not_refused():
    """Hold that every part of every test here has the rights that it uses."""
    with no_part_is_refused():
        yield
