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


async def test_a_deleted_managed_cluster_is_drained_and_its_job_runs_once(env):
    replica = await env.replica("leaving", **FAST)
    try:
        await env.lists(*ALL)
        await env.submit("job", run_for="25s")
        first = await env.running_on("job")
        member = f"{env.name}-{first}"

        await env.hub.delete(cluster.ManagedCluster.resource, first)
        try:
            await env.says("Draining", "True")
            await env.submit("new", run_for="1s")
            assert await env.running_on("new") != first
            assert await env.running_on("job") == first
            await env.finished("job")
            await env.lists(*(ALL - {first}))

            async def is_clean():
                return await env.get(kueue.MultiKueueCluster, member) is None

            await env.eventually(is_clean, "the member is deleted when the drain has ended")
            assert env.witness.doubles == []
            assert env.witness.most[f"{env.name}/job"] == 1
        finally:
            await env.world.join(first)
    finally:
        await replica.stop()


async def test_a_cluster_that_was_forced_out_comes_back_without_harm_to_the_job_that_moved(env):
    env.may_run_twice = True  # as `--force` says: nobody can stop it where nobody answers
    replica = await env.replica("forced", **FAST)
    try:
        await env.lists(*ALL)
        await env.submit("job", run_for="35s")
        first = await env.running_on("job")

        await env.world.fleet.cut(first)
        await unjoin(env.hub, first, print, force=True, limit=60)

        async def has_moved():
            name = (await env.workload("job")).status.cluster_name
            return name if name and name != f"{env.name}-{first}" else None

        second = await env.eventually(has_moved, "the job is somewhere else")
        worker = env.world.workers[second.removeprefix(f"{env.name}-")]
        copy = (await env.workload("job", worker)).uid
        await env.world.fleet.heal(first)
        await env.world.join(first)
        await env.select(*ALL)

        async def is_left_out():
            return f"{env.name}-{first} (it has old copies" in (await env.says("Active", "True")).message

        await env.eventually(is_left_out, "the cluster that comes back is left out, with the reason")
        assert (await env.workload("job", worker)).uid == copy
        await env.finished("job")
        assert (await env.workload("job")).status.cluster_name == second
        await env.lists(*ALL)
    finally:
        await env.world.fleet.heal(first)
        await replica.stop()


async def test_the_hub_itself_is_refused_as_a_worker_and_all_else_goes_on(env):
    replica = await env.replica("local-cluster", **FAST)
    try:
        await env.lists(*ALL)
        await env.submit("job", run_for="20s")
        first = await env.running_on("job")
        workload = await env.workload("job")

        await env.world.join("hub", called="local-cluster")
        try:
            patch = {"metadata": {"labels": {env.label: "yes"}}}
            await env.hub.merge(cluster.ManagedCluster.resource, "local-cluster", "", patch)

            async def says_so():
                condition = await env.says("Active", "True")
                return f"{env.name}-local-cluster (it is this hub itself" in condition.message

            await env.eventually(says_so, "the check says that the hub is left out")
            await env.lists(*ALL)
            await env.submit("new", run_for="1s")
            await env.finished("new")
            assert (await env.workload("job")).uid == workload.uid
            assert await env.running_on("job") == first
            await env.finished("job")
            assert await env.get(kueue.MultiKueueCluster, f"{env.name}-local-cluster") is None
        finally:
            await unjoin(env.hub, "local-cluster", lambda line: None, force=True, limit=30)
    finally:
        await replica.stop()


async def test_a_second_name_of_a_worker_is_refused_and_its_job_goes_on(env):
    replica = await env.replica("twin", **FAST)
    try:
        await env.lists(*ALL)
        await env.submit("job", run_for="20s")
        first = await env.running_on("job")
        copy = (await env.workload("job", env.world.workers[first])).uid

        await env.world.join(first, called="twin")
        try:
            patch = {"metadata": {"labels": {env.label: "yes"}}}
            await env.hub.merge(cluster.ManagedCluster.resource, "twin", "", patch)

            async def says_so():
                condition = await env.says("Active", "True")
                return f"{env.name}-twin (it is the same cluster as {env.name}-{first}" in condition.message

            await env.eventually(says_so, "the check says that the second name is left out")
            await env.lists(*ALL)
            assert (await env.workload("job", env.world.workers[first])).uid == copy
            await env.finished("job")
            assert env.witness.most[f"{env.name}/job"] == 1
        finally:
            await unjoin(env.hub, "twin", lambda line: None, force=True, limit=30)
    finally:
        await replica.stop()
