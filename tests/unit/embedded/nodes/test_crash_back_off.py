"""How long a container waits that ends again and again."""

from fleetqueue.embedded.nodes.crash_back_off import BackOff


def pauses(*runs):
    """Return the pauses after runs of so many seconds, each started when the pause before it was over."""
    back_off, now, found = BackOff(), 0.0, []
    for seconds in runs:
        now += seconds
        found.append(back_off.pause_after(now))
        now += found[-1]
        back_off.starts(now)
    return found


def test_the_first_start_is_at_once_and_each_further_one_waits_twice_as_long():
    assert pauses(1, 1, 1, 1, 1, 1, 1, 1) == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_container_that_ran_for_ten_minutes_begins_anew():
    assert pauses(1, 1, 1, 601, 1, 1) == [0, 10, 20, 0, 10, 20]


def test_ten_minutes_are_not_enough():
    assert pauses(1, 1, 600) == [0, 10, 20]
