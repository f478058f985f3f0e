"""A worker that admits a Workload and refuses its job: Kueue says nothing of it, and another cluster gets the job."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event

from .refused_jobs import refuse_jobs


async def test_a_job_that_a_worker_refuses_is_taken_back_and_runs_elsewhere(env):
    await refuse_jobs(env, "cluster1")
    await env.select("cluster1")
    async with env.heart(nomination_timeout=5.0, settle=1.0):
        await env.lists("cluster1")
        await env.submit("job", run_for="600s")

        async def admitted_there():
            copy = await env.workload("job", env.workers["cluster1"])
            return copy is not None and copy.is_true(kueue.ADMITTED)

        await env.eventually(admitted_there, "cluster1 admits the copy")
        await env.select("cluster1", "cluster2")
        await env.lists("cluster1", "cluster2")

        first, second = (f"{env.name}-{name}" for name in ("cluster1", "cluster2"))
        message = f"taken back from {first}, which has admitted it and where its job could not be created; {second} is"

        async def taken_back():
            events = await env.hub.list(Event.resource, env.name)
            return [raw for raw in events.items if raw.get("note", "").startswith(message)]

        await env.eventually(taken_back, "the job is taken back", within=90.0)
        assert await env.running_on("job") == "cluster2"
        assert await env.workload("job", env.workers["cluster1"]) is None
