"""Clusters that leave, and the hub that comes as its own worker, with whole controller processes on the real engine."""

from fleetqueue.admin.leaving import unjoin
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue

ALL = {"cluster1", "cluster2", "cluster3"}
FAST = {
    "placement_admission.drain_poll": 0.5,
    "placement_admission.linger": 0.5,
    "credentials.linger": 1,
}


async def test_a_deleted_managed_cluster_is_drained_and_its_job_runs_once(stage):
    replica = await stage.replica("leaving", **FAST)
    try:
        await stage.lists(*ALL)
        await stage.submit("job", run_for="25s")
        first = await stage.running_on("job")
        member = f"{stage.name}-{first}"

        await stage.hub.delete(cluster.ManagedCluster.resource, first)
        try:
            await stage.says("Draining", "True")
            await stage.submit("new", run_for="1s")
            assert await stage.running_on("new") != first
            assert await stage.running_on("job") == first
            await stage.finished("job")
            await stage.lists(*(ALL - {first}))

            async def is_clean():
                return await stage.get(kueue.MultiKueueCluster, member) is None

            await stage.eventually(is_clean, "the member is deleted when the drain has ended")
            assert stage.witness.doubles == []
            assert stage.witness.most[f"{stage.name}/job"] == 1
        finally:
            await stage.world.join(first)
    finally:
        await replica.stop()


async def test_a_cluster_that_was_forced_out_comes_back_without_harm_to_the_job_that_moved(stage):
    stage.may_run_twice = True  # as `--force` says: nobody can stop it where nobody answers
    replica = await stage.replica("forced", **FAST)
    try:
        await stage.lists(*ALL)
        await stage.submit("job", run_for="35s")
        first = await stage.running_on("job")

        await stage.world.fleet.cut(first)
        await unjoin(stage.hub, first, print, force=True, limit=60)

        async def has_moved():
            name = (await stage.workload("job")).status.cluster_name
            return name if name and name != f"{stage.name}-{first}" else None

        second = await stage.eventually(has_moved, "the job is somewhere else")
        worker = stage.world.workers[second.removeprefix(f"{stage.name}-")]
        copy = (await stage.workload("job", worker)).uid
        await stage.world.fleet.heal(first)
        await stage.world.join(first)
        await stage.select(*ALL)

        async def is_left_out():
            return f"{stage.name}-{first} (it has old copies" in (await stage.says("Active", "True")).message

        await stage.eventually(is_left_out, "the cluster that comes back is left out, with the reason")
        assert (await stage.workload("job", worker)).uid == copy
        await stage.finished("job")
        assert (await stage.workload("job")).status.cluster_name == second
        await stage.lists(*ALL)
    finally:
        await stage.world.fleet.heal(first)
        await replica.stop()


async def test_the_hub_itself_is_refused_as_a_worker_and_all_else_goes_on(stage):
    replica = await stage.replica("local-cluster", **FAST)
    try:
        await stage.lists(*ALL)
        await stage.submit("job", run_for="20s")
        first = await stage.running_on("job")
        workload = await stage.workload("job")

        await stage.world.join("hub", called="local-cluster")
        try:
            patch = {"metadata": {"labels": {stage.label: "yes"}}}
            await stage.hub.merge(cluster.ManagedCluster.resource, "local-cluster", "", patch)

            async def says_so():
                condition = await stage.says("Active", "True")
                return f"{stage.name}-local-cluster (it is this hub itself" in condition.message

            await stage.eventually(says_so, "the check says that the hub is left out")
            await stage.lists(*ALL)
            await stage.submit("new", run_for="1s")
            await stage.finished("new")
            assert (await stage.workload("job")).uid == workload.uid
            assert await stage.running_on("job") == first
            await stage.finished("job")
            assert await stage.get(kueue.MultiKueueCluster, f"{stage.name}-local-cluster") is None
        finally:
            await unjoin(stage.hub, "local-cluster", lambda line: None, force=True, limit=30)
    finally:
        await replica.stop()
