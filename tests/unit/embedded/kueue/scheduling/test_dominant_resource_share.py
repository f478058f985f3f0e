"""How much a queue or cohort borrows of what there is, and whose share is higher."""

import math

import pytest

from fleetqueue.embedded.kueue.scheduling.cohorts import Forest
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import (
    LOWEST,
    DominantResourceShare,
    dominant_resource_share,
    rounded,
)
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource
from fleetqueue.embedded.kueue.scheduling.quota import Quota

from .objects import CPU

GPU = FlavorResource("default", "gpu")
SPOT = FlavorResource("spot", "cpu")


def forest(*queues, cohorts=()):
    """Queues as (name, cohort, quotas, weight, usage)."""
    made = Forest()
    for name, parent, quotas, weight in cohorts:
        made.set_cohort(name, parent, quotas, weight)
    for name, cohort, quotas, weight, usage in queues:
        made.set_queue(name, cohort, quotas, weight)
        made.queues[name].add_all(usage)
    return made


def share(made, name="q"):
    return dominant_resource_share(made.queues.get(name) or made.cohorts[name])


FOUR = {CPU: Quota(4000)}
LENDER = ("r", "c", {CPU: Quota(6000), GPU: Quota(2), SPOT: Quota(5000)}, 1.0, {})
MORE = {CPU: Quota(4000), GPU: Quota(2), SPOT: Quota(0)}


@pytest.mark.parametrize(
    ("queue", "weighted"),
    [
        pytest.param(("q", "c", FOUR, 1.0, {}), 0.0, id="nothing is used"),
        pytest.param(("q", "c", FOUR, 1.0, {CPU: 4000}), 0.0, id="all of its own"),
        pytest.param(("q", "c", FOUR, 1.0, {CPU: 5000}), 1000 / 15, id="one of fifteen cpus, over both flavors"),
        pytest.param(("q", "c", FOUR, 2.0, {CPU: 5000}), 500 / 15, id="half as much by twice the weight"),
        pytest.param(("q", "c", FOUR, 0.5, {CPU: 5000}), 2000 / 15, id="twice as much by half the weight"),
        pytest.param(("q", "c", FOUR, 0.0, {CPU: 4000}), 0.0, id="no weight, nothing borrowed"),
        pytest.param(("q", "c", FOUR, 0.0, {CPU: 5000}), math.inf, id="no weight, something borrowed"),
        pytest.param(("q", "c", MORE, 1.0, {CPU: 5000, GPU: 3}), 250.0, id="the dominant resource counts"),
        pytest.param(("q", "c", MORE, 1.0, {CPU: 5000, SPOT: 2000}), 200.0, id="flavors are added up"),
        pytest.param(("q", "", FOUR, 1.0, {CPU: 9000}), 0.0, id="without a cohort nobody lends"),
    ],
)
def test_the_share_of_a_queue(queue, weighted):
    assert share(forest(queue, LENDER)).weighted == pytest.approx(weighted)


def test_what_may_not_be_lent_is_not_there_to_be_borrowed():
    lender = ("r", "c", {CPU: Quota(6000, lending_limit=2000)}, 1.0, {})

    assert share(forest(("q", "c", FOUR, 1.0, {CPU: 5000}), lender)).weighted == pytest.approx(1000 / 6)


def test_a_cohort_borrows_of_the_one_above_and_has_a_weight_of_its_own():
    made = forest(
        ("q", "left", FOUR, 1.0, {CPU: 6000}),
        ("r", "right", FOUR, 1.0, {}),
        cohorts=[("root", "", {}, 1.0), ("left", "root", {}, 4.0), ("right", "root", {}, 1.0)],
    )

    assert share(made, "q").weighted == pytest.approx(2000 / 8)
    assert share(made, "left").weighted == pytest.approx(500 / 8)
    assert share(made, "root").weighted == 0.0


def test_a_borrowing_limit_of_a_cohort_bounds_what_there_is():
    made = forest(
        ("q", "left", FOUR, 1.0, {CPU: 5000}),
        ("r", "root", FOUR, 1.0, {}),
        cohorts=[("root", "", {}, 1.0), ("left", "root", {CPU: Quota(0, borrowing_limit=1000)}, 1.0)],
    )

    assert share(made, "q").weighted == pytest.approx(1000 / 5)


def test_it_is_known_on_what_a_queue_borrows():
    found = share(forest(("q", "c", MORE, 1.0, {CPU: 5000, GPU: 2}), LENDER))

    assert found.is_borrowing
    assert found.is_borrowing_on({CPU: 1, GPU: 1})
    assert not found.is_borrowing_on({CPU: 0, GPU: 1})


def test_who_has_no_weight_and_borrows_comes_last():
    shares = [
        DominantResourceShare(0.0, 2.0),
        DominantResourceShare(0.0, 1.0),
        DominantResourceShare(1.0, 900.0),
        DominantResourceShare(2.0, 900.0),
        DominantResourceShare(0.0, 0.0),
    ]

    assert sorted(shares, key=lambda each: each.order) == [*reversed(shares)]
    assert all(each.order > LOWEST for each in shares)


@pytest.mark.parametrize(("weighted", "told"), [(0.0, 0), (66.01, 67), (67.0, 67), (math.inf, 2**63 - 1)], ids=str)
def test_a_status_tells_whole_numbers(weighted, told):
    assert rounded(weighted) == told
