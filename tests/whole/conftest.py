"""How many seeds are run: a few in the ordinary lane, as many as are asked for by `make faults SEEDS=200`."""

import os

import pytest

SEEDS = int(os.environ.get("FLEETQUEUE_SEEDS", "12"))
FIRST = int(os.environ.get("FLEETQUEUE_FIRST_SEED", "0"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(FIRST, FIRST + SEEDS))
