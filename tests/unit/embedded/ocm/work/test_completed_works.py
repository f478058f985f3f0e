"""Completed works are deleted when their time is over."""

import pytest

from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import timestamp
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work.completed_works import CompletedWorkController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import START, advance
from tests.invariants.second_look import managed

from .objects import config_map, work_manifest


@pytest.mark.embedded_only("the time of completion is the test's")
@pytest.mark.parametrize(
    ("labels", "ttl", "is_kept"),
    [
        pytest.param({}, 60, False, id="its time is over"),
        pytest.param({}, None, True, id="it has no time"),
        pytest.param({work.REPLICA_SET_LABEL: "ns.set"}, 60, True, id="a replica set looks after it"),
    ],
)
async def test_completed_works_are_deleted_when_their_time_is_over(env, labels, ttl, is_kept):
    option = {"propagationPolicy": "Foreground"} | ({"ttlSecondsAfterFinished": ttl} if ttl else {})
    manifest = work_manifest("w", config_map(), labels=labels, deleteOption=option)
    env.hub.add({**manifest, "status": {"conditions": [condition("Complete", since=timestamp(START))]}})
    hub = Cluster("hub", Client(env.hub))
    async with managed(Manager(hub, [CompletedWorkController(hub, Metrics())])):
        await advance(50)
        before = env.work()
        await advance(20)

    assert before is not None
    assert (env.work() is not None) == is_kept
