"""A dropped cluster is drained: with a running, a nominated and an unreachable one, with a timeout, and to its end."""

import asyncio

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS

ALL = {"cluster1", "cluster2", "cluster3"}
BURST_SECONDS = 240.0
ORPHAN_SECONDS = 20.0 + 60.0 + 20.0
"""Until Kueue has removed the copy of a job that was deleted while its cluster was cut: it connects again 5, 10 or 20 s
after it last failed to, collects such copies only once a minute, and the machine may be busy."""


async def test_a_running_job_keeps_its_cluster_listed_until_it_ends(env):
    async with env.heart():
        await env.submit("job", run_for="12s")
        first = await env.running_on("job")
        uid = (await env.config()).uid

        await env.select(*(ALL - {first}))
        await env.says("Draining", "True")
        await env.lists(*ALL)
        await env.submit("new", run_for="600s")
        second = await env.running_on("new")
        await env.finished("job")
        await env.lists(*(ALL - {first}))

        assert second != first
        assert (await env.config()).uid == uid
        assert (await env.says("Active", "True")).message == "MultiKueueConfig and MultiKueueCluster generated"
        await env.eventually(lambda: no_member(env, first), "the member of the drained cluster is deleted")


async def test_a_placement_that_moves_twice_in_a_burst_leaves_every_job_recorded_where_it_runs(env):
    """Kueue brings copies slowly; some arrive where their Workload was taken back from a moment ago.

    Between two labels the Placement chooses nobody, so that the ClusterQueue is inactive for a moment.
    """
    jobs = [f"job{number:02}" for number in range(24)]
    async with env.heart(drain_poll=1.0):
        await env.connected(*ALL)
        for job in jobs:
            await env.submit(job, run_for="15s")
        await env.eventually(lambda: admitted(env, jobs), "the first of them run", within=BURST_SECONDS)
        await env.select("cluster1")
        await asyncio.sleep(3)
        await env.select("cluster2")
        for job in jobs:
            await env.eventually(lambda job=job: ended(env, job), f"{job} ends", within=BURST_SECONDS)

        places = {job: (await env.workload(job)).status.cluster_name for job in jobs}
        assert all(places.values()), places
        assert env.witness.doubles == []


async def admitted(env, jobs):
    workloads = [await env.workload(job) for job in jobs]
    return [workload for workload in workloads if workload is not None and workload.is_true(kueue.ADMITTED)]


async def ended(env, job):
    return (await env.workload(job)).is_finished


async def no_member(env, name):
    return await env.get(kueue.MultiKueueCluster, f"{env.name}-{name}") is None


async def test_a_nominated_workload_is_taken_back_before_its_cluster_is_unlisted(env):
    await env.admit_nothing("cluster1")
    await env.select("cluster1")
    async with env.heart():
        await env.lists("cluster1")
        await env.submit("job", run_for="2s")

        async def nominated():
            workload = await env.workload("job")
            return workload and workload.status.nominated_cluster_names == (f"{env.name}-cluster1",)

        async def copied():
            return await env.workload("job", env.workers["cluster1"]) is not None

        await env.eventually(nominated, "the job is nominated for cluster1")
        await env.eventually(copied, "its copy is on cluster1")
        await env.select("cluster2")
        await env.lists("cluster2")

        assert await env.workload("job", env.workers["cluster1"]) is None
        await env.finished("job")


async def test_a_cluster_that_cannot_be_asked_stays_listed_until_it_can(env):
    async with env.heart(drain_poll=1.0):
        await env.submit("job", run_for="600s")
        first = await env.running_on("job")
        others = ALL - {first}

        await env.world.fleet.cut(first)
        await env.select(*others)

        async def says_so():
            condition = await env.says("Draining", "True")
            return "cannot be asked" in condition.message

        await env.eventually(says_so, "the condition says that the cluster cannot be asked")
        await env.submit("new", run_for="600s")
        assert await env.running_on("new") in others
        await env.lists(*ALL)
        await env.world.fleet.heal(first)
        await env.hub.delete(Job.resource, "job", env.name)
        await env.lists(*others, within=ORPHAN_SECONDS)

        assert await env.workload("job", env.workers[first]) is None


async def test_after_the_drain_timeout_a_running_job_moves_and_runs_once(env):
    async with env.heart(drain_timeout=3.0, drain_poll=1.0):
        await env.submit("job")
        first = await env.running_on("job")

        await env.select(*(ALL - {first}))
        await env.lists(*(ALL - {first}))
        second = await env.running_on("job")

        assert second != first
        assert env.witness.most[f"{env.name}/job"] == 1


async def test_the_drain_timeout_does_not_take_back_what_an_unreachable_cluster_runs(env):
    async with env.heart(drain_timeout=2.0, drain_poll=1.0):
        await env.submit("job")
        first = await env.running_on("job")
        member = f"{env.name}-{first}"

        await env.world.fleet.cut(first)

        async def disconnected():
            found = await env.get(kueue.MultiKueueCluster, member)
            return not found.is_connected

        await env.eventually(disconnected, "Kueue says that the cluster is not connected")
        await env.select(*(ALL - {first}))
        await asyncio.sleep(6)  # three times the timeout

        assert (await env.workload("job")).status.cluster_name == member
        assert env.witness.live(f"{env.name}/job") == {first}
        await env.world.fleet.heal(first)
        await env.lists(*(ALL - {first}))
        assert await env.running_on("job") != first


async def test_an_empty_selection_lets_running_work_go_on(env):
    async with env.heart():
        await env.submit("job", run_for="8s")
        first = await env.running_on("job")

        await env.select()
        condition = await env.says("Active", "False", "NoClustersAvailable")
        await env.lists(first)
        await env.finished("job")
        await env.eventually(lambda: no_config(env), "the config is deleted when nothing runs any more")

        assert condition.message.startswith(f"No clusters available for placement {env.name}")
        await env.select("cluster2")
        await env.says("Active", "True", "Active")
        await env.lists("cluster2")


async def no_config(env):
    return await env.config() is None


async def test_a_cluster_that_is_chosen_again_while_it_drains_serves_again(env):
    async with env.heart():
        await env.submit("job")
        first = await env.running_on("job")

        await env.select(*(ALL - {first}))
        await env.says("Draining", "True")
        await env.select(first)
        await env.lists(first)
        await env.submit("new", annotations={ALLOWED_CLUSTERS: first})

        assert await env.running_on("new") == first
        assert await env.running_on("job") == first


async def test_under_kueues_own_dispatcher_running_work_is_kept_and_the_check_says_what_cannot_hold(env):
    await env.world.set_dispatcher(None)
    async with env.heart():
        await env.submit("job", run_for="10s")
        first = await env.running_on("job")

        await env.select(*(ALL - {first}))
        await env.says("Draining", "True")
        condition = await env.says("Dispatching", "False", "OtherDispatcher")
        await env.lists(*ALL)
        await env.finished("job")
        await env.lists(*(ALL - {first}))

        assert "multiKueue.dispatcherName" in condition.message
        assert env.witness.most[f"{env.name}/job"] == 1
