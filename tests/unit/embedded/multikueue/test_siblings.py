"""Several Workloads of one job: the first one leads, and the others go where it went."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.decisions import GroupAction as Act
from fleetqueue.embedded.multikueue.decisions import Wanted, decide, wanted_on_each
from fleetqueue.embedded.multikueue.incremental import is_dispatched
from fleetqueue.embedded.multikueue.serving_adapters import LeaderWorkerSetAdapter
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy, Siblings, WorkloadGroup
from fleetqueue.testing.virtual_time import START

JOB = {"metadata": {"name": "l"}, "spec": {"replicas": 2}}
LEADS = Siblings(is_complete=True, is_first=True)
EARLY = Siblings(is_complete=False, is_first=True)
WAITS = Siblings(is_complete=True, is_first=False)
FOLLOWS = Siblings(is_complete=True, is_first=False, cluster="a")
BACK = Siblings(is_complete=True, is_first=True, cluster="b")


def view(*conditions, **status):
    told = [
        {"type": kind, "status": "True", "reason": "", "message": "", "lastTransitionTime": START.isoformat()}
        for kind in conditions
    ]
    return kueue.Workload.view(kueue.Workload.manifest("w", "ns", spec={}, status={"conditions": told, **status}))


def copy(cluster, *conditions, has_job=False):
    jobs = (JOB,) if has_job else ()
    return RemoteCopy(cluster, view=view(*conditions), jobs=jobs, has_all=has_job)


def group(siblings, *copies, nominated=()):
    states = [{"name": "mk", "state": "Pending"}]
    local = view("QuotaReserved", admissionChecks=states, nominatedClusterNames=list(nominated))
    everywhere = {name: RemoteCopy(name) for name in ("a", "b")} | {each.cluster: each for each in copies}
    adapter = LeaderWorkerSetAdapter()
    return WorkloadGroup(local, local.check("mk"), ("a", "b"), everywhere, adapter, (JOB,), siblings, now=START)


@pytest.mark.parametrize(
    ("case", "clusters"),
    [
        pytest.param(group(LEADS), ("a", "b"), id="the first one may go anywhere"),
        pytest.param(group(EARLY), (), id="it waits until all are there"),
        pytest.param(group(WAITS), (), id="others wait for it"),
        pytest.param(group(FOLLOWS), ("a",), id="others follow it"),
        pytest.param(group(FOLLOWS, nominated=("b",)), ("a",), id="whatever else was nominated for them"),
        pytest.param(group(BACK), ("b",), id="the first one comes back to the others"),
    ],
)
def test_who_is_nominated(case, clusters):
    assert decide(case, nominates=True).clusters == clusters


def test_where_somebody_else_nominates_others_follow_all_the_same():
    assert decide(group(LEADS), nominates=False).act is Act.NOTHING
    assert decide(group(FOLLOWS), nominates=False).clusters == ("a",)


ADMITTED = ("QuotaReserved", "Admitted")


@pytest.mark.parametrize(
    ("case", "on_a"),
    [
        pytest.param(group(LEADS, nominated=("a", "b")), Wanted.WORKLOAD, id="the first one is offered"),
        pytest.param(group(WAITS, nominated=("a", "b")), Wanted.NOTHING, id="others are not, whoever nominated them"),
        pytest.param(group(FOLLOWS, nominated=("a",)), Wanted.WORKLOAD, id="others are offered where it is"),
        pytest.param(
            group(FOLLOWS, copy("a", has_job=True), nominated=("a",)), Wanted.WORKLOAD, id="where the job is already"
        ),
        pytest.param(
            group(LEADS, copy("a", has_job=True), nominated=("a",)),
            Wanted.NOTHING,
            id="a job from an earlier life goes",
        ),
        pytest.param(
            group(FOLLOWS, copy("a", *ADMITTED, has_job=True), nominated=("a",)), Wanted.JOB, id="admitted there"
        ),
    ],
)
def test_what_the_worker_has(case, on_a):
    assert wanted_on_each(case)["a"] is on_a


def test_a_worker_that_admits_too_late_wins_nothing():
    late = group(FOLLOWS, copy("b", *ADMITTED), nominated=("a", "b"))

    assert wanted_on_each(late)["b"] is Wanted.NOTHING


def test_who_follows_is_recorded_as_soon_as_it_is_admitted():
    admitted = group(FOLLOWS, copy("a", *ADMITTED, has_job=True), nominated=("a",))

    step = decide(admitted, nominates=True)

    assert (step.act, step.cluster) == (Act.RECORD, "a")


@pytest.mark.parametrize(("siblings", "is_so"), [(None, True), (LEADS, True), (EARLY, False), (FOLLOWS, False)])
def test_only_who_leads_is_nominated_a_few_clusters_at_a_time(siblings, is_so):
    assert is_dispatched(group(siblings)) is is_so
