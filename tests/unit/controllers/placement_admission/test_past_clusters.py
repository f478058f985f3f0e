"""Where an evicted Workload may still have a copy."""

import msgspec
import pytest

from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time
LISTED = ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.fixture
def past_clusters():
    return PastClusters()


async def test_a_workload_that_was_never_evicted_is_nowhere_else(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(nominated=["gpu-c1"]))

    assert past_clusters.of(a_workload(), lambda: LISTED) == []


async def test_an_evicted_workload_may_be_wherever_it_was_seen(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(nominated=["gpu-c1"]))
    past_clusters.seen(a_workload(), a_workload(on="gpu-c2"))
    past_clusters.seen(a_workload(), a_workload(evicted=True))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c1", "gpu-c2"]


async def test_where_it_was_sent_counts_before_the_cache_shows_it(past_clusters, a_workload):
    past_clusters.seen(None, a_workload())
    past_clusters.sent(a_workload(), ["gpu-c3"])

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c3"]


async def test_a_member_that_somebody_took_off_the_list_counts_too(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(on="gpu-c9"))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c9"]


@pytest.mark.parametrize("evicted", [True, False], ids=["on its way out", "with quota again"])
async def test_a_workload_that_was_evicted_before_we_first_saw_it_may_be_anywhere(past_clusters, a_workload, evicted):
    past_clusters.seen(None, a_workload(evicted=evicted))

    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == LISTED


async def test_a_workload_that_we_never_saw_may_be_anywhere(past_clusters, a_workload):
    assert past_clusters.of(a_workload(evicted=False), lambda: LISTED) == LISTED


@pytest.mark.parametrize("end", [None, {"finished": True}], ids=["deleted", "finished"])
async def test_what_has_ended_is_forgotten(past_clusters, a_workload, end):
    before = a_workload(on="gpu-c1")
    past_clusters.seen(None, before)

    past_clusters.seen(before, a_workload(**end) if end else None)

    assert past_clusters._pasts == {}


async def test_a_new_workload_of_the_same_name_has_its_own_past(past_clusters, a_workload):
    old = a_workload(on="gpu-c1")
    past_clusters.seen(None, old)
    new = msgspec.structs.replace(a_workload(), metadata=msgspec.structs.replace(old.metadata, uid="another"))

    past_clusters.seen(old, new)
    evicted = a_workload(evicted=False)

    assert past_clusters.of(msgspec.structs.replace(evicted, metadata=new.metadata), lambda: LISTED) == []


@pytest.mark.parametrize(
    ("then", "settled"),
    [
        pytest.param({"nominated": ["gpu-c1"]}, None, id="nominated: Kueue may bring it"),
        pytest.param({"on": "gpu-c1"}, 10.0, id="on one cluster"),
        pytest.param({"quota": False, "evicted": True}, 10.0, id="evicted"),
        pytest.param({"evicted": False}, 10.0, id="evicted, with quota again, and nominated for none"),
    ],
)
async def test_since_when_kueue_brings_no_further_copy(past_clusters, a_workload, then, settled):
    past_clusters.seen(None, a_workload(nominated=["gpu-c1"]))
    await advance(10)
    past_clusters.seen(a_workload(), a_workload(**then))
    await advance(10)
    past_clusters.seen(a_workload(), a_workload(**then))

    assert past_clusters.settled(a_workload()) == settled


async def test_what_was_just_sent_may_be_brought(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(quota=False, evicted=True))
    past_clusters.sent(a_workload(), ["gpu-c1"])

    assert past_clusters.settled(a_workload()) is None


async def test_of_another_workload_of_the_name_nothing_is_known(past_clusters, a_workload):
    past_clusters.seen(None, a_workload(on="gpu-c1"))
    other = msgspec.structs.replace(a_workload(), metadata=msgspec.structs.replace(a_workload().metadata, uid="other"))

    assert past_clusters.settled(other) is None
