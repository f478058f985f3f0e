"""The Workloads of one job go to one cluster, also while it drains, and are not taken back for ever."""

import pytest

from fleetqueue.controllers.placement_admission.groups import cluster_of, group_of, is_first
from fleetqueue.testing.virtual_time import advance, settle

RUNNING = {"mk": "Ready", "ac": "Ready"}
ASKED = {"mk": "Pending", "ac": "Pending"}
KIND = "batch/v1, Kind=LeaderWorkerSet"


def of_group(index, kind=KIND, **options):
    """Return the options of a Workload with an index in the group of one job."""
    annotations = {"kueue.x-k8s.io/job-owner-gvk": kind, "kueue.x-k8s.io/component-workload-index": str(index)}
    return {"owner": "LeaderWorkerSet", "owner_uid": "uid-of-lws", "annotations": annotations, **options}


@pytest.mark.parametrize(
    ("options", "group"),
    [
        pytest.param({}, "", id="a job of one Workload"),
        pytest.param(of_group(0), "uid-of-lws", id="one of several"),
        pytest.param(of_group(0, kind="apps/v1, Kind=StatefulSet"), "", id="its job is another"),
        pytest.param({"annotations": {"kueue.x-k8s.io/job-owner-gvk": KIND}}, "", id="without an index"),
    ],
)
def test_the_group_of_a_workload(a_workload, options, group):
    assert group_of(a_workload(**options)) == group


def test_the_one_with_the_lowest_index_is_the_first(a_workload):
    first, second, tenth = (a_workload(f"w{index}", **of_group(index)) for index in (0, 1, 10))

    assert is_first(first, [second, tenth])
    assert not is_first(tenth, [second])
    assert is_first(second, [tenth])


def test_the_cluster_of_a_group(a_workload):
    placed = a_workload("w0", **of_group(0, on="gpu-c1"))
    waiting = a_workload("w1", **of_group(1, nominated=["gpu-c2"]))

    assert cluster_of([waiting, placed]) == "gpu-c1"
    assert cluster_of([waiting]) == cluster_of([]) == ""


@pytest.fixture
async def two_clusters(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()


@pytest.mark.usefixtures("two_clusters")
async def test_the_others_go_where_the_first_went(env):
    async with env.beating():
        await env.connected()
        env.workload("first", **of_group(0, checks=ASKED))
        env.workload("second", **of_group(1, checks=ASKED))
        await settle()
        assert env.nominated("first") == ["gpu-c1"]
        assert env.nominated("second") == []
        assert env.events("NoClusterToNominate") == [
            "it goes where the first Workload of its job goes, which has no cluster yet"
        ]

        env.change_workload("first", on="gpu-c1", checks=RUNNING)
        await settle()

        assert env.nominated("second") == ["gpu-c1"]
        assert env.state(workload="second") == "Ready"
        assert "gpu-c1; the other Workloads of its job are on gpu-c1" in env.events("Nominated")


@pytest.mark.usefixtures("two_clusters")
async def test_one_that_belongs_to_a_draining_cluster_is_sent_there_and_not_taken_back(env):
    env.workload("first", **of_group(0, on="gpu-c1", checks=RUNNING))
    env.copy("c1", "first", admitted=True)

    async with env.beating():
        await env.connected()
        env.select("c2")
        await settle()
        env.workload("second", **of_group(1, checks=ASKED))
        await advance(600)

        assert env.nominated("second") == ["gpu-c1"]
        assert env.state(workload="second") == "Ready"
        assert env.events("TakenBack") == []


@pytest.mark.usefixtures("two_clusters")
async def test_when_the_drain_times_out_none_is_sent_back_to_where_the_others_still_are(env):
    env.workload("first", **of_group(0, on="gpu-c1", checks=RUNNING))
    env.copy("c1", "first", admitted=True)

    async with env.beating(drain_timeout=60):
        await env.connected()
        env.select("c2")
        await advance(70)
        assert env.state(workload="first") == "Retry"
        env.workload("second", **of_group(1, checks=ASKED))
        await settle()
        assert env.nominated("second") == []
        assert env.events("NoClusterToNominate") == ["the other Workloads of its job are being taken back from gpu-c1"]

        env.remove_copy("c1", "first")
        env.change_workload("first", checks=ASKED, evicted=False)
        await advance(5)

        assert env.nominated("first") == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_one_that_waits_for_a_cluster_that_is_not_connected_says_so(env):
    env.workload("first", **of_group(0, on="gpu-c1", checks=RUNNING))

    async with env.beating():
        await env.connected()
        env.disconnect("gpu-c1")
        env.workload("second", **of_group(1, checks=ASKED))
        await settle()
        assert env.nominated("second") == []
        assert env.events("NoClusterToNominate") == [
            "the other Workloads of its job are on gpu-c1, which is not connected"
        ]

        env.connect("gpu-c1")
        await settle()

        assert env.nominated("second") == ["gpu-c1"]
