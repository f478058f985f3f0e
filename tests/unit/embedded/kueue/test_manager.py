"""A manager as a whole: it starts where kinds are missing, has its say while it runs, and tells its numbers."""

from functools import partial

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.external_kinds import kind_of
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.api.scheme import Resource
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.feature_gates import DEFAULTS
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings, LeaderElectionConfiguration
from fleetqueue.fleets.systems.kueue import visibility
from fleetqueue.fleets.systems.parts import create_all
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.leader_election import LeaderElection, LeaseSettings
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import custom_kind
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import whole

from .job_objects import job_manifest, workload_of
from .scheduling.objects import NAMESPACE, workload_manifest

pytestmark = pytest.mark.virtual_time


PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/q/pendingworkloads"


def manager_of(world, frameworks=("batch/job", "jobset.x-k8s.io/jobset", "pod"), gates=(), external=(), **more):
    server = world.fleet.hub.server

    cluster = Cluster("hub", world.fleet.dial(parse(world.fleet.hub.kubeconfig)))
    settings = KueueSettings(
        frameworks=frameworks,
        external_frameworks=external,
        leader_election=LeaderElectionConfiguration() if more else None,
        feature_gates={**DEFAULTS, **dict(gates)},
    )
    world.metrics = Metrics()
    return KueueManager(
        cluster,
        world.metrics,
        settings,
        find=server.find,
        install=partial(server.webhooks.install, "kueue"),
        serve=server.api_services.serving,
        **more,
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


async def test_who_stands_by_has_its_say_and_makes_controllers_when_it_is_elected(world):
    made = []
    spec = {"holderIdentity": "another", "leaseDurationSeconds": 15}
    await world.client.create(Lease.resource, Lease.manifest("kueue", "default", spec=spec))
    election = LeaderElection(world.client, "this", LeaseSettings("kueue", "default"))
    manager = manager_of(world, election=election, more=lambda: made.append(clock.now()) or ())
    async with whole(manager):
        await advance(10)
        early = list(made), manager.why_not_ready(), len(world.fleet.hub.server.webhooks.hooks)
        await world.client.merge(Lease.resource, "kueue", "default", {"spec": {"holderIdentity": ""}})
        await advance(3)
        elected = len(made), manager.why_not_ready()

    assert early[:2] == ([], "")
    assert early[2] > 0
    assert elected == (1, "")
    assert number(world, "leader", "kueue_cluster_queue_status", cluster_queue="q", status="active") == 1


def number(world, role, name, **labels):
    return world.metrics.registry.get_sample_value(name, {"replica_role": role, **labels})


async def test_it_tells_who_waits_only_while_it_runs(world):
    await create_all(world.client, [Namespace.manifest(KUEUE_NAMESPACE), *visibility()])
    with pytest.raises(errors.ServerError) as before:
        await world.client.read(PENDING)
    async with whole(manager_of(world)):
        await world.add(workload_manifest("runs", cpu="4", priority=1), workload_manifest("waits"))
        await advance(2)
        waiting = await world.client.read(PENDING)
    with pytest.raises(errors.ServerError) as after:
        await world.client.read(PENDING)

    assert [item["metadata"]["name"] for item in waiting["items"]] == ["waits"]
    assert before.value.code == after.value.code == 503


async def test_a_gate_keeps_it_from_telling_who_waits(world):
    await create_all(world.client, [Namespace.manifest(KUEUE_NAMESPACE), *visibility()])
    async with whole(manager_of(world, gates={"VisibilityOnDemand": False})):
        await advance(2)
        with pytest.raises(errors.ServerError) as refused:
            await world.client.read(PENDING)

    assert refused.value.code == 503


async def test_it_tells_its_numbers(world):
    async with whole(manager_of(world)):
        await world.add(workload_manifest("a"))
        await advance(4)
        await world.delete("Workload", "a", NAMESPACE)
        await advance(4)

    alone = partial(number, world, "standalone")
    assert alone("kueue_cluster_queue_status", cluster_queue="q", status="active") == 1
    assert alone("kueue_reserving_active_workloads", cluster_queue="q") == 0
    assert alone("kueue_admitted_workloads_total", cluster_queue="q", priority_class="") == 1


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
    return {sample.name for sample in samples if queue == sample.labels.get("cluster_queue")}


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


async def test_a_job_below_one_of_an_external_framework_is_neither_queued_nor_stopped(world):
    foo = Resource("example.com", "v1", "Foo", "foos")
    await world.client.create(CustomResourceDefinition.resource, custom_kind(foo))
    await advance(2)
    above = kind_of(foo).manifest("f", NAMESPACE, labels={kueue.QUEUE_LABEL: "q"}, spec={})
    made = await world.client.create(foo, above)
    owner = controller_reference(foo, "f", made["metadata"]["uid"])
    below = job_manifest(suspend=False, queue="")
    below["metadata"]["ownerReferences"] = [owner]
    async with whole(manager_of(world, external=("Foo.v1.example.com", "Odd.v1.example.com"))):
        await advance(2)
        await world.add(below)
        await advance(3)
        is_stopped = (await world.get("Job", "j", NAMESPACE))["spec"]["suspend"]
        workloads = (await world.client.list(kueue.Workload.resource, NAMESPACE)).items

    assert is_stopped is False
    assert workloads == []
