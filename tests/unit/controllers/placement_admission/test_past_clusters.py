"""Where an evicted Workload may still have a copy."""

import msgspec
import pytest

from fleetqueue.api.fence import SENT_TO
from fleetqueue.controllers.placement_admission.past_clusters import DELETED_SECONDS, PastClusters
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time
LISTED = ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.fixture
async def past_clusters():
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


def made_anew(workload, **said):
    """Return a Workload of the same name that is another one."""
    return msgspec.structs.replace(workload, metadata=msgspec.structs.replace(workload.metadata, uid="another"), **said)


@pytest.mark.parametrize("is_seen_gone", [True, False], ids=["seen to have gone", "seen when the next was there"])
async def test_where_a_deleted_workload_was_counts_for_who_asks_for_that(past_clusters, a_workload, is_seen_gone):
    old, new = a_workload(on="gpu-c1"), made_anew(a_workload())
    past_clusters.seen(None, old)
    if is_seen_gone:
        past_clusters.seen(old, None)
    past_clusters.seen(None if is_seen_gone else old, new)

    assert past_clusters.of(new, lambda: LISTED, with_deleted=True) == ["gpu-c1"]
    assert past_clusters.of(new, lambda: LISTED) == []


async def test_it_counts_also_after_a_second_deletion(past_clusters, a_workload):
    old, new = a_workload(on="gpu-c1"), made_anew(a_workload())
    for one in (old, new):
        past_clusters.seen(None, one)
        past_clusters.seen(one, None)

    past_clusters.seen(None, old)

    assert past_clusters.of(a_workload(), lambda: LISTED, with_deleted=True) == ["gpu-c1"]


async def test_where_a_finished_workload_was_does_not_count(past_clusters, a_workload):
    old, over = a_workload(on="gpu-c1"), a_workload(finished=True)
    past_clusters.seen(None, old)
    past_clusters.seen(old, over)
    past_clusters.seen(over, None)
    past_clusters.seen(None, made_anew(a_workload()))

    assert past_clusters.of(made_anew(a_workload()), lambda: LISTED, with_deleted=True) == []


async def test_deleted_workloads_are_forgotten_in_time(past_clusters, a_workload):
    for name in ("a", "b"):
        one = a_workload(name, on="gpu-c1")
        past_clusters.seen(None, one)
        past_clusters.seen(one, None)
        await advance(DELETED_SECONDS)

    assert [key for key, _ in past_clusters._deleted.items()] == ["team-a/b"]


async def test_what_may_follow_one_that_nobody_saw_may_be_anywhere_until_it_is_sent(past_clusters, a_workload):
    past_clusters.seen(None, a_workload())
    past_clusters.note_earlier(a_workload(), follows_unseen=True)
    sent = a_workload(annotations={SENT_TO: '{"gpu-c1":""}'})

    assert past_clusters.of(a_workload(), lambda: LISTED, with_deleted=True) == LISTED
    assert past_clusters.of(a_workload(), lambda: LISTED) == []
    assert past_clusters.of(sent, lambda: LISTED, with_deleted=True) == []


@pytest.mark.parametrize(
    ("options", "is_open"),
    [
        pytest.param({}, True, id="it was sent nowhere"),
        pytest.param({"nominated": ["gpu-c1"]}, False, id="it is nominated"),
        pytest.param({"on": "gpu-c1"}, False, id="it is on a cluster"),
        pytest.param({"evicted": False}, False, id="it was evicted"),
        pytest.param({"annotations": {SENT_TO: '{"gpu-c1":""}'}}, False, id="it is noted where it was sent"),
    ],
)
async def test_whether_one_before_it_was_deleted_is_asked_only_of_what_was_sent_nowhere(
    past_clusters, a_workload, options, is_open
):
    past_clusters.seen(None, a_workload(**options))

    assert past_clusters.is_open(a_workload(**options)) is is_open


async def test_whether_one_before_it_was_deleted_is_asked_once(past_clusters, a_workload):
    past_clusters.seen(None, a_workload())
    past_clusters.note_earlier(a_workload(), follows_unseen=False)

    assert not past_clusters.is_open(a_workload())
    past_clusters.seen(a_workload(), made_anew(a_workload()))
    assert past_clusters.is_open(made_anew(a_workload()))


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
