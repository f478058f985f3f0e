"""What was written of pods, until the cache shows it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.pods.pod_writes import UNSURE_SECONDS, PodWrites
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def pod(world):
    """A pod as it was seen, before anybody writes it."""
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "example.com/wait"}]}
    await world.add(Pod.manifest("p", NAMESPACE, spec=spec))
    return await world.client.get(Pod.resource, "p", NAMESPACE)


@pytest.fixture
def writes(world):
    hub = Cluster("hub", world.fleet.dial(parse(world.fleet.hub.kubeconfig)))
    return PodWrites(hub, SeriesRecorder(hub.client, "tests"))


def marked(pod):
    return {**pod, "metadata": {**pod["metadata"], "labels": {"a": "b"}}}


async def test_a_cached_pod_is_behind_what_was_written(world, pod, writes):
    await writes.change(pod, marked(pod))

    assert writes.is_behind([pod])
    assert not writes.is_behind([await world.client.get(Pod.resource, "p", NAMESPACE)])


@pytest.mark.parametrize("happens", [False, True], ids=["the request is lost", "only its answer is lost"])
async def test_a_write_without_an_answer_is_waited_for_as_long_as_it_may_show(world, pod, writes, happens):
    world.way.fail_on("patch pods/*", errors.Unreachable("lost"), times=1, happens=happens)

    with pytest.raises(errors.Unreachable):
        await writes.change(pod, marked(pod))

    assert writes.is_behind([pod])
    await advance(UNSURE_SECONDS)
    assert not writes.is_behind([pod])


async def test_a_write_without_an_answer_that_shows_is_no_longer_waited_for(world, pod, writes):
    world.way.fail_on("patch pods/*", errors.Unreachable("lost"), times=1, happens=True)

    with pytest.raises(errors.Unreachable):
        await writes.change(pod, marked(pod))

    assert not writes.is_behind([await world.client.get(Pod.resource, "p", NAMESPACE)])
