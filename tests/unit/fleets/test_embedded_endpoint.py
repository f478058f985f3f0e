"""What is lost of a cluster comes back by itself, and all that runs in it."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.fleets.embedded_cluster import cluster_parts
from fleetqueue.fleets.embedded_endpoint import kept_up
from fleetqueue.testing.virtual_time import advance, running

pytestmark = pytest.mark.virtual_time


def keep(begin):
    return running(kept_up(begin, cluster="c", what="parts"))


@pytest.mark.parametrize("failure", [RuntimeError("no"), asyncio.CancelledError("a request of its own was")])
async def test_what_fails_is_begun_anew_later_and_later(failure):
    begun = []

    async def fail():
        begun.append(clock.monotonic())
        raise failure

    async with keep(fail):
        await advance(100)

    assert begun == [0, 0, 10, 30, 70]


async def test_what_ends_by_itself_is_begun_anew(caplog):
    begun = []

    async def end():
        begun.append(clock.monotonic())
        await asyncio.sleep(3600)

    async with keep(end):
        await advance(2 * 3600 + 60)

    assert begun == [0, 3600, 7200]
    assert caplog.messages == ["work has ended by itself"] * 2


async def test_what_is_told_to_stop_stops():
    async with keep(asyncio.Event().wait) as task:
        await advance(1)

    assert task.cancelled()


def broken(old, new):
    if old is not None:
        raise KeyError("a defect of ours")


async def test_a_cluster_whose_parts_failed_runs_pods_again():
    cluster = await InProcessCluster.new("c")
    client = cluster.client()
    lives = []

    def begin():
        lives.append(cluster_parts("c", cluster.server, token=cluster.admin_token))
        return lives[-1].run()

    async with running(cluster.server.run()), keep(begin):
        await advance(60)
        lives[0].hub.informer(Node).subscribe(broken)
        await client.merge(Node.resource, "c-control-plane", "", {"metadata": {"labels": {"a": "b"}}})
        await advance(1)
        spec = {"containers": [{"name": "main", "image": "busybox"}]}
        await client.create(Pod.resource, Pod.manifest("pod", "default", spec=spec))
        await advance(20)

        assert len(lives) == 2
        assert (await client.get(Pod.resource, "pod", "default"))["status"]["phase"] == "Running"
