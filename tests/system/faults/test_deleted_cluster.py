"""`kubectl delete managedcluster` of a healthy worker with a running job: it drains like any other that leaves.

OCM takes the cluster's add-ons, works and rights away as soon as it is deleted; the credential must outlive the drain.
"""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.manifests import objects
from fleetqueue.rules.run_times import RUN_FOR
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance
from tests.invariants.reasons import has_ended

from .fleet_template import template
from .happenings import is_ours, is_strange
from .seeds import unlogged
from .world import World, names

pytestmark = pytest.mark.timeout(300)


def play(story):
    with (
        unlogged(),
        clock.use(VirtualClock(0, template().moment)),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        return runner.run(story())


async def submit(world, name, seconds):
    (job,) = objects("job-demo2.yaml")
    job["metadata"] |= {"name": name}
    job["metadata"].pop("generateName")
    job["spec"]["template"]["metadata"] = {"annotations": {RUN_FOR: f"{seconds}s"}}
    await world.hub.create(Job.resource, job)


def running_on(world, name):
    (workload,) = [raw for raw in world.objects("hub", kueue.Workload) if owned_by(raw, name)]
    return workload["status"].get("clusterName", "").removeprefix("placement-demo2-")


def owned_by(raw, name):
    return any(owner["name"] == name for owner in raw["metadata"].get("ownerReferences", ()))


def ended(world):
    return all(has_ended(raw) for raw in world.objects("hub", Job) if is_ours(raw))


def test_its_job_runs_to_its_end_once_and_then_everything_of_ours_goes():
    async def story():
        world = World(0)
        async with world.living(template()):
            await advance(20)
            await submit(world, "job-00", 600)
            await advance(20)
            first = running_on(world, "job-00")
            by_hand = [raw for raw in world.objects("hub", kueue.MultiKueueCluster) if leads_to(raw, first)]

            await world.hub.delete(ManagedCluster.resource, first)
            await advance(60)
            await submit(world, "job-01", 20)
            await advance(400)
            world.witness.check()
            assert running_on(world, "job-00") == first
            assert running_on(world, "job-01") != first
            assert f"kueue-admin-{first}-kubeconfig" in names(world.objects("hub", Secret, "kueue-system"))
            await advance(300)

            world.witness.check()
            assert ended(world)
            assert f"placement-demo2-{first}" not in names(world.objects("hub", kueue.MultiKueueCluster))
            for raw in by_hand:  # what a person wrote keeps the credential until that person removes it
                if raw["metadata"]["name"] in names(world.objects("hub", kueue.MultiKueueCluster)):
                    await world.hub.delete(kueue.MultiKueueCluster.resource, raw["metadata"]["name"])
            await advance(180)
            assert f"kueue-admin-{first}-kubeconfig" not in names(world.objects("hub", Secret, "kueue-system"))
            assert first not in names(world.objects("hub", ManagedCluster))
            accounts = [raw for raw in world.objects(first, ServiceAccount) if not is_strange(raw)]
            assert [name for name in names(accounts) if name.startswith("kueue-admin")] == []

    play(story)


def leads_to(raw, cluster):
    source = raw["spec"]["clusterSource"]
    return source.get("kubeConfig", {}).get("location") == f"kueue-admin-{cluster}-kubeconfig"
