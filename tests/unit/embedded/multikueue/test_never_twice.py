"""Whatever fails, and whenever, no job ever runs on two workers, and every job ends.

Our own Kueue runs everywhere. Chance cuts workers off, lets them be slow or silent, lets writes fail or their answers
be lost, ends watches, moves clusters out of the config and back, stops queues, deactivates Workloads, and kills the
hub's process between two writes. A witness looks at the Jobs of all workers all the time. A worker is never away for so
long that it is given up: then its job runs twice, by design.
"""

import asyncio
import random
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.fleets.crashes import Life
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import running

from .objects import NAMESPACE, QUEUE
from .queues import arrange

JOBS = tuple(f"job-{number}" for number in range(5))


class Chance:
    def __init__(self, env, seed):
        self.env = env
        self.random = random.Random(seed)
        self.most = Counter()
        self.names = [worker.name for worker in env.workers]

    async def watch(self):
        """Count where each job lives, all the time."""
        while True:
            alive = Counter(
                job.name
                for worker in self.env.workers
                for job in worker.list(Job)
                if not job.spec.suspend and not job.has_ended and not job.is_deleting
            )
            for name, count in alive.items():
                self.most[name] = max(self.most[name], count)
            await asyncio.sleep(0.2)

    async def trouble(self):
        """Do something bad, again and again, and repair it."""
        while True:
            await asyncio.sleep(self.random.uniform(0.3, 6))
            trouble = self.random.choice(
                [self.cut, self.slow, self.refuse, self.break_watches, self.unlist, self.stop_queue, self.deactivate]
            )
            await trouble(self.env.fleet[self.random.choice(self.names)])

    async def cut(self, worker):
        worker.cut(silently=self.random.random() < 0.5)
        await asyncio.sleep(self.random.uniform(1, 40))
        worker.heal()

    async def slow(self, worker):
        worker.seconds_per_request = self.random.uniform(0.1, 20)
        await asyncio.sleep(self.random.uniform(1, 20))
        worker.heal()

    async def refuse(self, worker):
        error = self.random.choice(
            [errors.Conflict("stale"), errors.ServerError("broken"), errors.Unreachable("reset"), errors.Gone("old")]
        )
        what = self.random.choice(["create jobs/*", "create workloads/*", "delete *", "patch *", "apply *", "*"])
        where = self.random.choice([worker, self.env.hub])
        where.fail_on(what, error, times=self.random.randint(1, 5), applied=self.random.random() < 0.5)

    async def break_watches(self, worker):
        self.random.choice([worker, self.env.hub]).end_watches(self.random.choice([None, errors.Gone("compacted")]))

    async def unlist(self, worker):
        self.env.list_clusters(*[name for name in self.names if name != worker.name])
        await asyncio.sleep(self.random.uniform(0, 10))
        self.env.list_clusters(*self.names)

    async def stop_queue(self, worker):
        worker.change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await asyncio.sleep(self.random.uniform(0, 10))
        worker.change(kueue.ClusterQueue, "q", spec={"stopPolicy": "None"})

    async def deactivate(self, worker):
        workloads = [each for each in self.env.hub.list(kueue.Workload) if not each.is_finished]
        if workloads:
            chosen = self.random.choice(workloads)
            self.env.hub.change(kueue.Workload, chosen.name, NAMESPACE, spec={"active": False})
            await asyncio.sleep(self.random.uniform(0, 10))
            self.env.hub.change(kueue.Workload, chosen.name, NAMESPACE, spec={"active": True})

    async def live_and_die(self):
        """Let the hub's process die at one of its next writes, and start it again."""
        while True:
            life = Life(dies_at=self.random.randint(5, 60), last_write_arrives=self.random.random() < 0.5)
            async with self.env.hub_kueue(life):
                await life.dead.wait()
            await asyncio.sleep(self.random.uniform(0, 5))


@asynccontextmanager
async def troubled(env, seed, *, dies):
    chance = Chance(env, seed)
    async with env.workers_kueue(), running(chance.watch()):
        async with running(chance.trouble()):
            if dies:
                async with running(chance.live_and_die()):
                    yield chance
            else:
                async with env.hub_kueue():
                    yield chance
        for cluster in env.fleet:
            cluster.heal()
        env.list_clusters(*chance.names)
        for worker in env.workers:
            worker.change(kueue.ClusterQueue, "q", spec={"stopPolicy": "None"})
        for workload in env.hub.list(kueue.Workload):
            if not workload.spec.active:
                env.hub.change(kueue.Workload, workload.name, NAMESPACE, spec={"active": True})
        async with env.hub_kueue():
            await env.fleet.advance(900)


def user_job(name, seconds):
    template = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": f"{seconds}s"})
    spec = {"suspend": True, "managedBy": kueue.MULTIKUEUE_CONTROLLER, "template": template}
    return Job.manifest(name, NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec)


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("fleet_seed", "dies"),
    [
        pytest.param(0, False, id="the hub's process lives"),
        pytest.param(1, True, id="the hub's process dies"),
        pytest.param(9, True, id="it dies, and a cluster is unlisted before it is seen again"),
    ],
)
async def test_no_job_runs_twice_and_all_end(env, fleet_seed, dies):
    arrange(env, cpus="3")
    async with troubled(env, fleet_seed, dies=dies) as chance:
        for name in JOBS:
            env.hub.add(user_job(name, chance.random.randint(5, 120)))
            await env.fleet.advance(chance.random.uniform(0, 5))
        await env.fleet.advance(180)

    assert {name: count for name, count in chance.most.items() if count > 1} == {}
    assert [name for name in JOBS if not env.job(name).has_ended] == []
    assert env.has_anything() == []
