"""A manager as a whole: it starts where kinds are missing, has its say while it runs, and tells its numbers."""

from functools import partial

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import whole

from .job_objects import job_manifest, workload_of
from .scheduling.objects import NAMESPACE, workload_manifest

pytestmark = pytest.mark.virtual_time


def manager_of(world, frameworks=("batch/job", "jobset.x-k8s.io/jobset", "pod")):
    server = world.fleet.hub.server

    cluster = Cluster("hub", world.fleet.dial(parse(world.fleet.hub.kubeconfig)))
    settings = KueueSettings(frameworks=frameworks)
    world.metrics = Metrics()
    return KueueManager(
        cluster, world.metrics, settings, find=server.find, install=partial(server.webhooks.install, "kueue")
    )


async def test_it_works_where_a_kind_of_job_is_missing(world):
    manager = manager_of(world)
    before = manager.why_not_ready()
    async with whole(manager):
        await advance(2)
        ready = manager.why_not_ready()
        await world.add(job_manifest(suspend=False))
        await advance(3)

    assert before
    assert ready == ""
    assert (await world.get("Job", "j", NAMESPACE))["spec"]["suspend"] is False
    assert (await workload_of(world))["status"]["admission"]["clusterQueue"] == "q"


async def test_it_has_its_say_only_while_it_runs(world):
    async with whole(manager_of(world)):
        await advance(2)
        names = {hook.name for hook in world.fleet.hub.server.webhooks.hooks}
    after = world.fleet.hub.server.webhooks.hooks

    assert {"mjob.kb.io", "vjob.kb.io", "vworkload.kb.io", "vclusterqueue.kb.io"} <= names
    assert "mjobset.kb.io" not in names
    assert list(after) == []


async def test_it_tells_its_numbers(world):
    async with whole(manager_of(world)):
        await world.add(workload_manifest("a"))
        await advance(4)
        await world.delete("Workload", "a", NAMESPACE)
        await advance(4)

    def number(name, **labels):
        return world.metrics.registry.get_sample_value(name, {"replica_role": "standalone", **labels})

    assert number("kueue_cluster_queue_status", cluster_queue="q", status="active") == 1
    assert number("kueue_reserving_active_workloads", cluster_queue="q") == 0
    assert number("kueue_admitted_workloads_total", cluster_queue="q", priority_class="") == 1


async def test_it_tells_no_number_of_a_queue_that_has_gone(world):
    async with whole(manager_of(world)):
        await world.add(workload_manifest("a"))
        await advance(4)
        known = told_of(world, "q")
        await world.delete("Workload", "a", NAMESPACE)
        await advance(4)
        await world.delete("ClusterQueue", "q")
        await advance(4)

    assert known
    assert told_of(world, "q") == set()


def told_of(world, queue):
    samples = (sample for metric in world.metrics.registry.collect() for sample in metric.samples)
    return {sample.name for sample in samples if queue in sample.labels.values()}


async def test_a_class_that_changes_its_value_changes_its_workloads(world):
    made = {**WorkloadPriorityClass.manifest("high"), "value": 10}
    await world.client.create(WorkloadPriorityClass.resource, made)
    async with whole(manager_of(world)):
        await world.add(job_manifest(labels={"kueue.x-k8s.io/priority-class": "high"}))
        await advance(3)
        await world.client.merge(WorkloadPriorityClass.resource, "high", "", {"value": 20})
        await advance(3)

    workload = await workload_of(world)
    assert workload["spec"]["priority"] == 20
    assert kueue.Workload.view(workload).is_true(kueue.ADMITTED)
