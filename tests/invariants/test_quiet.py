"""What a quiet world does not write, and what it may."""

import pytest

from .quiet import without_sample

SAMPLE = {"consumedResources": {"cpu": "1"}, "lastUpdate": "2026-01-01T12:00:00Z"}


def local_queue(version="1", pending=0, cpu="1", weight="1", *, sampled=True):
    shares = {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": {**SAMPLE, "lastUpdate": cpu}}}
    return {
        "metadata": {"name": "q", "resourceVersion": version, "managedFields": [version]},
        "spec": {"fairSharing": {"weight": weight}},
        "status": {"pendingWorkloads": pending, **(shares if sampled else {})},
    }


def test_a_sample_of_what_was_consumed_is_told_by_the_clock():
    assert without_sample(local_queue()) == without_sample(local_queue("2", cpu="2")) != ""


@pytest.mark.parametrize("change", [{"pending": 1}, {"weight": "2"}], ids=["its status", "its spec"])
def test_all_else_that_such_a_queue_says_counts(change):
    assert without_sample(local_queue()) != without_sample(local_queue("2", **change))


@pytest.mark.parametrize("raw", [local_queue(sampled=False), {"metadata": {"name": "cm"}}], ids=["queue", "other"])
def test_of_other_objects_the_version_counts(raw):
    assert without_sample(raw) == ""
