"""How many pods are admitted where fewer than all are enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.embedded.kueue.scheduling.partial import can_shrink, largest

from .objects import pod_set


def sets(*sizes):
    return pod_sets([pod_set(f"s{number}", count=count, least=least) for number, (count, least) in enumerate(sizes)])


@pytest.mark.parametrize(
    ("sizes", "answer"),
    [
        pytest.param([(3, None)], False, id="nobody said so"),
        pytest.param([(3, 3)], False, id="all are the fewest"),
        pytest.param([(3, None), (3, 1)], True, id="one of them may"),
    ],
)
def test_can_shrink(sizes, answer):
    assert can_shrink(sets(*sizes)) is answer


@pytest.mark.parametrize(
    ("sizes", "room", "found"),
    [
        pytest.param([(10, 3)], 4, [4], id="as many as fit"),
        pytest.param([(10, 3)], 2, None, id="not even the fewest fit"),
        pytest.param([(10, 3)], 3, [3], id="just the fewest"),
        pytest.param([(10, 0), (10, 0)], 10, [5, 5], id="several shrink alike"),
        pytest.param([(4, None), (8, 4)], 9, [4, 5], id="one shrinks alone"),
    ],
)
def test_largest(sizes, room, found):
    assert largest(sets(*sizes), lambda counts: counts if sum(counts) <= room else None) == found


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60))
def test_nothing_larger_would_fit(count, least, room):
    least = min(least, count - 1)

    found = largest(sets((count, least)), lambda counts: counts if sum(counts) <= room else None)

    assert found == (None if room < least else [min(room, count)])
