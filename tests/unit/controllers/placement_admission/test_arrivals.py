"""What a cluster was given counts until it shows by itself, however the Workload changes meanwhile."""

from decimal import Decimal

import pytest

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.controllers.placement_admission.arrivals import Arrivals
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

SETTLE = 10.0


@pytest.fixture
def arrivals():
    return Arrivals(SETTLE)


def gpus_on(arrivals, member, *checks):
    return arrivals.on(member, checks or ["mk"]).get("nvidia.com/gpu", Decimal(0))


async def test_what_is_nominated_counts_on_every_nominated_member(arrivals, a_workload):
    arrivals.seen(None, a_workload("one", nominated=["gpu-c1", "gpu-c2"], gpus=2))
    arrivals.seen(None, a_workload("two", nominated=["gpu-c1"], gpus=3))

    assert gpus_on(arrivals, "gpu-c1") == 5
    assert gpus_on(arrivals, "gpu-c2") == 2
    assert gpus_on(arrivals, "gpu-c3") == 0


async def test_what_is_nominated_counts_for_as_long_as_it_is(arrivals, a_workload):
    arrivals.seen(None, a_workload(nominated=["gpu-c1"]))

    await advance(10 * SETTLE)

    assert gpus_on(arrivals, "gpu-c1") == 1


async def test_one_that_is_told_of_again_counts_once(arrivals, a_workload):
    for _ in range(2):
        arrivals.seen(None, a_workload(nominated=["gpu-c1"]))

    assert gpus_on(arrivals, "gpu-c1") == 1


async def test_only_the_checks_that_are_asked_for_count(arrivals, a_workload):
    arrivals.seen(None, a_workload(nominated=["gpu-c1"]))

    assert gpus_on(arrivals, "gpu-c1", "mk") == 1
    assert gpus_on(arrivals, "gpu-c1", "another") == 0


async def test_a_placed_one_counts_where_it_is_until_it_shows(arrivals, a_workload):
    nominated = a_workload(nominated=["gpu-c1", "gpu-c2"])
    placed = a_workload(on="gpu-c2", since=timestamp(clock.now()))
    arrivals.seen(None, nominated)

    arrivals.seen(nominated, placed)

    assert (gpus_on(arrivals, "gpu-c1"), gpus_on(arrivals, "gpu-c2")) == (0, 1)
    await advance(SETTLE - 1)
    assert gpus_on(arrivals, "gpu-c2") == 1
    await advance(1)
    assert gpus_on(arrivals, "gpu-c2") == 0


async def test_one_that_was_placed_long_ago_does_not_count(arrivals, a_workload):
    arrivals.seen(None, a_workload(on="gpu-c1"))

    assert gpus_on(arrivals, "gpu-c1") == 0


@pytest.mark.parametrize(
    "now",
    [
        pytest.param({"finished": True}, id="it has ended"),
        pytest.param({"deleting": True}, id="it is being deleted"),
        pytest.param({"nominated": []}, id="it is nominated for nobody"),
        pytest.param(None, id="it has gone"),
    ],
)
async def test_what_is_over_does_not_count(arrivals, a_workload, now):
    before = a_workload(nominated=["gpu-c1"])
    arrivals.seen(None, before)

    arrivals.seen(before, a_workload(**{"nominated": ["gpu-c1"], **now}) if now is not None else None)

    assert gpus_on(arrivals, "gpu-c1") == 0


async def test_one_that_ends_before_it_shows_is_taken_off_once(arrivals, a_workload):
    placed = a_workload("one", on="gpu-c1", since=timestamp(clock.now()))
    arrivals.seen(None, placed)
    arrivals.seen(None, a_workload("two", nominated=["gpu-c1"]))

    arrivals.seen(placed, None)
    await advance(SETTLE + 1)

    assert gpus_on(arrivals, "gpu-c1") == 1


async def test_jobs_that_are_over_leave_nothing_behind_though_nobody_asks(arrivals, a_workload):
    for number in range(1000):
        placed = a_workload(f"job{number}", on="gpu-c1", since=timestamp(clock.now()))
        arrivals.seen(None, placed)
        arrivals.seen(placed, None)
        await advance(SETTLE)

    assert len(arrivals._ageing) <= 2 * len(placed.status.admission_checks)
    assert arrivals._arrivals == {}


async def test_all_that_a_member_has_of_ours_counts_however_long_ago_it_came(arrivals, a_workload):
    placed = a_workload("one", on="gpu-c1", gpus=2)
    arrivals.seen(None, placed)
    arrivals.seen(None, a_workload("two", nominated=["gpu-c1", "gpu-c2"]))

    assert arrivals.total("gpu-c1") == {"nvidia.com/gpu": 3}
    assert arrivals.total("gpu-c2") == {"nvidia.com/gpu": 1}

    arrivals.seen(placed, a_workload("one", on="gpu-c1", gpus=2, finished=True))
    arrivals.seen(a_workload("two", nominated=["gpu-c1", "gpu-c2"]), None)

    assert arrivals.total("gpu-c1") == arrivals.total("gpu-c2") == {}
