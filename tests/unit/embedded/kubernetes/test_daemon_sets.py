"""DaemonSets keep a pod on every node that they are meant for."""

import re

import pytest

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet
from fleetqueue.embedded.kubernetes.daemon_sets import DaemonSetController
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time


def template(image="agent:1", **spec):
    pod = {"containers": [{"name": "main", "image": image}], "nodeSelector": {"ours": "yes"}, **spec}
    return {"metadata": {"labels": {"app": "agent"}}, "spec": pod}


class Agent:
    """The one DaemonSet of a test, and the nodes around it."""

    def __init__(self, env):
        self.env = env

    async def add_nodes(self, *names, **labels):
        for name in names:
            await self.env.add(Node, name, labels={"ours": "yes", **labels})
        await settle()

    async def make(self, **spec):
        whole = {"selector": {"matchLabels": {"app": "agent"}}, "template": template(), **spec}
        await self.env.add(DaemonSet, "agent", spec=whole)
        await settle()

    async def change(self, **spec):
        await self.env.change(DaemonSet, "agent", spec=spec)
        await settle()

    async def run_all(self):
        """Let every pod get ready, as long as new ones come."""
        for _ in range(40):
            waiting = [pod for pod in await self.env.pods() if pod["status"]["phase"] == "Pending"]
            if not waiting:
                return
            for pod in waiting:
                await self.env.run_pod(pod["metadata"]["name"])
                await settle()
        raise AssertionError("it does not end")

    async def nodes(self):
        return sorted(node_of(pod) for pod in await self.env.pods())

    async def images(self):
        return {node_of(pod): pod["spec"]["containers"][0]["image"] for pod in await self.env.pods()}

    async def pod_on(self, node):
        return next(pod["metadata"]["name"] for pod in await self.env.pods() if node_of(pod) == node)

    async def status(self):
        return (await self.env.get(DaemonSet, "agent"))["status"]

    async def revisions(self):
        return sorted(one["revision"] for one in await self.env.list(ControllerRevision))


def node_of(pod):
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]


@pytest.fixture
def agent(env):
    return Agent(env)


@pytest.fixture
def running(env):
    return lambda: env.running(DaemonSetController, GarbageCollectionController)


async def test_every_node_gets_a_pod(env, agent, running):
    async with running():
        await agent.add_nodes("n1", "n2")
        await agent.make()
        await agent.run_all()

        assert await agent.nodes() == ["n1", "n2"]
        assert await agent.status() == {
            "desiredNumberScheduled": 2,
            "currentNumberScheduled": 2,
            "numberMisscheduled": 0,
            "numberReady": 2,
            "numberAvailable": 2,
            "updatedNumberScheduled": 2,
            "observedGeneration": 1,
        }
        (pod, _) = await env.pods()
        (revision,) = await env.list(ControllerRevision)
        assert pod["metadata"]["generateName"] == "agent-"
        assert pod["metadata"]["labels"] == {
            "app": "agent",
            "pod-template-generation": "1",
            "controller-revision-hash": revision["metadata"]["labels"]["controller-revision-hash"],
        }
        assert len(await env.events("SuccessfulCreate")) == 2


async def test_it_follows_the_nodes(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        await agent.run_all()
        await agent.add_nodes("n2")
        assert await agent.nodes() == ["n1", "n2"]
        await agent.run_all()
        await env.change(Node, "n1", metadata={"labels": {"ours": None}})
        await settle()

        assert await agent.nodes() == ["n2"]
        assert (await agent.status())["desiredNumberScheduled"] == 1
        assert len(await env.events("SuccessfulDelete")) == 1


async def test_a_pod_whose_node_went_before_it_came_goes(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        assert await agent.nodes() == ["n1"]
        await env.delete(Node, "n1")
        await settle()

        assert await env.pods() == []


async def test_a_beat_of_a_node_wakes_nobody(env, agent):
    async with env.running(DaemonSetController) as (controller,):
        await agent.add_nodes("n1")
        await agent.make()
        reconciles = controller._reconciles["done"]._value.get()
        await env.set_status(Node, "n1", allocatable={"cpu": "4"})
        await settle()

        assert controller._reconciles["done"]._value.get() == reconciles


async def test_an_update_goes_node_by_node(env, agent, running):
    async with running():
        await agent.add_nodes("n1", "n2", "n3")
        await agent.make()
        await agent.run_all()
        await agent.change(template=template("agent:2"))
        assert sorted((await agent.images()).values()) == ["agent:1", "agent:1", "agent:2"]
        assert (await agent.status())["updatedNumberScheduled"] == 1
        await agent.run_all()

        assert set((await agent.images()).values()) == {"agent:2"}
        assert await agent.revisions() == [1, 2]


async def test_an_update_with_a_surge_never_leaves_a_node_alone(env, agent, running):
    async with running():
        await agent.add_nodes("n1", "n2")
        await agent.make(updateStrategy={"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}})
        await agent.run_all()
        await agent.change(template=template("agent:2"))
        assert await agent.nodes() == ["n1", "n1", "n2"]
        await agent.run_all()

        assert await agent.images() == {"n1": "agent:2", "n2": "agent:2"}


async def test_on_delete_a_pod_changes_when_somebody_deletes_it(env, agent, running):
    async with running():
        await agent.add_nodes("n1", "n2")
        await agent.make(updateStrategy={"type": "OnDelete"})
        await agent.run_all()
        await agent.change(template=template("agent:2"))
        await env.delete(Pod, await agent.pod_on("n1"))
        await settle()
        await agent.run_all()

        assert await agent.images() == {"n1": "agent:2", "n2": "agent:1"}


async def test_a_template_that_comes_back_gets_its_revision_back(env, agent, running):
    async with running():
        await agent.make()
        await agent.change(template=template("agent:2"))
        await agent.change(template=template())

        assert await agent.revisions() == [2, 3]


async def test_a_revision_that_somebody_deletes_comes_back(env, agent, running):
    async with running():
        await agent.make()
        (name,) = await env.names(ControllerRevision)
        await env.delete(ControllerRevision, name)
        await settle()

        assert await env.names(ControllerRevision) == [name]


async def test_old_revisions_are_kept_up_to_a_limit(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make(revisionHistoryLimit=1)
        for number in (2, 3, 4):
            await agent.run_all()
            await agent.change(template=template(f"agent:{number}"))
        await agent.run_all()

        assert await agent.revisions() == [3, 4]


async def test_a_revision_that_pods_still_have_is_kept_and_counts(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make(revisionHistoryLimit=1, updateStrategy={"type": "OnDelete"})
        await agent.run_all()
        await agent.change(template=template("agent:2"))
        await agent.change(template=template("agent:3"))

        assert await agent.revisions() == [1, 3]


async def test_a_revision_whose_name_is_taken_gets_another(env, agent, running):
    async with running():
        await agent.make()
        (name,) = await env.names(ControllerRevision)
        await env.delete(DaemonSet, "agent")
        await settle()
        await env.add(ControllerRevision, name, data={"somebody": "else"}, revision=7)
        await agent.add_nodes("n1")
        await agent.make()

        assert (await agent.status())["collisionCount"] == 1
        assert await agent.nodes() == ["n1"]
        assert len(await env.names(ControllerRevision)) == 2


async def test_a_pod_that_fails_again_waits_longer(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        assert await seconds_to_replacement(env, agent) == 0
        assert await seconds_to_replacement(env, agent) == 1
        assert await seconds_to_replacement(env, agent) == 2

        notes = await env.events("FailedDaemonPod")
        assert len(notes) == 3
        assert all(re.fullmatch(FAILED_POD, note) for note in notes)


FAILED_POD = r"Found failed daemon pod default/agent-\w{5} on node n1, will try to kill it"


async def seconds_to_replacement(env, agent):
    """Let the pod of n1 fail; return after how many seconds it is another one."""
    await agent.run_all()
    name = await agent.pod_on("n1")
    await env.end_pod(name, "Failed")
    await settle()
    for seconds in range(10):
        if await agent.pod_on("n1") != name:
            return seconds
        await advance(1)
    raise AssertionError("it is never replaced")


async def test_a_pod_that_succeeds_is_replaced(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        await agent.run_all()
        name = await agent.pod_on("n1")
        await env.end_pod(name, "Succeeded")
        await settle()

        assert await agent.pod_on("n1") != name
        assert await env.events("SucceededDaemonPod") == [
            f"Found succeeded daemon pod default/{name} on node n1, will try to delete it"
        ]


async def test_a_pod_is_available_after_it_was_ready_for_a_while(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make(minReadySeconds=30)
        await agent.run_all()
        assert (await agent.status())["numberUnavailable"] == 1
        await advance(31)

        assert (await agent.status())["numberAvailable"] == 1


async def test_with_the_set_all_go(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        await env.delete(DaemonSet, "agent")
        await settle()

        assert await env.pods() == []
        assert await agent.revisions() == []


async def test_a_pod_whose_labels_somebody_changes_is_let_go_and_replaced(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        await agent.make()
        await agent.run_all()
        name = await agent.pod_on("n1")
        await env.change(Pod, name, metadata={"labels": {"app": "to-debug"}})
        await settle()

        assert (await env.get(Pod, name))["metadata"].get("ownerReferences") is None
        assert len(await env.pods()) == 2
        await env.delete(Pod, name)


async def test_pods_that_are_refused_are_said_and_tried_again(env, agent, running):
    async with running():
        await agent.add_nodes("n1", "n2")
        env.refuse("POST /api/v1/namespaces/default/pods")
        await agent.make()
        assert (await env.events("FailedCreate"))[0] == "Error creating: exceeded quota"
        assert (await agent.status())["numberUnavailable"] == 2
        env.refuse("")
        await advance(5)

        assert await agent.nodes() == ["n1", "n2"]


async def test_a_status_that_could_not_be_written_is_written_later(env, agent, running):
    async with running():
        await agent.add_nodes("n1")
        env.fail_once("PATCH /apis/apps/v1/namespaces/default/daemonsets/agent/status")
        await agent.make()
        await advance(5)

        assert (await agent.status())["desiredNumberScheduled"] == 1
        assert await agent.nodes() == ["n1"]


async def test_a_second_look_writes_nothing(env, agent):
    async with env.running(DaemonSetController) as (controller,):
        await agent.add_nodes("n1", "n2")
        await agent.make()
        await agent.run_all()
        env.writes.clear()
        controller.wake("default/agent")
        await settle()

        assert env.writes == []


async def test_without_sets_it_has_nothing_to_do(env, agent):
    async with env.running(DaemonSetController) as (controller,):
        await agent.add_nodes("n1")
        await env.add(Pod, "alone", spec=template()["spec"])
        await advance(3600)

        assert controller.queue.is_idle
        assert env.writes == []
