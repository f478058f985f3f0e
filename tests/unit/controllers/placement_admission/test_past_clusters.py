"""Where an evicted Workload may still have a copy."""

import msgspec
import pytest

from fleetqueue.controllers.placement_admission.past_clusters import PastClusters

LISTED = ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.fixture
def past_clusters():
    return PastClusters()


def test_a_workload_that_was_never_evicted_is_nowhere_else(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(nominated=["gpu-c1"]))

    assert past_clusters.of(a_workload(), lambda: LISTED) == []


def test_an_evicted_workload_may_be_wherever_it_was_seen(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(nominated=["gpu-c1"]))
    past_clusters.seen(a_workload(), a_workload(on="gpu-c2"))
    past_clusters.seen(a_workload(), a_workload(evicted=True))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c1", "gpu-c2"]


def test_where_it_was_sent_counts_before_the_cache_shows_it(past_clusters, a_workload):
    past_clusters.seen(None, a_workload())
    past_clusters.sent(a_workload(), ["gpu-c3"])

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c3"]


def test_a_member_that_somebody_took_off_the_list_counts_too(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(on="gpu-c9"))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c9"]


@pytest.mark.parametrize("evicted", [True, False], ids=["on its way out", "with quota again"])
def test_a_workload_that_was_evicted_before_we_first_saw_it_may_be_anywhere(past_clusters, a_workload, evicted):
    past_clusters.seen(None, a_workload(evicted=evicted))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == LISTED


def test_a_workload_that_we_never_saw_may_be_anywhere(past_clusters, a_workload):
    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == LISTED


@pytest.mark.parametrize("end", [None, {"finished": True}], ids=["deleted", "finished"])
def test_what_has_ended_is_forgotten(past_clusters, a_workload, end):
    before = a_workload(on="gpu-c1")
    past_clusters.seen(None, before)

    past_clusters.seen(before, a_workload(**end) if end else None)

    assert past_clusters._pasts == {}


def test_a_new_workload_of_the_same_name_has_its_own_past(past_clusters, a_workload):
    old = a_workload(on="gpu-c1")
    past_clusters.seen(None, old)
    new = msgspec.structs.replace(a_workload(), metadata=msgspec.structs.replace(old.metadata, uid="another"))

    past_clusters.seen(old, new)
    evicted = a_workload(evicted=False)

    assert past_clusters.of(msgspec.structs.replace(evicted, metadata=new.metadata), lambda: LISTED) == []
