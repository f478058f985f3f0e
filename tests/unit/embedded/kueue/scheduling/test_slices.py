"""Slices of elastic jobs in a cycle: they ask only for what is more, where the slice before them is."""

import pytest

from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus
from fleetqueue.embedded.kueue.settings import SchedulingSettings

from .objects import CPU, NAMESPACE, NOON, admitted, flavor, group, local_queue, queue, quota, workload

REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"


def second(cpu, *, of="old", namespace=NAMESPACE, **said):
    return workload("new", cpu=str(cpu), annotations={REPLACES: f"{namespace}/{of}"}, **said)


def entry(*workloads, queues=(), of="new"):
    """Return what a cycle decides of a head."""
    cache = Cache(SchedulingSettings())
    cache.set_namespace(NAMESPACE, {})
    for name in ("default", "other"):
        cache.set_flavor(flavor(name))
    for each in queues or (queue(),):
        cache.set_cluster_queue(each)
        cache.set_local_queue(local_queue(each.name))
    for each in workloads:
        cache.set_workload(each)
    found = Cycle(cache, 1, NOON).run(cache.heads())
    return next(one for one in found if one.work.view.name == of)


OLD = admitted("old", cpu="3")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param(second(4), EntryStatus.ADMITTED, id="what is more fits"),
        pytest.param(second(5), EntryStatus.PENDING, id="what is more does not fit"),
        pytest.param(
            second(4, of="gone"), EntryStatus.PENDING, id="the slice before it holds nothing: all is asked for"
        ),
        pytest.param(second(4, namespace="other"), EntryStatus.PENDING, id="that of another namespace is none"),
        pytest.param(second(2), EntryStatus.ADMITTED, id="less always fits"),
    ],
)
def test_only_what_is_more_is_asked_for(head, status):
    assert entry(OLD, head).status is status


def test_what_is_more_is_used_and_the_slice_before_is_replaced_not_preempted():
    found = entry(OLD, second(4))

    assert found.assignment.usage == {CPU: 1000}
    assert found.assignment.parts[0].manifest["resourceUsage"] == {"cpu": "4"}
    assert (found.replaced.key, found.targets) == (f"{NAMESPACE}/old", ())


def test_a_slice_stays_in_the_flavor_of_the_one_before():
    two = queue("q", group(other=quota(9), default=quota(4)))

    found = entry(OLD, second(5), queues=[two])

    assert found.status is EntryStatus.PENDING
    assert "could not assign other flavor since the original workload is assigned: default" in found.message


def test_a_slice_preempts_others_for_what_is_more():
    rules = {"withinClusterQueue": "LowerPriority"}
    low = admitted("low", cpu="1", priority=-1)

    found = entry(OLD, low, second(4), queues=[queue("q", preemption=rules)])

    assert found.status is EntryStatus.PREEMPTS
    assert [target.key for target in found.targets] == [f"{NAMESPACE}/low"]


def test_a_slice_waits_while_the_one_before_it_is_preempted():
    rules = {"reclaimWithinCohort": "Any"}
    q = queue("q", group(default=quota(2)), cohort="c")
    r = queue("r", group(default=quota(3)), cohort="c", preemption=rules)

    found = entry(OLD, second(4), workload("w", to="r", cpu="3"), queues=[q, r])

    assert found.status is EntryStatus.SKIPPED
    assert found.message == "Workload has overlapping preemption targets with another workload"
