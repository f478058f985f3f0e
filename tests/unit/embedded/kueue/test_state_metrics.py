"""What is told of queues and cohorts as they are."""

import math

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.settings import (
    AdmissionFairSharingSettings,
    FairSharingSettings,
    KueueSettings,
    MetricsSettings,
    SchedulingSettings,
)
from fleetqueue.embedded.kueue.state_metrics import StateMetrics

from .scheduling.objects import (
    NAMESPACE,
    admitted,
    cohort,
    condition,
    flavor,
    group,
    local_queue,
    local_queue_manifest,
    queue,
    queue_manifest,
    quota,
    workload,
)

ACTIVE = {"conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]}


class World:
    """A cache, and the LocalQueues beside it."""

    def __init__(self, **settings):
        self.cache = Cache(SchedulingSettings(**settings))
        self.cache.set_namespace(NAMESPACE, {})
        self.cache.set_flavor(flavor())
        self.local_queues = {}

    def add(self, *objects):
        put = {
            kueue.ClusterQueue: self.cache.set_cluster_queue,
            kueue.LocalQueue: self._set_local_queue,
            kueue.Cohort: self.cache.set_cohort,
            kueue.QueuedWorkload: self.cache.set_workload,
        }
        for each in objects:
            put[type(each)](each)

    def _set_local_queue(self, queue):
        self.local_queues[queue.key] = queue
        self.cache.set_local_queue(queue)

    def told(self, name, settings=None, **metrics):
        """Return what is told under a name: the value by the values of the labels, without the role."""
        settings = settings or KueueSettings(metrics=MetricsSettings(**metrics))
        found = {}
        for family in StateMetrics(self.cache, self.local_queues.values, settings).collect():
            if family.name == f"kueue_{name}":
                for sample in family.samples:
                    values = [value for label, value in sample.labels.items() if label != "replica_role"]
                    found[tuple(values)] = sample.value
        return found


@pytest.fixture
def world():
    world = World()
    world.add(queue("q"), local_queue("one", to="q"), local_queue("two", to="q"))
    return world


def test_who_waits_is_active_or_inadmissible(world):
    world.add(workload("a", to="one", priority=1), workload("b", to="two", cpu="2"))
    (head,) = world.cache.heads()
    flying = world.told("pending_workloads")
    world.cache.back(head, Requeue.NO_FIT)

    assert flying == {("q", "active"): 2, ("q", "inadmissible"): 0}
    assert world.told("pending_workloads") == {("q", "active"): 1, ("q", "inadmissible"): 1}
    assert world.told("local_queue_pending_workloads") == {
        ("one", NAMESPACE, "active"): 0,
        ("one", NAMESPACE, "inadmissible"): 1,
        ("two", NAMESPACE, "active"): 1,
        ("two", NAMESPACE, "inadmissible"): 0,
    }


def test_in_a_queue_that_cannot_admit_all_are_inadmissible(world):
    world.add(workload("a", to="one"))
    world.cache.drop_flavor("default")

    assert world.told("pending_workloads") == {("q", "active"): 0, ("q", "inadmissible"): 1}
    assert world.told("local_queue_pending_workloads")["one", NAMESPACE, "inadmissible"] == 1


@pytest.mark.parametrize(
    ("metadata", "has_flavor", "status"),
    [
        pytest.param({}, True, "active", id="active"),
        pytest.param({}, False, "pending", id="its flavor is missing"),
        pytest.param({"deletionTimestamp": "2026-01-01T12:00:00Z"}, True, "terminating", id="deleted"),
    ],
)
def test_a_cluster_queue_has_one_status(world, metadata, has_flavor, status):
    manifest = kueue.ClusterQueue.manifest("q", spec={"resourceGroups": [group(default=quota(1))]})
    world.add(kueue.ClusterQueue.view({**manifest, "metadata": {**manifest["metadata"], **metadata}}))
    if not has_flavor:
        world.cache.drop_flavor("default")

    told = world.told("cluster_queue_status")

    assert [each for (_, each), value in told.items() if value] == [status]
    assert len(told) == 3


def test_a_local_queue_says_whether_it_is_active(world):
    ready = kueue.ClusterQueue.manifest("ready", spec={"resourceGroups": [group(default=quota(1))]}, status=ACTIVE)
    world.add(
        kueue.ClusterQueue.view(ready), local_queue("works", to="ready"), local_queue("held", to="q", stop="Hold")
    )

    told = world.told("local_queue_status")

    assert (told["works", NAMESPACE, "True"], told["works", NAMESPACE, "False"]) == (1, 0)
    assert (told["held", NAMESPACE, "True"], told["held", NAMESPACE, "False"]) == (0, 1)
    assert told["held", NAMESPACE, "Unknown"] == 0


def test_who_holds_quota_and_who_is_admitted_is_counted(world):
    reserved = [condition("QuotaReserved", "True")]
    given = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    admission = {"admission": {"clusterQueue": "q", "podSetAssignments": [given]}}
    world.add(admitted("a", to="q"), workload("b", to="one", conditions=reserved, status=admission))

    assert world.told("reserving_active_workloads") == {("q",): 2}
    assert world.told("admitted_active_workloads") == {("q",): 1}
    assert world.told("local_queue_reserving_active_workloads")["one", NAMESPACE] == 1
    assert world.told("local_queue_admitted_active_workloads")["one", NAMESPACE] == 0


def test_finished_workloads_are_counted_while_they_are_there(world):
    finished = [condition("Finished", "True")]
    world.add(workload("a", to="one", conditions=finished), workload("b", to="two"))
    there = world.told("finished_workloads"), world.told("local_queue_finished_workloads")
    world.add(workload("a", to="one", conditions=finished))
    world.cache.drop_workload(f"{NAMESPACE}/a")

    assert there == ({("q",): 1}, {("one", NAMESPACE): 1, ("two", NAMESPACE): 0})
    assert world.told("finished_workloads") == {("q",): 0}


def test_of_a_local_queue_that_is_stopped_only_what_it_holds_is_told(world):
    world.add(local_queue("held", to="q", stop="Hold"))

    assert ("held", NAMESPACE) in world.told("local_queue_reserving_active_workloads")
    assert ("held", NAMESPACE) not in world.told("local_queue_finished_workloads")
    assert ("held", NAMESPACE, "active") not in world.told("local_queue_pending_workloads")


def test_of_a_local_queue_that_leads_nowhere_only_its_status_is_told(world):
    world.add(local_queue("lost", to="missing"))

    assert ("lost", NAMESPACE, "False") in world.told("local_queue_status")
    assert ("lost", NAMESPACE) not in world.told("local_queue_reserving_active_workloads")
    assert ("lost", NAMESPACE, "active") not in world.told("local_queue_pending_workloads")


def test_quotas_and_what_is_held_of_them_are_told_where_that_is_wanted(world):
    limited = group(default=[quota(4, borrow=2, lend=1), quota("8Gi", resource="memory")])
    world.add(queue("q", limited, cohort="team"), admitted("a", to="q", cpu="1500m"), workload("b", to="one", cpu="2"))

    def told(name):
        return world.told(f"cluster_queue_{name}", resources=True)

    cpu, memory = ("team", "q", "default", "cpu"), ("team", "q", "default", "memory")
    assert told("nominal_quota") == {cpu: 4, memory: 8 * 2**30}
    assert told("borrowing_limit") == {cpu: 2, memory: math.inf}
    assert told("lending_limit") == {cpu: 1, memory: math.inf}
    assert told("resource_reservation") == told("resource_usage") == {cpu: 1.5, memory: 0}
    assert told("resource_pending") == {("q", "cpu"): 2, ("q", "memory"): 0}
    assert world.told("cluster_queue_nominal_quota") == world.told("cluster_queue_resource_pending") == {}


def test_what_workloads_of_a_local_queue_hold_is_told(world):
    world.add(local_queue("q"), admitted("a", to="q", cpu="2"))

    held = world.told("local_queue_resource_reservation"), world.told("local_queue_resource_usage")

    for told in held:
        assert told["q", NAMESPACE, "default", "cpu"] == 2
        assert told["one", NAMESPACE, "default", "cpu"] == 0


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        pytest.param(LabelSelector(), {"one", "two", "labelled"}, id="all"),
        pytest.param(LabelSelector(match_labels={"told": "yes"}), {"labelled"}, id="those with a label"),
        pytest.param(None, set(), id="none"),
    ],
)
def test_of_which_local_queues_anything_is_told_can_be_chosen(world, selector, names):
    manifest = local_queue_manifest("labelled", to="q")
    manifest["metadata"]["labels"] = {"told": "yes"}
    world.add(kueue.LocalQueue.view(manifest))

    told = world.told("local_queue_status", local_queues=selector)

    assert {name for name, *_ in told} == names


def test_a_cohort_adds_up_what_is_below_it(world):
    world.add(
        cohort("company", groups=[group(default=quota(1))]),
        cohort("team", parent="company"),
        queue("q", group(default=quota(4)), cohort="team"),
        queue("other", group(default=quota(2)), cohort="team"),
        admitted("a", to="q", cpu="3"),
        admitted("b", to="other", cpu="1"),
    )

    assert world.told("cohort_subtree_quota") == {("team", "default", "cpu"): 6, ("company", "default", "cpu"): 7}
    assert world.told("cohort_subtree_resource_reservations") == {
        ("team", "default", "cpu"): 4,
        ("company", "default", "cpu"): 4,
    }
    assert world.told("cohort_subtree_admitted_active_workloads") == {("team",): 2, ("company",): 2}
    assert world.told("cohort_info") == {("company", "", "company"): 1, ("team", "company", "company"): 1}
    assert world.told("cluster_queue_info") == {("q", "team", "company"): 1, ("other", "team", "company"): 1}


def test_a_queue_without_a_cohort_says_so(world):
    assert world.told("cluster_queue_info") == {("q", "", ""): 1}


def test_a_gate_keeps_the_hierarchy_back(world):
    world.add(cohort("team"))
    settings = KueueSettings(feature_gates={"MetricsForCohorts": False})

    assert world.told("cluster_queue_info", settings) == world.told("cohort_info", settings) == {}
    assert world.told("cohort_subtree_admitted_active_workloads", settings) == {("team",): 0}


def test_of_cohorts_that_run_in_circles_nothing_is_told(world):
    world.add(cohort("a", parent="b"), cohort("b", parent="a"), queue("q", cohort="a"))

    assert world.told("cohort_subtree_quota") == world.told("cohort_info") == {}
    assert world.told("cluster_queue_info") == {("q", "", ""): 1}


def test_shares_are_told_of_queues_where_their_resources_are_and_of_cohorts_that_somebody_made():
    world = World(fair_sharing=FairSharingSettings())
    world.add(
        cohort("team", parent="company", fairSharing={"weight": "0"}),
        cohort("company"),
        queue("q", group(default=quota(0)), cohort="team"),
        queue("zero", group(default=quota(0)), cohort="team", fairSharing={"weight": "0"}),
        queue("lender", group(default=quota(4)), cohort="implicit"),
        queue("giver", group(default=quota(4)), cohort="company"),
        admitted("a", to="q", cpu="1"),
        admitted("b", to="zero", cpu="1"),
    )

    told = world.told("cluster_queue_weighted_share", resources=True)

    assert math.isnan(told.pop(("zero", "team")))
    assert told == {("q", "team"): 250, ("lender", "implicit"): 0, ("giver", "company"): 0}
    assert world.told("cluster_queue_weighted_share") == {}
    assert world.told("cohort_weighted_share") == {("team",): math.inf, ("company",): 0}


def test_without_fair_sharing_no_shares_are_told(world):
    world.add(cohort("team"), queue("r", cohort="team"))

    assert world.told("cluster_queue_weighted_share", resources=True) == world.told("cohort_weighted_share") == {}


def test_what_local_queues_have_consumed_is_told_of_those_that_are_active():
    world = World(admission_fair_sharing=AdmissionFairSharingSettings(half_life=60, sampling_interval=60))
    by_usage = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
    active = queue_manifest("q", **by_usage)
    world.add(kueue.ClusterQueue.view({**active, "status": ACTIVE}), local_queue("one", to="q"))
    world.add(local_queue("stopped", to="q", stop="Hold"), local_queue("lost"), workload("a", to="one", cpu="2"))
    (head,) = world.cache.heads()
    world.cache.assume(head, is_admitted=False)
    world.cache.charge(head)

    assert world.told("local_queue_admission_fair_sharing_usage") == {("one", NAMESPACE, "q"): 1}


def test_without_admission_fair_sharing_nothing_consumed_is_told(world):
    assert world.told("local_queue_admission_fair_sharing_usage") == {}


def test_what_has_gone_is_told_of_no_more(world):
    world.add(queue("q", cohort="team"))
    world.cache.drop_cluster_queue("q")

    assert world.told("pending_workloads") == world.told("cohort_subtree_quota") == world.told("cohort_info") == {}
    assert ("one", NAMESPACE) not in world.told("local_queue_reserving_active_workloads")


def test_the_build_is_ours():
    (family,) = [family for family in StateMetrics(World().cache, list, KueueSettings()).collect()]

    (sample,) = family.samples
    assert sample.labels["git_version"].startswith("v0.19.2+fleetqueue-")
    assert sample.labels["compiler"] == "cpython"
