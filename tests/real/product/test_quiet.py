"""A second look at everything writes nothing, and an idle hub is not asked for anything."""

import asyncio

from fleetqueue.api import kueue_v1beta2 as kueue


async def test_a_second_look_at_everything_writes_nothing(stage):
    async with stage.heart() as heart:
        await stage.submit("runs")
        await stage.submit("ends", run_for="1s")
        first = await stage.running_on("runs")
        await stage.finished("ends")
        await stage.select(*({"cluster1", "cluster2", "cluster3"} - {first}))
        await stage.says("Draining", "True")
        await settled(stage, heart)
        before = list(heart.door.writes)

        for controller in heart.room.controllers:
            for workload in heart.hub.list(kueue.Workload):
                controller.wake(workload.key)
        heart.room.configs.wake(stage.name)
        await settled(stage, heart)

        assert heart.door.writes == before


async def settled(stage, heart):
    """Wait until all queues are empty, for a whole second."""
    quiet = 0

    async def idle():
        nonlocal quiet
        quiet = quiet + 1 if all(c.queue.is_idle for c in heart.room.controllers) else 0
        return quiet > 10

    await stage.eventually(idle, "the controllers have nothing left to do")


async def test_an_idle_hub_is_not_asked_for_anything(stage):
    async with stage.heart() as heart:
        await stage.submit("runs")
        await stage.running_on("runs")
        await settled(stage, heart)
        before = requests(heart)

        await asyncio.sleep(5)

        assert requests(heart) == before


def requests(heart):
    samples = [s for metric in heart.metrics.registry.collect() for s in metric.samples]
    return sum(s.value for s in samples if s.name == "fleetqueue_api_requests_total" and s.labels["cluster"] == "hub")
