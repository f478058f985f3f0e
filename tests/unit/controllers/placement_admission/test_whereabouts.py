"""Where an evicted Workload may still have a copy."""

import msgspec
import pytest

from fleetqueue.controllers.placement_admission.whereabouts import Whereabouts

LISTED = ["gpu-c1", "gpu-c2", "gpu-c3"]


@pytest.fixture
def whereabouts():
    return Whereabouts()


def test_a_workload_that_was_never_evicted_is_nowhere_else(whereabouts, a_workload):
    whereabouts.seen(None, a_workload(nominated=["gpu-c1"]))

    assert whereabouts.of(a_workload(), lambda: LISTED) == []


def test_an_evicted_workload_may_be_wherever_it_was_seen(whereabouts, a_workload):
    whereabouts.seen(None, a_workload(nominated=["gpu-c1"]))
    whereabouts.seen(a_workload(), a_workload(on="gpu-c2"))
    whereabouts.seen(a_workload(), a_workload(evicted=True))

    assert whereabouts.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c1", "gpu-c2"]


def test_where_it_was_sent_counts_before_the_cache_shows_it(whereabouts, a_workload):
    whereabouts.seen(None, a_workload())
    whereabouts.sent(a_workload(), ["gpu-c3"])

    assert whereabouts.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c3"]


def test_a_member_that_somebody_took_off_the_list_counts_too(whereabouts, a_workload):
    whereabouts.seen(None, a_workload(on="gpu-c9"))

    assert whereabouts.of(a_workload(evicted=False), lambda: LISTED) == ["gpu-c9"]


@pytest.mark.parametrize("evicted", [True, False], ids=["on its way out", "with quota again"])
def test_a_workload_that_was_evicted_before_we_first_saw_it_may_be_anywhere(whereabouts, a_workload, evicted):
    whereabouts.seen(None, a_workload(evicted=evicted))

    assert whereabouts.of(a_workload(evicted=False), lambda: LISTED) == LISTED


def test_a_workload_that_we_never_saw_may_be_anywhere(whereabouts, a_workload):
    assert whereabouts.of(a_workload(evicted=False), lambda: LISTED) == LISTED


@pytest.mark.parametrize("end", [None, {"finished": True}], ids=["deleted", "finished"])
def test_what_has_ended_is_forgotten(whereabouts, a_workload, end):
    before = a_workload(on="gpu-c1")
    whereabouts.seen(None, before)

    whereabouts.seen(before, a_workload(**end) if end else None)

    assert whereabouts._pasts == {}


def test_a_new_workload_of_the_same_name_has_its_own_past(whereabouts, a_workload):
    old = a_workload(on="gpu-c1")
    whereabouts.seen(None, old)
    new = msgspec.structs.replace(a_workload(), metadata=msgspec.structs.replace(old.metadata, uid="another"))

    whereabouts.seen(old, new)
    evicted = a_workload(evicted=False)

    assert whereabouts.of(msgspec.structs.replace(evicted, metadata=new.metadata), lambda: LISTED) == []
