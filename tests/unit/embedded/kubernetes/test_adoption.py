"""Sets take over what nobody answers for, and let go what they select no longer."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet
from fleetqueue.embedded.kubernetes.stateful_sets import StatefulSetController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

POD = {"containers": [{"name": "main", "image": "x"}]}
SPEC = {
    "replicas": 2,
    "selector": {"matchLabels": {"app": "db"}},
    "template": {"metadata": {"labels": {"app": "db"}}, "spec": POD},
}


@pytest.fixture
def running(env):
    return lambda: env.running(StatefulSetController, GarbageCollectionController)


async def make(env):
    await env.add(StatefulSet, "db", spec=SPEC)
    await settle()


async def run_all(env):
    for name in ("db-0", "db-1"):
        await env.run_pod(name)
        await settle()


async def owners(env, kind=Pod):
    found = await env.list(kind)
    return {
        raw["metadata"]["name"]: [one["name"] for one in raw["metadata"].get("ownerReferences") or ()] for raw in found
    }


async def test_a_set_that_is_made_again_takes_its_pods_and_its_revision(env, running):
    async with running():
        await make(env)
        await run_all(env)
        uids = [pod["metadata"]["uid"] for pod in await env.pods()]
        await env.delete(StatefulSet, "db", propagation="Orphan")
        await settle()
        assert await owners(env) == {"db-0": [], "db-1": []}
        await make(env)

        assert await owners(env) == {"db-0": ["db"], "db-1": ["db"]}
        assert [pod["metadata"]["uid"] for pod in await env.pods()] == uids
        assert list((await owners(env, ControllerRevision)).values()) == [["db"]]
        assert (await env.get(StatefulSet, "db"))["status"]["updatedReplicas"] == 2


async def test_a_set_without_pods_takes_its_revision(env, running):
    async with running():
        await env.add(StatefulSet, "db", spec={**SPEC, "replicas": 0})
        await settle()
        await env.delete(StatefulSet, "db", propagation="Orphan")
        await settle()
        assert list((await owners(env, ControllerRevision)).values()) == [[]]
        await env.add(StatefulSet, "db", spec={**SPEC, "replicas": 0})
        await settle()

        assert list((await owners(env, ControllerRevision)).values()) == [["db"]]
        assert (await env.get(StatefulSet, "db"))["status"]["updateRevision"] in await owners(env, ControllerRevision)


async def test_a_pod_that_appears_is_adopted_where_its_name_fits(env, running):
    async with running():
        await env.add(Pod, "db-1", labels={"app": "other"}, spec=POD)
        await env.add(Pod, "guest", labels={"app": "db"}, spec=POD)
        await make(env)
        await env.run_pod("db-0")
        await settle()
        assert (await owners(env))["db-1"] == []
        await env.change(Pod, "db-1", metadata={"labels": {"app": "db"}})
        await settle()

        assert await owners(env) == {"db-0": ["db"], "db-1": ["db"], "guest": []}
        await env.delete(Pod, "guest")


async def test_a_pod_that_is_selected_no_longer_is_let_go(env, running):
    async with running():
        await make(env)
        await run_all(env)
        await env.change(Pod, "db-1", metadata={"labels": {"app": "to-debug"}})
        await settle()
        assert (await owners(env))["db-1"] == []
        await env.delete(Pod, "db-1")
        await advance(10)

        assert await owners(env) == {"db-0": ["db"], "db-1": ["db"]}


async def test_a_set_that_goes_takes_nothing(env):
    async with env.running(StatefulSetController):
        await env.add(StatefulSet, "db", spec={**SPEC, "replicas": 0}, finalizers=["example.com/keep"])
        await settle()
        await env.delete(StatefulSet, "db")
        await env.add(Pod, "db-0", labels={"app": "db"}, spec=POD)
        await settle()

        assert await owners(env) == {"db-0": []}


async def test_a_set_that_goes_lets_nothing_go(env):
    async with env.running(StatefulSetController):
        await env.add(StatefulSet, "db", spec=SPEC, finalizers=["example.com/keep"])
        await settle()
        await env.delete(StatefulSet, "db")
        await env.change(Pod, "db-0", metadata={"labels": {"app": "to-debug"}})
        await settle()

        assert await owners(env) == {"db-0": ["db"]}


async def test_the_server_is_asked_whether_the_set_is_still_there(env):
    async with env.running(StatefulSetController) as (controller,):
        await env.add(StatefulSet, "db", spec={**SPEC, "replicas": 0}, finalizers=["example.com/keep"])
        stale = StatefulSet.view(await env.get(StatefulSet, "db"))
        await env.delete(StatefulSet, "db")
        await env.add(Pod, "db-0", labels={"app": "db"}, spec=POD)
        await settle()

        await controller.adoption.settle(stale, stale.spec.selector, ())

        assert await owners(env) == {"db-0": []}


async def test_an_adoption_that_failed_is_tried_again(env, running):
    await env.add(Pod, "db-0", labels={"app": "db"}, spec=POD)
    env.fail_once("PATCH /api/v1/namespaces/default/pods/db-0")

    async with running():
        await make(env)
        await advance(5)

        assert (await owners(env))["db-0"] == ["db"]
