"""The webhooks of a pod: asked while it runs, refusing while it is away, and never taken away by an older pod."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.leaderworkerset_v1 import SET_NAME
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.pods import operators
from fleetqueue.fleets.pods.kueue import expect_webhooks
from fleetqueue.fleets.pods.webhooks import PodWebhooks
from fleetqueue.fleets.systems import kueue
from fleetqueue.fleets.systems.operators import LEADER_WORKER_SETS
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, SystemPart, create_all, install, install_kinds
from fleetqueue.testing.arranged_objects import resource_of
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import advance, running

pytestmark = pytest.mark.virtual_time

POD_OF_A_SET = Pod.manifest("p", "default", labels={SET_NAME: "s"}, spec=pod_template()["spec"])
PART = SystemPart("part", "default", image="part", args=(), account="part", rules=())


def marking(mark):
    """Hooks that write into every ConfigMap of `default` who was asked."""

    def call(old, new):
        return {**new, "data": {"asked": mark}}

    return [AdmissionHook("mark.test", "", "v1", ("configmaps",), ("CREATE",), call, is_mutating=True)]


@pytest.fixture
async def fleet():
    async with EmbeddedFleet.open(0) as fleet:
        yield fleet


async def asked(fleet, name):
    made = await fleet.hub.client().create(ConfigMap.resource, ConfigMap.manifest(name, "default", data={}))
    return made.get("data", {}).get("asked")


def pod(fleet):
    return PodWebhooks(fleet.hub.server, "part", namespace="default", deployment="part")


async def test_an_older_pod_that_ends_leaves_the_newer_one_its_say(fleet):
    older, newer = pod(fleet), pod(fleet)
    older.install(marking("older"))
    newer.install(marking("newer"))

    older.install(())

    assert await asked(fleet, "one") == "newer"


async def test_a_newer_pod_that_ends_gives_the_older_one_its_say_back(fleet):
    oldest, older, newer = pod(fleet), pod(fleet), pod(fleet)
    for one, mark in ((oldest, "oldest"), (older, "older"), (newer, "newer")):
        one.install(marking(mark))
    await fleet.hub.client().create(DEPLOYMENTS, PART.deployment())

    older.install(())
    newer.install(())

    assert await asked(fleet, "one") == "oldest"


async def test_when_the_last_of_several_pods_ends_nothing_gets_past(fleet):
    older, newer = pod(fleet), pod(fleet)
    older.install(marking("older"))
    newer.install(marking("newer"))
    await fleet.hub.client().create(DEPLOYMENTS, PART.deployment())

    newer.install(())
    older.install(())

    with pytest.raises(errors.ServerError, match=r'failed calling webhook "mark.test"'):
        await asked(fleet, "one")


async def test_while_no_pod_is_there_nothing_gets_past(fleet):
    only = pod(fleet)
    only.install(marking("only"))
    await fleet.hub.client().create(DEPLOYMENTS, PART.deployment())

    only.install(())

    with pytest.raises(errors.ServerError, match=r'failed calling webhook "mark.test"'):
        await asked(fleet, "one")


async def test_a_part_that_is_gone_for_good_is_not_asked(fleet):
    only = pod(fleet)
    only.install(marking("only"))

    only.install(())

    assert await asked(fleet, "one") is None


async def test_a_kueue_that_is_stored_lets_nothing_past_before_its_pod_runs():
    cluster = await InProcessCluster.new("c")
    client = cluster.client()
    await create_all(client, kueue.before(kueue.CONFIG))
    await install(client, kueue.KUEUE)

    expect_webhooks(cluster.server)

    with pytest.raises(errors.ServerError, match=r'failed calling webhook "mjob.kb.io"'):
        await client.create(Job.resource, Job.manifest("j", "default", spec={"template": pod_template()}))
    await install(client, kueue.KUEUE)  # what is there is found all the same


@pytest.mark.parametrize(
    ("part", "made", "hook"),
    [
        pytest.param(kueue.JOBSET, JobSet.manifest("j", "default", spec={}), "mjobset.kb.io", id="JobSet"),
        pytest.param(LEADER_WORKER_SETS, POD_OF_A_SET, "mpod.lws.kb.io", id="LeaderWorkerSet"),
    ],
)
async def test_an_operator_that_is_stored_lets_nothing_past_before_its_pod_runs(part, made, hook):
    cluster = await InProcessCluster.new("c")
    client = cluster.client()
    await install(client, part)
    async with running(cluster.server.run()):
        await install_kinds(client, "jobset")
        await advance(2)

        operators.expect_webhooks(cluster.server)

        with pytest.raises(errors.ServerError, match=f'failed calling webhook "{hook}"'):
            await client.create(resource_of(made), made)


async def test_where_none_is_stored_nobody_is_asked():
    cluster = await InProcessCluster.new("c")

    expect_webhooks(cluster.server)
    operators.expect_webhooks(cluster.server)

    assert cluster.server.webhooks.hooks == []
