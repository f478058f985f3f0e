"""What queues that share promise, fairly or not, whatever the Workloads are: played through, cycle after cycle."""

from hypothesis import given, settings
from hypothesis import strategies as st

from .fair_caches import cohort_queue, fair_cache
from .fair_play import Play
from .quota_crowds import CROWDS, EQUALS, FAIR, RULES, come_to_an_end, keep_order, keep_room


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 5), each=st.integers(1, 5), late=st.integers(0, 4), fair=FAIR)
def test_equal_weights_come_to_equal_shares(count, each, late, fair):
    names = [f"q{number}" for number in range(count)]
    borrowers = [cohort_queue(name, 0, **RULES) for name in names]
    play = Play(fair_cache(*borrowers, cohort_queue("lender", count * each), fair=fair))
    late_name = names[late % count]
    for name in names:
        for number in range(count * each):
            if name != late_name:
                play.submit(f"{name}-{number}", to=name)
    play.settle()
    for number in range(count * each):
        play.submit(f"{late_name}-{number}", to=late_name)

    play.settle()

    assert [play.used(name) for name in names] == [each] * count


@settings(max_examples=25, deadline=None)
@given(weight=st.integers(1, 4), unit=st.integers(1, 4), heavy_first=st.booleans(), fair=FAIR)
def test_weights_come_to_shares_in_their_proportion(weight, unit, heavy_first, fair):
    total = unit * (weight + 1)
    heavy = cohort_queue("heavy", 0, weight=str(weight), **RULES)
    play = Play(fair_cache(heavy, cohort_queue("light", 0, **RULES), cohort_queue("lender", total), fair=fair))
    for name in ("heavy", "light") if heavy_first else ("light", "heavy"):
        for number in range(total):
            play.submit(f"{name}-{number}", to=name)
        play.settle()

    assert (play.used("heavy"), play.used("light")) == (unit * weight, unit)


@settings(max_examples=150, deadline=None)
@given(**CROWDS, fair=FAIR | st.none())
def test_quota_holds_and_preemption_makes_room_for_whom_it_was(**crowd):
    keep_room(**crowd)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(**CROWDS)
def test_without_fair_sharing_and_strict_queues_preemption_comes_to_an_end(**crowd):
    """As a rule, so the examples are always the same: of 17500 plays one went round."""
    come_to_an_end(**crowd, fair=None)


@settings(max_examples=60, deadline=None)
@given(**EQUALS, fair=FAIR | st.none())
def test_a_strict_queue_keeps_its_order(**equals):
    """Among equals, and where nobody is preempted, who was submitted first runs first, whatever others do."""
    keep_order(**equals)
