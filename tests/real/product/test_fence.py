"""A job that asks for the fence never runs twice, whatever is cut, and whenever it heals; on real Kueue.

What is counted is what the workers themselves have: Jobs that are not suspended, and pods that have not ended. Two
moments are for every run; all of them are for `make fence`.
"""

import asyncio
import base64
import os

import pytest
import pytest_asyncio
import yaml

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Pod, Secret
from fleetqueue.api.fence import FENCE, LEASE, LOST_WORKER, RERUN, WAIT, sent_to

from .conftest import KUEUE, WORKERS
from .fence_agents import AFTER, Agent, PodWitness, is_live
from .kueue_timeouts import worker_lost_timeout

ALL = bool(os.environ.get("FLEETQUEUE_FENCE"))
SLACK = 30.0
SURELY = (AFTER + 1 + SLACK) * 1.02
"""Seconds after which the hub may start a job elsewhere, with pods that stop within a second."""
PATIENCE = 60.0
pytestmark = pytest.mark.timeout(400)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def agents(world):
    agents = {name: Agent(world, name) for name in WORKERS}
    async with worker_lost_timeout(world, "10s"):
        for agent in agents.values():
            await agent.set_up()
            await agent.start()
        yield agents
        for agent in agents.values():
            await agent.close()


@pytest_asyncio.fixture(loop_scope="session")
async def fleet(env, agents):
    """The workers with their agents, and a witness of pods beside that of Jobs."""
    for name in agents:
        await env.eventually(
            lambda name=name: is_renewed(env, name), f"the Lease of {name} is renewed", within=PATIENCE
        )
    witness = PodWitness(env.workers, env.name)
    await witness.start()
    yield Fleet(env, agents, witness)
    for agent in agents.values():
        agent.resume()
        await agent.way.heal()
        if agent.process.returncode is not None:
            await agent.start()
    await witness.stop()
    assert env.may_run_twice or witness.doubles == []


async def is_renewed(env, name):
    lease = await env.get(Lease, LEASE, name)
    return lease is not None and lease.spec.renew_time and (clock.now() - lease.spec.renew_time).total_seconds() < AFTER


class Fleet:
    def __init__(self, env, agents, pods):
        self.env = env
        self.agents = agents
        self.pods = pods

    async def start_job(self, policy=FENCE):
        """Start a job; return where it runs."""
        await self.env.connected(*WORKERS)
        await self.env.submit("job", annotations={LOST_WORKER: policy}, grace=1)
        first = await self.env.running_on("job")
        await self.env.counts_its_pod("job")
        return first

    async def cut(self, name, how="refuse", *, ways=("in", "out")):
        if "in" in ways:
            await self.env.world.fleet.cut(name, how)
        if "out" in ways:
            await self.agents[name].way.cut(how)

    async def heal(self, name):
        await self.env.world.fleet.heal(name)
        await self.agents[name].way.heal()

    async def stopped_on(self, name):
        async def is_stopped():
            return name not in self.env.witness.live(f"{self.env.name}/job") and name not in self.pods.live_on("job")

        await self.env.eventually(is_stopped, f"the agent of {name} stops the job", within=AFTER + PATIENCE)

    async def pods_on(self, name):
        """Return the uids of a job's pods that have not ended."""
        page = await self.env.workers[name].list(Pod.resource, self.env.name)
        return {raw["metadata"]["uid"] for raw in page.items if is_live(Pod.view(raw))}

    async def started(self):
        """Return where a job starts, within milliseconds."""
        deadline = clock.monotonic() + PATIENCE
        while clock.monotonic() < deadline:
            if where := self.env.witness.live(f"{self.env.name}/job"):
                return where.pop()
            await asyncio.sleep(0.005)
        raise AssertionError("the job does not start")

    async def runs_without(self, name):
        async def is_elsewhere():
            return self.env.witness.live(f"{self.env.name}/job") - {name}

        await self.env.eventually(is_elsewhere, "the job runs elsewhere", within=SURELY + 2 * PATIENCE)
        return await self.env.running_on("job")

    async def stays_on(self, name, seconds):
        """See for a time that a job is neither stopped nor started elsewhere."""
        deadline = clock.monotonic() + seconds
        while clock.monotonic() < deadline:
            assert self.env.witness.live(f"{self.env.name}/job") == {name}
            await asyncio.sleep(0.5)


async def cut_off(fleet, first):
    """Nothing goes in or out: elsewhere after the deadline, and nothing is left when it heals."""
    await fleet.cut(first)
    await fleet.stopped_on(first)
    second = await fleet.runs_without(first)
    await fleet.heal(first)
    await fleet.env.connected(first)
    await fleet.stays_on(second, 5)


async def only_kueue_is_cut(fleet, first):
    """The agent reaches the hub: nothing is stopped, nobody else gets the job, and the hub says for whom it waits."""
    env = fleet.env
    await fleet.cut(first, ways=("in",))
    await fleet.stays_on(first, SURELY + 10)
    await fleet.heal(first)
    await env.running_on("job")
    assert env.witness.live(f"{env.name}/job") == {first}


async def everything_hangs(fleet, first):
    await fleet.cut(first, "hang")
    await fleet.stopped_on(first)
    await fleet.heal(first)
    await fleet.env.running_on("job")


async def only_the_agent_is_cut(fleet, first):
    """The agent cannot know that the hub reaches the worker: it stops the job, and Kueue starts it again."""
    await fleet.cut(first, ways=("out",))
    await fleet.stopped_on(first)
    await fleet.heal(first)
    await fleet.env.running_on("job")


async def evicted_during_the_cut(fleet, first):
    """The hub evicts it for another reason, and may give it quota at once."""
    await fleet.cut(first)
    await fleet.env.set_active("job", False)
    await asyncio.sleep(1)
    await fleet.env.set_active("job", True)
    await fleet.runs_without(first)
    await fleet.heal(first)
    await fleet.env.connected(first)


async def preempted_during_the_cut(fleet, first):
    """The whole queue stops for a moment, as HoldAndDrain does."""
    env = fleet.env
    await fleet.cut(first)
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": {"stopPolicy": "HoldAndDrain"}})
    await asyncio.sleep(2)
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": {"stopPolicy": "None"}})
    await fleet.runs_without(first)
    await fleet.heal(first)
    await env.connected(first)


async def healed_before_the_deadline(fleet, first):
    await fleet.cut(first)
    await asyncio.sleep(AFTER / 2)
    await fleet.heal(first)
    await fleet.env.connected(first)
    await fleet.env.running_on("job")


async def healed_between_the_stop_and_the_new_start(fleet, first):
    await fleet.cut(first)
    await fleet.stopped_on(first)
    await fleet.heal(first)
    await fleet.env.running_on("job")


async def agent_killed_during_the_cut(fleet, first):
    """A restarted agent knows what was promised, and when."""
    await fleet.cut(first)
    await fleet.agents[first].kill()
    await asyncio.sleep(AFTER / 3)
    await fleet.agents[first].start()
    await fleet.stopped_on(first)
    await fleet.runs_without(first)
    await fleet.heal(first)
    await fleet.env.connected(first)


async def leader_changed_during_the_cut(fleet, first):
    """A new leader counts from its takeover."""
    env = fleet.env
    await fleet.cut(first)
    await fleet.stopped_on(first)
    await env.kill_hearts()
    await env.start_heart(drain_poll=1.0, fence_slack=SLACK)
    await fleet.runs_without(first)
    await fleet.heal(first)
    await env.connected(first)


async def agent_frozen_over_the_deadline(fleet, first):
    """An agent that stood still stops the job as soon as it goes on."""
    await fleet.cut(first)
    fleet.agents[first].pause()
    await asyncio.sleep(AFTER + 3)
    fleet.agents[first].resume()
    await fleet.stopped_on(first)
    await fleet.runs_without(first)
    await fleet.heal(first)
    await fleet.env.connected(first)


async def nothing_is_cut(fleet, first):
    """An upgrade of the agent, another leader and a refused credential are no silence: nothing is stopped."""
    env, agent = fleet.env, fleet.agents[first]
    await agent.kill()
    await agent.start()
    await env.kill_hearts()
    await env.start_heart(drain_poll=1.0, fence_slack=SLACK)
    name = f"kueue-admin-{first}-kubeconfig"
    good = (await env.hub.get(Secret.resource, name, KUEUE))["data"]
    config = yaml.safe_load(base64.b64decode(good["kubeconfig"]))
    config["users"][0]["user"]["token"] = "refused"
    bad = base64.b64encode(yaml.safe_dump(config).encode()).decode()
    await env.hub.merge(Secret.resource, name, KUEUE, {"data": {"kubeconfig": bad}})
    await fleet.stays_on(first, SURELY + 10)
    await env.hub.merge(Secret.resource, name, KUEUE, {"data": good})
    await env.connected(first)
    await fleet.stays_on(first, 5)


FIRST = (cut_off, only_kueue_is_cut)
FURTHER = (
    everything_hangs,
    only_the_agent_is_cut,
    evicted_during_the_cut,
    preempted_during_the_cut,
    healed_before_the_deadline,
    healed_between_the_stop_and_the_new_start,
    agent_killed_during_the_cut,
    leader_changed_during_the_cut,
    agent_frozen_over_the_deadline,
    nothing_is_cut,
)


@pytest.mark.parametrize("moment", [*FIRST, *(FURTHER if ALL else ())], ids=lambda moment: moment.__name__)
async def test_a_fenced_job_never_runs_twice(fleet, moment):
    async with fleet.env.heart(drain_poll=1.0, fence_slack=SLACK):
        first = await fleet.start_job()
        assert all(sent_to(await fleet.env.workload("job")).values())

        await moment(fleet, first)

        await fleet.env.running_on("job")
        assert fleet.env.witness.most[f"{fleet.env.name}/job"] == 1


@pytest.mark.skipif(not ALL, reason="make fence")
async def test_a_cut_between_the_copy_and_the_record_of_the_winner(fleet):
    """Kueue makes the Job on the worker before it records where: the hub knows only that a cluster was nominated."""
    env = fleet.env
    async with env.heart(drain_poll=1.0, fence_slack=SLACK, nomination_timeout=2.0):
        await env.connected(*WORKERS)
        await env.submit("job", annotations={LOST_WORKER: FENCE}, grace=1)
        first = await fleet.started()
        env.world.fleet.pause("hub/kueue")
        await fleet.cut(first)
        env.world.fleet.resume("hub/kueue")
        await env.world.fleet.restart("hub/kueue")

        await fleet.runs_without(first)

        await fleet.heal(first)
        await env.connected(first)
        await env.running_on("job")
        assert env.witness.most[f"{env.name}/job"] == 1


async def test_a_job_that_waits_goes_on_where_it_is_when_its_worker_is_back(fleet):
    """Its pods are the same ones: it was neither stopped nor begun anew."""
    env = fleet.env
    async with env.heart(drain_poll=1.0, fence_slack=SLACK):
        first = await fleet.start_job(WAIT)
        before = await fleet.pods_on(first)

        await fleet.cut(first)
        await env.eventually(lambda: says(env, f"waits for {env.name}-{first}"), "it says for whom", within=PATIENCE)
        await fleet.stays_on(first, AFTER + 5)
        await fleet.heal(first)

        await env.connected(first)
        assert await env.running_on("job") == first
        await env.counts_its_pod("job")
        assert await fleet.pods_on(first) == before


async def says(env, text):
    workload = await env.workload("job")
    return any(text in check.message for check in workload.status.admission_checks)


async def test_without_the_fence_the_same_cut_runs_it_twice(fleet):
    env = fleet.env
    env.may_run_twice = True
    async with env.heart(drain_poll=1.0, lost_timeout=5.0):
        await env.connected(*WORKERS)
        await env.submit("job", annotations={LOST_WORKER: RERUN}, grace=1)
        first = await env.running_on("job")

        await fleet.cut(first)

        async def is_on_two():
            return len(env.witness.live(f"{env.name}/job")) > 1

        await env.eventually(is_on_two, "the job runs twice", within=2 * PATIENCE)
        await fleet.heal(first)
