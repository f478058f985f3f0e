"""What is counted of the lives of Workloads, and what is forgotten with their queues."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.settings import KueueSettings, MetricsSettings
from fleetqueue.testing.virtual_time import advance

from .job_objects import job_manifest, template, workload_of
from .pods.objects import SETTINGS, ask, member, pod_manifest
from .scheduling.objects import (
    NAMESPACE,
    NOON,
    condition,
    local_queue_manifest,
    queue_manifest,
    workload,
    workload_manifest,
)

pytestmark = pytest.mark.virtual_time

URGENT = {**WorkloadPriorityClass.manifest("urgent"), "value": 10}
PREEMPTING = queue_manifest(preemption={"withinClusterQueue": "LowerPriority"})["spec"]["preemption"]
OF_Q = {"cluster_queue": "q"}
OF_LOCAL_Q = {"name": "q", "namespace": NAMESPACE}
COHORTS = {"team": {"parentName": "company"}, "company": {}}
POD = Pod.resource
NO_CLASS = {"priority_class": ""}
GATE = "kueue.x-k8s.io/elastic-job"
ELASTIC_JOB = job_manifest(annotations={GATE: "true"}, pods=template(schedulingGates=[{"name": GATE}]))
"""As Kueue's webhook leaves it, which is not there."""


def number(world, name, /, **labels):
    return world.metrics.registry.get_sample_value(f"kueue_{name}", {"replica_role": "standalone", **labels})


def both(world, name, /, **labels):
    """Return what is told of the ClusterQueue, and of the LocalQueue."""
    return number(world, name, **OF_Q, **labels), number(world, f"local_queue_{name}", **OF_LOCAL_Q, **labels)


def told(world, /, **labels):
    """Return the names of everything that is told with some labels."""
    samples = (sample for metric in world.metrics.registry.collect() for sample in metric.samples)
    return {sample.name for sample in samples if labels.items() <= sample.labels.items()}


async def test_a_job_is_counted_from_its_creation_to_its_end(world):
    async with world.managed():
        await world.add(job_manifest(pods=template(runs="100s")))
        await advance(10)
        running = both(world, "finished_workloads_total", **NO_CLASS), both(world, "finished_workloads")
        await advance(200)

    assert number(world, "workload_creation_latency_seconds_count", job_kind="Job") == 1
    for happened in ("quota_reserved_workloads_total", "admitted_workloads_total", "finished_workloads_total"):
        assert both(world, happened, **NO_CLASS) == (1, 1), happened
    for waited in ("quota_reserved_wait", "admission_wait", "ready_wait", "admitted_until_ready_wait"):
        assert both(world, f"{waited}_time_seconds_count", **NO_CLASS) == (1, 1), waited
    assert both(world, "admission_checks_wait_time_seconds_count", **NO_CLASS) == (None, None)
    assert running == ((None, None), (0, 0))
    assert both(world, "finished_workloads") == (1, 1)


async def test_how_long_it_waited_is_measured(world):
    async with world.managed():
        await world.add(job_manifest("first", pods=template("4", runs="100s")))
        await advance(10)
        await world.add(job_manifest("second", pods=template("4", runs="100s")))
        await advance(200)

    for waited in ("quota_reserved_wait", "admission_wait", "ready_wait"):
        for seconds in both(world, f"{waited}_time_seconds_sum", **NO_CLASS):
            assert 85 < seconds < 110, waited


def test_the_time_since_admission_is_that_of_its_condition():
    registry = CollectorRegistry()
    view = workload("w", age=9, conditions=[condition("Admitted", "True")])

    KueueMetrics(registry).pods_ready(view, "q", NOON + timedelta(seconds=5))

    labels = {**OF_Q, **NO_CLASS, "replica_role": "standalone"}
    assert registry.get_sample_value("kueue_admitted_until_ready_wait_time_seconds_sum", labels) == 5
    assert registry.get_sample_value("kueue_ready_wait_time_seconds_sum", labels) == 14


async def test_pods_that_are_ready_again_are_not_counted_again(world):
    async with world.managed():
        await world.add(job_manifest(pods=template(runs="1000s")))
        await advance(10)
        (pod,) = (await world.client.list(POD, NAMESPACE)).items
        await world.client.delete(POD, pod["metadata"]["name"], NAMESPACE, grace=0)
        await advance(30)
        conditions = await world.told((await workload_of(world))["metadata"]["name"])

    assert conditions["PodsReady"].startswith("True Recovered")
    assert number(world, "ready_wait_time_seconds_count", **OF_Q, **NO_CLASS) == 1


@pytest.mark.parametrize(
    ("jobs", "gate", "is_group"),
    [
        pytest.param([pod_manifest()], "kueue.x-k8s.io/admission", "false", id="a pod that stands alone"),
        pytest.param([member("a"), member("b")], "kueue.x-k8s.io/admission", "true", id="a group of pods"),
        pytest.param([ELASTIC_JOB], GATE, "false", id="an elastic job"),
    ],
)
async def test_each_pod_that_passes_its_gate_is_counted(world, jobs, gate, is_group):
    ask(world)
    async with world.managed(SETTINGS):
        for job in jobs:
            await world.add(job)
        await advance(10)

    labels = {**OF_Q, "name": gate, "is_group": is_group}
    assert number(world, "pod_scheduling_gate_removal_seconds_count", **labels) == len(jobs)


async def test_checks_are_waited_for(world):
    status = {"conditions": [condition("Active", "True")]}
    await world.add(kueue.AdmissionCheck.manifest("ac", spec={"controllerName": "example.com/c"}, status=status))
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "ac"}]}}
    await world.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": strategy})
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(60)
        raw = await world.workload("a")
        ready = [{**check, "state": "Ready"} for check in raw["status"]["admissionChecks"]]
        await world.change(raw, status={"admissionChecks": ready})

    for seconds in both(world, "admission_checks_wait_time_seconds_sum", **NO_CLASS):
        assert 55 < seconds < 65
    assert both(world, "admitted_workloads_total", **NO_CLASS) == (1, 1)


async def test_a_preemption_is_counted_with_all_that_comes_of_it(world):
    await world.client.create(WorkloadPriorityClass.resource, URGENT)
    await world.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": {"preemption": PREEMPTING}})
    async with world.managed():
        await world.add(job_manifest("low", pods=template("4")))
        await advance(60)
        for name in ("once", "twice"):
            urgent = {"kueue.x-k8s.io/priority-class": "urgent"}
            await world.add(job_manifest(name, labels=urgent, pods=template("4", runs="20s")))
            await advance(60)

    why = {"reason": "Preempted", "underlying_cause": ""}
    assert both(world, "evicted_workloads_total", **why, **NO_CLASS) == (2, 2)
    assert number(world, "evicted_workloads_once_total", **OF_Q, **why, **NO_CLASS) == 1
    assert number(world, "preempted_workloads_total", preempting_cluster_queue="q", reason="InClusterQueue") == 2
    assert number(world, "workload_eviction_latency_seconds_count", **OF_Q, reason="Preempted") == 2
    assert number(world, "pods_ready_to_evicted_time_seconds_count", **OF_Q, **why) == 2
    assert 80 < number(world, "pods_ready_to_evicted_time_seconds_sum", **OF_Q, **why) < 120
    assert both(world, "admitted_workloads_total", priority_class="urgent") == (2, 2)


async def test_who_is_switched_off_is_evicted_and_waits_for_nothing(world):
    async with world.managed():
        await world.add(job_manifest())
        await advance(10)
        await world.change(await workload_of(world), spec={"active": False})
        await advance(10)

    why = {"reason": "Deactivated", "underlying_cause": ""}
    assert both(world, "evicted_workloads_total", **why, **NO_CLASS) == (1, 1)
    assert number(world, "workload_eviction_latency_seconds_count", **OF_Q, reason="Deactivated") is None


async def test_a_manager_that_starts_counts_nothing_that_has_happened_before(world):
    async with world.managed():
        await world.add(job_manifest(pods=template(runs="10s")))
        await advance(60)
    async with world.managed():
        await advance(10)

    assert told(world, **NO_CLASS) == set()
    assert both(world, "finished_workloads") == (1, 1)


async def test_what_is_below_a_cohort_is_counted_there(world):
    for name, spec in COHORTS.items():
        await world.client.create(kueue.Cohort.resource, kueue.Cohort.manifest(name, spec=spec))
    await world.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": {"cohortName": "team"}})
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(5)
        counted = [
            number(world, "cohort_subtree_admitted_workloads_total", cohort=name, **NO_CLASS) for name in COHORTS
        ]
        await world.client.delete(kueue.Cohort.resource, "company")
        await advance(5)
        gone = number(world, "cohort_subtree_admitted_workloads_total", cohort="company", **NO_CLASS)

    assert counted == [1, 1]
    assert gone is None


async def test_a_cohort_that_nobody_names_any_more_is_forgotten(world):
    await world.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": {"cohortName": "team"}})
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(5)
        named = told(world, cohort="team")
        await world.client.merge(kueue.ClusterQueue.resource, "q", "", {"spec": {"cohortName": "other"}})
        await advance(5)

    assert "kueue_cohort_subtree_admitted_workloads_total" in named
    assert told(world, cohort="team") == set()


async def test_a_local_queue_that_goes_takes_its_numbers_along(world):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(5)
        known = told(world, **OF_LOCAL_Q)
        await world.delete("LocalQueue", "q", NAMESPACE)
        await advance(5)

    assert "kueue_local_queue_admitted_workloads_total" in known
    assert told(world, **OF_LOCAL_Q) == set()
    assert number(world, "admitted_workloads_total", **OF_Q, **NO_CLASS) == 1


async def test_a_local_queue_that_is_stopped_begins_at_nothing(world):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(5)
        await world.change(await world.get("LocalQueue", "q", NAMESPACE), spec={"stopPolicy": "Hold"})

    assert number(world, "local_queue_admitted_workloads_total", **OF_LOCAL_Q, **NO_CLASS) is None
    assert number(world, "local_queue_admitted_active_workloads", **OF_LOCAL_Q) == 1


async def test_nothing_is_told_of_local_queues_where_nobody_wants_it(world):
    await world.add(local_queue_manifest("other", to="q"))
    async with world.managed(KueueSettings(metrics=MetricsSettings(local_queues=None))):
        await world.add(workload_manifest("a"), workload_manifest("b", to="other"))
        await advance(5)

    assert told(world, namespace=NAMESPACE) == set()
    assert number(world, "admitted_workloads_total", **OF_Q, **NO_CLASS) == 2
