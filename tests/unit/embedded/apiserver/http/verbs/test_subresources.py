"""What is asked of containers, in clusters whose pods have none."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod

CONTAINERS = [{"name": "main", "image": "example.com/sleep"}]


@pytest.mark.parametrize(
    ("part", "wanted"),
    [("exec", "run a command in"), ("attach", "attach to"), ("portforward", "connect to")],
)
async def test_a_pod_without_containers_says_so(client, part, wanted):
    await client.create(Pod.resource, Pod.manifest("p", "default", spec={"containers": CONTAINERS}))

    with pytest.raises(errors.ServerError) as refused:
        await client.get(Pod.resource, "p", "default", part)

    assert refused.value.code == 501
    told = f'pod "default/p" is a stand-in: no container runs in it, so there is nothing to {wanted}'
    assert refused.value.message == told


async def test_the_log_of_a_pod_that_is_not_there_is_not_found(client):
    with pytest.raises(errors.NotFound) as refused:
        await client.get(Pod.resource, "p", "default", "log")

    assert refused.value.message == 'pods "p" not found'


async def test_who_may_not_read_logs_hears_that_first(client, alice):
    with pytest.raises(errors.Forbidden):
        await alice.get(Pod.resource, "p", "default", "log")
