"""Positions in queues, as the visibility API tells them."""

import pytest

from fleetqueue.admin.queue_positions import QueuePosition, queue_positions
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.testing.builders import condition

PATH = "/apis/visibility.kueue.x-k8s.io/{}/namespaces/team-a/localqueues/queue/pendingworkloads"
GROUP_PATH = "/apis/visibility.kueue.x-k8s.io/{}"
SERVED = {"resources": [{"name": "localqueues/pendingworkloads"}]}
SUMMARY = {
    "items": [
        {"metadata": {"name": "first", "namespace": "team-a"}},
        {"metadata": {"name": "third", "namespace": "team-a"}, "positionInClusterQueue": 2, "positionInLocalQueue": 1},
    ]
}

pytestmark = pytest.mark.embedded_only("the answers are the test's own")


def workload(name, *conditions, **spec):
    spec = {"queueName": "queue", **spec}
    return kueue.Workload.view(
        kueue.Workload.manifest(name, "team-a", spec=spec, status={"conditions": list(conditions)})
    )


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_positions_are_counted_from_one(api, version):
    api.answers[f"GET {GROUP_PATH.format(version)}"] = SERVED
    api.answers[f"GET {PATH.format(version)}"] = SUMMARY

    found = await queue_positions(Client(api), [workload("first"), workload("third")])

    assert found == {"team-a/first": QueuePosition(1, 1), "team-a/third": QueuePosition(3, 2)}


async def test_nothing_is_claimed_where_the_api_is_not_served(api):
    assert await queue_positions(Client(api), [workload("first")]) == {}


def refused(error):
    def answer(request):
        raise error

    return answer


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.Forbidden("no"), id="who may not read it"),
        pytest.param(errors.NotFound("no"), id="a queue that is stopped"),
        pytest.param(errors.ServerError("away", code=503), id="its server is away"),
    ],
)
async def test_nothing_is_claimed_where_it_cannot_be_read(api, error):
    api.answers[f"GET {GROUP_PATH.format('v1beta2')}"] = SERVED
    api.answers[f"GET {PATH.format('v1beta2')}"] = refused(error)

    assert await queue_positions(Client(api), [workload("first")]) == {}


async def test_a_server_that_is_away_is_asked_for_no_version(api):
    api.answers[f"GET {GROUP_PATH.format('v1beta2')}"] = refused(errors.ServerError("away", code=503))

    assert await queue_positions(Client(api), [workload("first")]) == {}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(workload("w", condition("QuotaReserved")), id="it has quota"),
        pytest.param(workload("w", condition("Finished")), id="it has ended"),
        pytest.param(workload("w", active=False), id="it is deactivated"),
        pytest.param(workload("w", queueName=""), id="it names no queue"),
    ],
)
async def test_nobody_is_asked_for_one_that_does_not_wait(api, found):
    api.answers[f"GET {GROUP_PATH.format('v1beta2')}"] = refused(AssertionError("asked"))

    assert await queue_positions(Client(api), [found]) == {}
