"""A hub that was started anew, and a worker that it has not seen since: who keeps a job, and for how long.

Kueue 0.19 counts a worker as lost from the moment at which its manager began, and keeps a job that was admitted there
for `workerLostTimeout`; so do we. Of a job that was evicted it no longer knows where it was, and starts it elsewhere at
once, though it may still run on the worker that nobody can see. We wait as long for that, too: no crash of ours may
make a second copy.
"""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from tests.invariants.standing_by import ONCE

from .queues import arrange, endless, the_workload

pytestmark = pytest.mark.fleet(workers=2)

TIMEOUT = 120.0
GIVEN_UP = "a worker that is away for longer than Kueue waits is given up, and cannot be told"
OTHER = {"cluster1": "cluster2", "cluster2": "cluster1"}


class Story:
    """A job on a worker that is cut off before the hub's Kueue is started anew."""

    def __init__(self, env):
        self.env = env
        self.worker = ""

    async def begin(self):
        arrange(self.env)
        async with self.env.hub_kueue(worker_lost_timeout=TIMEOUT):
            await self.env.fleet.advance(3)
            self.env.hub.add(endless())
            await self.env.fleet.advance(5)
            self.worker = the_workload(self.env).status.cluster_name
            self.env.fleet.cut(self.worker)

    async def evict(self):
        """Stop the hub's queue, and let it go on."""
        for policy in ("HoldAndDrain", "None"):
            self.env.hub.change(kueue.ClusterQueue, "q", spec={"stopPolicy": policy})
            await self.env.fleet.advance(5)

    @property
    def place(self):
        return the_workload(self.env).status.cluster_name


@pytest.fixture
async def story(env):
    async with env.workers_kueue():
        story = Story(env)
        await story.begin()
        async with env.hub_kueue(worker_lost_timeout=TIMEOUT):
            await env.fleet.advance(3)
            yield story


@pytest.mark.breaks(ONCE, why=GIVEN_UP)
async def test_as_in_kueue_a_job_stays_with_a_worker_that_was_not_seen_for_the_lost_timeout_from_the_restart(story):
    await story.env.fleet.advance(TIMEOUT - 20)
    before = story.place
    await story.env.fleet.advance(60)

    assert before == story.worker
    assert story.place == OTHER[story.worker]


@pytest.mark.breaks(ONCE, why=GIVEN_UP)
async def test_an_evicted_job_waits_as_long_where_kueue_would_start_a_second_copy_at_once(story):
    await story.evict()
    await story.env.fleet.advance(TIMEOUT - 40)
    before = story.place, story.env.has_job()
    await story.env.fleet.advance(80)

    assert before == ("", [story.worker])
    assert story.place == OTHER[story.worker]


async def test_an_evicted_job_waits_no_longer_when_the_worker_is_seen_again(story):
    await story.evict()
    story.env.fleet.heal(story.worker)
    await story.env.fleet.advance(60)

    assert story.place
    assert story.env.has_job() == [story.place]
