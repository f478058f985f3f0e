"""Our Kueue manager ends every job scenario as the real one ended it."""

import pytest

from fleetqueue.testing import virtual_time

from .kueue_jobs.world import DESCRIBED, recorded, run_on_ours


@pytest.fixture(scope="module")
def ours():
    return virtual_time.run(run_on_ours())


@pytest.fixture(scope="module")
def real():
    return recorded()


def test_there_is_a_record_of_every_scenario_and_of_no_other(real):
    assert sorted(real) == sorted(described["name"] for described in DESCRIBED)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            described["name"],
            id=described["name"],
            marks=[pytest.mark.xfail(reason=described["differs"], strict=True)] if "differs" in described else (),
        )
        for described in DESCRIBED
    ],
)
def test_it_ends_as_the_real_manager_ended_it(ours, real, name):
    assert ours[name] == real[name]
