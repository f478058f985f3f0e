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


async def test_a_running_job_keeps_its_cluster_listed_until_it_ends(stage):
    async with stage.heart():
        await stage.submit("job", run_for="12s")
        first = await stage.running_on("job")
        uid = (await stage.config()).uid

        await stage.select(*(ALL - {first}))
        await stage.says("Draining", "True")
        await stage.lists(*ALL)
        await stage.submit("new", run_for="600s")
        second = await stage.running_on("new")
        await stage.finished("job")
        await stage.lists(*(ALL - {first}))

        assert second != first
        assert (await stage.config()).uid == uid
        assert (await stage.says("Active", "True")).message == "MultiKueueConfig and MultiKueueCluster generated"
        await stage.eventually(lambda: no_member(stage, first), "the member of the drained cluster is deleted")


async def test_a_placement_that_moves_twice_in_a_burst_leaves_every_job_recorded_where_it_runs(stage):
    """Kueue brings copies slowly; some arrive where their Workload was taken back from a moment ago."""
    jobs = [f"job{number:02}" for number in range(24)]
    async with stage.heart(drain_poll=1.0):
        await stage.connected(*ALL)
        for job in jobs:
            await stage.submit(job, run_for="15s")
        await stage.running_on(jobs[0])
        await stage.select("cluster1")
        await asyncio.sleep(3)
        await stage.select("cluster2")
        for job in jobs:
            await stage.eventually(lambda job=job: ended(stage, job), f"{job} ends", within=BURST_SECONDS)

        places = {job: (await stage.workload(job)).status.cluster_name for job in jobs}
        assert all(places.values()), places
        assert stage.witness.doubles == []


async def ended(stage, job):
    return (await stage.workload(job)).is_finished


async def no_member(stage, name):
    return await stage.get(kueue.MultiKueueCluster, f"{stage.name}-{name}") is None


async def test_a_nominated_workload_is_taken_back_before_its_cluster_is_unlisted(stage):
    await stage.admit_nothing("cluster1")
    await stage.select("cluster1")
    async with stage.heart():
        await stage.lists("cluster1")
        await stage.submit("job", run_for="2s")

        async def nominated():
            workload = await stage.workload("job")
            return workload and workload.status.nominated_cluster_names == (f"{stage.name}-cluster1",)

        async def copied():
            return await stage.workload("job", stage.workers["cluster1"]) is not None

        await stage.eventually(nominated, "the job is nominated for cluster1")
        await stage.eventually(copied, "its copy is on cluster1")
        await stage.select("cluster2")
        await stage.lists("cluster2")

        assert await stage.workload("job", stage.workers["cluster1"]) is None
        await stage.finished("job")


async def test_a_cluster_that_cannot_be_asked_stays_listed_until_it_can(stage):
    async with stage.heart(drain_poll=1.0):
        await stage.submit("job", run_for="600s")
        first = await stage.running_on("job")
        others = ALL - {first}

        await stage.world.fleet.cut(first)
        await stage.select(*others)

        async def says_so():
            condition = await stage.says("Draining", "True")
            return "cannot be asked" in condition.message

        await stage.eventually(says_so, "the condition says that the cluster cannot be asked")
        await stage.submit("new", run_for="600s")
        assert await stage.running_on("new") in others
        await stage.lists(*ALL)
        await stage.world.fleet.heal(first)
        await stage.hub.delete(Job.resource, "job", stage.name)
        await stage.lists(*others, within=ORPHAN_SECONDS)

        assert await stage.workload("job", stage.workers[first]) is None


async def test_after_the_drain_timeout_a_running_job_moves_and_runs_once(stage):
    async with stage.heart(drain_timeout=3.0, drain_poll=1.0):
        await stage.submit("job")
        first = await stage.running_on("job")

        await stage.select(*(ALL - {first}))
        await stage.lists(*(ALL - {first}))
        second = await stage.running_on("job")

        assert second != first
        assert stage.witness.most[f"{stage.name}/job"] == 1


async def test_the_drain_timeout_does_not_take_back_what_an_unreachable_cluster_runs(stage):
    async with stage.heart(drain_timeout=2.0, drain_poll=1.0):
        await stage.submit("job")
        first = await stage.running_on("job")
        member = f"{stage.name}-{first}"

        await stage.world.fleet.cut(first)

        async def disconnected():
            found = await stage.get(kueue.MultiKueueCluster, member)
            return not found.is_connected

        await stage.eventually(disconnected, "Kueue says that the cluster is not connected")
        await stage.select(*(ALL - {first}))
        await asyncio.sleep(6)  # three times the timeout

        assert (await stage.workload("job")).status.cluster_name == member
        assert stage.witness.live(f"{stage.name}/job") == {first}
        await stage.world.fleet.heal(first)
        await stage.lists(*(ALL - {first}))
        assert await stage.running_on("job") != first


async def test_an_empty_selection_lets_running_work_go_on(stage):
    async with stage.heart():
        await stage.submit("job", run_for="8s")
        first = await stage.running_on("job")

        await stage.select()
        condition = await stage.says("Active", "False", "NoClustersAvailable")
        await stage.lists(first)
        await stage.finished("job")
        await stage.eventually(lambda: no_config(stage), "the config is deleted when nothing runs any more")

        assert condition.message.startswith(f"No clusters available for placement {stage.name}")
        await stage.select("cluster2")
        await stage.says("Active", "True", "Active")
        await stage.lists("cluster2")


async def no_config(stage):
    return await stage.config() is None


async def test_a_cluster_that_is_chosen_again_while_it_drains_serves_again(stage):
    async with stage.heart():
        await stage.submit("job")
        first = await stage.running_on("job")

        await stage.select(*(ALL - {first}))
        await stage.says("Draining", "True")
        await stage.select(first)
        await stage.lists(first)
        await stage.submit("new", annotations={ALLOWED_CLUSTERS: first})

        assert await stage.running_on("new") == first
        assert await stage.running_on("job") == first


async def test_under_kueues_own_dispatcher_running_work_is_kept_and_the_check_says_what_cannot_hold(stage):
    await stage.world.set_dispatcher(None)
    async with stage.heart():
        await stage.submit("job", run_for="10s")
        first = await stage.running_on("job")

        await stage.select(*(ALL - {first}))
        await stage.says("Draining", "True")
        condition = await stage.says("Dispatching", "False", "OtherDispatcher")
        await stage.lists(*ALL)
        await stage.finished("job")
        await stage.lists(*(ALL - {first}))

        assert "multiKueue.dispatcherName" in condition.message
        assert stage.witness.most[f"{stage.name}/job"] == 1
