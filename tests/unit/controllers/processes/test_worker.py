"""The process on a worker: it publishes scores, and says what it cannot see."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import AddOnPlacementScore
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.fence import LEASE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.fence.settings import FenceSettings
from fleetqueue.controllers.processes.settings import WorkerSettings
from fleetqueue.controllers.processes.worker import WorkerProcess
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import advance, running, settle


def process(hub: ArrangedApi, worker: ArrangedApi, *, fence: bool = True) -> WorkerProcess:
    apis = {"https://hub": hub, "https://worker": worker}
    return WorkerProcess(
        Connection("https://worker"),
        Connection("https://hub"),
        WorkerSettings(cluster="cluster1", fence=FenceSettings(enabled=fence)),
        dial=lambda connection: Client(apis[connection.server]),
    )


async def test_scores_reach_the_hub(api, new_api):
    worker = new_api()
    api.namespace("cluster1")
    worker.add(Node.manifest("n", status={"allocatable": {"cpu": "8", "nvidia.com/gpu": "3"}}))
    agent = process(api, worker)

    async with running(agent.agent.run()):
        await advance(1)

        assert agent.why_not_ready() == ""
    assert api.get(AddOnPlacementScore, "resource-usage-score", "cluster1").value("gpuClusterAvailable") == -70


@pytest.mark.parametrize("fence", [True, False], ids=["by default", "not where it is off"])
async def test_it_promises_to_stop_jobs(api, new_api, fence):
    worker = new_api()
    api.namespace("cluster1")
    worker.namespace("fleetqueue-system")

    async with running(process(api, worker, fence=fence).work()):
        await advance(5)

    assert (api.get(Lease, LEASE, "cluster1") is not None) is fence


async def test_before_it_has_seen_the_worker_it_is_not_ready(api, new_api):
    assert process(api, new_api()).why_not_ready() == "caches are not filled yet"


async def test_what_it_may_not_see_is_named(api, new_api):
    worker = new_api()
    worker.fail_on("watch pods", errors.Forbidden("pods is forbidden"))
    agent = process(api, worker)

    async with running(agent.agent.run()):
        await settle()

        assert "cluster1 Pod: pods is forbidden" in agent.why_not_ready()
