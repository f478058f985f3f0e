"""A second look at everything writes nothing, and an idle hub is not asked for anything."""

import asyncio

from fleetqueue.api import kueue_v1beta2 as kueue


async def test_a_second_look_at_everything_writes_nothing(env):
    async with env.heart() as heart:
        await env.submit("runs")
        await env.submit("ends", run_for="1s")
        first = await env.running_on("runs")
        await env.finished("ends")
        await env.select(*({"cluster1", "cluster2", "cluster3"} - {first}))
        await env.says("Draining", "True")
        await settled(env, heart)
        before = list(heart.door.writes)

        for controller in heart.room.controllers:
            for workload in heart.hub.list(kueue.Workload):
                controller.wake(workload.key)
        heart.room.configs.wake(env.name)
        await settled(env, heart)

        assert heart.door.writes == before


async def settled(env, heart):
    """Wait until all queues are empty, for a whole second."""
    quiet = 0

    async def idle():
        nonlocal quiet
        quiet = quiet + 1 if all(c.queue.is_idle for c in heart.room.controllers) else 0
        return quiet > 10

    await env.eventually(idle, "the controllers have nothing left to do")


async def test_an_idle_hub_is_not_asked_for_anything(env):
    async with env.heart() as heart:
        await env.submit("runs")
        await env.running_on("runs")
        await settled(env, heart)
        before = requests(heart)

        await asyncio.sleep(5)

        assert requests(heart) == before


def requests(heart):
    samples = [s for metric in heart.metrics.registry.collect() for s in metric.samples]
    return sum(s.value for s in samples if s.name == "fleetqueue_api_requests_total" and s.labels["cluster"] == "hub")
