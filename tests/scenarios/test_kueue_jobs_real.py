"""The record beside the scenarios is what the real Kueue makes of them today."""

import asyncio

import pytest

from fleetqueue.engine import layout

from .kueue_jobs.world import DESCRIBED, recorded, run_on_real

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    return asyncio.run(run_on_real(tmp_path_factory.mktemp("hub")))


@pytest.mark.parametrize("name", [described["name"] for described in DESCRIBED])
def test_the_record_is_current(real, name):
    assert recorded()[name] == real[name]
