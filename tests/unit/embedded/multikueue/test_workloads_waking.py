"""Who is woken: Workloads with a check of MultiKueue's; those of a mere worker let it sleep."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.multikueue.workloads import MultiKueueWorkloadController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.testing.virtual_time import running
from fleetqueue.testing.waking import woken

from .objects import NAMESPACE, admitted, hub_workload, job_manifest

KEY = f"{NAMESPACE}/j"


@pytest.fixture
async def controller(env):
    env.arrange()
    hub = Cluster("hub", env.hub.client())
    made = wiring.controllers(hub, env.metrics, MultiKueueSettings(), dial=env.fleet.dial)
    (found,) = (each for each in made if isinstance(each, MultiKueueWorkloadController))
    found.subscribe()
    async with running(hub.run()):
        await hub.synced()
        await woken(found)
        yield found


async def test_a_workload_with_a_check_is_looked_at_when_it_or_its_job_changes(env, controller):
    env.submit()
    came = await woken(controller)

    env.hub.change(Job, "j", NAMESPACE, metadata={"labels": {"a": "b"}})
    with_its_job = await woken(controller)
    env.tell("hub", Evicted="Preempted")

    assert (came, with_its_job, await woken(controller)) == ({KEY}, {KEY}, {KEY})


async def test_a_workload_without_one_is_looked_at_when_it_comes_and_goes_and_not_in_between(env, controller):
    env.hub.add(job_manifest())
    env.hub.add(hub_workload("j", env.job().uid))
    came = await woken(controller)

    env.hub.apply_as("kueue-admission", kueue.Workload, "j", NAMESPACE, status=admitted())
    env.hub.change(Job, "j", NAMESPACE, metadata={"labels": {"a": "b"}})
    in_between = await woken(controller)
    env.hub.change(kueue.Workload, "j", NAMESPACE, metadata={"finalizers": None})
    env.hub.remove(kueue.Workload, "j", NAMESPACE)

    assert (came, in_between, await woken(controller)) == ({KEY}, set(), {KEY})


async def test_a_workload_that_gets_a_check_is_looked_at(env, controller):
    env.hub.add(job_manifest())
    env.hub.add(hub_workload("j", env.job().uid))
    await woken(controller)

    env.reserve()

    assert await woken(controller) == {KEY}
