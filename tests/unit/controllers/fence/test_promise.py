"""Until when copies may run, by what is known of the last renewal."""

import pytest

from fleetqueue.controllers.fence.promise import START_SECONDS, Promise, read


@pytest.mark.parametrize(
    ("promise", "after", "deadline"),
    [
        pytest.param(Promise("uid", "boot", 100.0, 60.0), 60.0, 160.0, id="from when the renewal was sent"),
        pytest.param(Promise("uid", "boot", 100.0, 600.0), 60.0, 160.0, id="now set to less: the hub may know it"),
        pytest.param(Promise("uid", "boot", 100.0, 60.0), 600.0, 160.0, id="now set to more: the hub does not know it"),
        pytest.param(Promise("uid", "before", 100.0, 60.0), 60.0, 500 + START_SECONDS, id="of another boot"),
        pytest.param(Promise("uid"), 60.0, 500 + START_SECONDS, id="nothing acknowledged yet"),
    ],
)
def test_deadline(promise, after, deadline):
    assert promise.deadline(after, boot="boot", started=500.0) == deadline


def test_where_the_boot_is_not_known_no_time_is_compared():
    assert Promise("uid", "", 100.0, 60.0).deadline(60.0, boot="", started=500.0) == 500 + START_SECONDS


def test_what_is_written_down_is_read_again():
    promise = Promise("uid", "boot", 100.5, 60.0)

    assert read({"metadata": {"annotations": promise.written()}}) == promise


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"renewed":"soon"}'])
def test_what_somebody_edited_is_no_promise(text):
    assert read({"metadata": {"annotations": {"fleetqueue.dev/promise": text}}}) == Promise()


def test_a_lease_without_annotations_keeps_no_promise():
    assert read({"metadata": {}}) == Promise()
