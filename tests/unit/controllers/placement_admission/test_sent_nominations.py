"""Nominations count from before they are written until they are seen."""

import asyncio
from decimal import Decimal

import msgspec
import pytest

from fleetqueue.controllers.placement_admission.sent_nominations import LATEST, SentNominations

pytestmark = pytest.mark.virtual_time


@pytest.fixture
def sent_nominations():
    return SentNominations()


async def test_a_nomination_is_under_way_from_the_moment_it_is_entered(sent_nominations, a_workload):
    sent_nominations.add(a_workload(gpus=2), ["gpu-c1"])

    assert sent_nominations.is_under_way("gpu-c1")
    assert not sent_nominations.is_under_way("gpu-c2")
    assert sent_nominations.seconds_left("team-a/job")
    assert list(sent_nominations.requests_on("gpu-c1")) == [{"nvidia.com/gpu": Decimal(2)}]


async def test_two_workloads_add_up(sent_nominations, a_workload):
    sent_nominations.add(a_workload("one"), ["gpu-c1"])
    sent_nominations.add(a_workload("two"), ["gpu-c1", "gpu-c2"])

    assert len(list(sent_nominations.requests_on("gpu-c1"))) == 2
    assert len(list(sent_nominations.requests_on("gpu-c2"))) == 1


async def test_what_its_workload_shows_already_is_not_under_way_again(sent_nominations, a_workload):
    sent_nominations.add(a_workload(nominated=["gpu-c1"]), ["gpu-c1", "gpu-c2"])

    assert len(list(sent_nominations.requests_on("gpu-c1"))) == 0
    assert len(list(sent_nominations.requests_on("gpu-c2"))) == 1
    assert sent_nominations.is_under_way("gpu-c1")


async def test_what_was_not_written_is_struck(sent_nominations, a_workload):
    sent_nominations.add(a_workload(), ["gpu-c1"])

    sent_nominations.discard("team-a/job")

    assert not sent_nominations.is_under_way("gpu-c1")
    assert not sent_nominations.seconds_left("team-a/job")


async def test_striking_what_is_not_there_does_nothing(sent_nominations):
    sent_nominations.discard("team-a/job")

    assert not sent_nominations.seconds_left("team-a/job")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({"nominated": ["gpu-c1"]}, id="it arrived"),
        pytest.param({"nominated": ["gpu-c2", "gpu-c1"]}, id="it arrived, with another one"),
        pytest.param({"on": "gpu-c1"}, id="the winner is recorded"),
        pytest.param({"on": "gpu-c9"}, id="another winner is recorded"),
        pytest.param({"quota": False}, id="it lost its quota"),
        pytest.param({"evicted": True}, id="it is being evicted"),
        pytest.param({"finished": True}, id="it is finished"),
        pytest.param({"deleting": True}, id="it is being deleted"),
    ],
)
async def test_what_the_cache_shows_ends_it(sent_nominations, a_workload, seen):
    before = a_workload()
    sent_nominations.add(before, ["gpu-c1"])

    sent_nominations.seen(before, a_workload(**seen))

    assert not sent_nominations.is_under_way("gpu-c1")


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({}, id="nothing yet"),
        pytest.param({"nominated": ["gpu-c2"]}, id="an older nomination"),
        pytest.param({"checks": {"mk": "Pending", "ac": ("Ready", "new words")}}, id="another change"),
    ],
)
async def test_what_does_not_show_it_leaves_it_under_way(sent_nominations, a_workload, seen):
    before = a_workload()
    sent_nominations.add(before, ["gpu-c1"])

    sent_nominations.seen(before, a_workload(**seen))

    assert sent_nominations.is_under_way("gpu-c1")


async def test_a_workload_that_is_gone_ends_it(sent_nominations, a_workload):
    sent_nominations.add(a_workload(), ["gpu-c1"])

    sent_nominations.seen(a_workload(), None)

    assert not sent_nominations.is_under_way("gpu-c1")


async def test_a_new_workload_of_the_same_name_ends_it(sent_nominations, a_workload):
    old = a_workload()
    sent_nominations.add(old, ["gpu-c1"])
    new = msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, uid="another"))

    sent_nominations.seen(old, new)

    assert not sent_nominations.is_under_way("gpu-c1")


async def test_changes_of_other_workloads_do_not_matter(sent_nominations, a_workload):
    sent_nominations.add(a_workload(), ["gpu-c1"])

    sent_nominations.seen(None, a_workload("other", nominated=["gpu-c1"]))
    sent_nominations.seen(None, None)

    assert sent_nominations.is_under_way("gpu-c1")


async def test_after_a_minute_it_counts_as_seen(sent_nominations, a_workload):
    sent_nominations.add(a_workload(), ["gpu-c1"])

    await asyncio.sleep(LATEST - 1)
    assert sent_nominations.is_under_way("gpu-c1")
    await asyncio.sleep(1)

    assert not sent_nominations.is_under_way("gpu-c1")
    assert not sent_nominations.seconds_left("team-a/job")
    assert list(sent_nominations.requests_on("gpu-c1")) == []
