"""What is decided about a Workload, case by case."""

from datetime import timedelta

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.adapters import BatchJobAdapter
from fleetqueue.embedded.multikueue.decisions import GroupAction as Act
from fleetqueue.embedded.multikueue.decisions import Wanted, decide, wanted_on_each, winner
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy, WorkloadGroup
from fleetqueue.testing.virtual_time import START

JOB = {"metadata": {"name": "j"}, "spec": {"suspend": False}, "status": {"active": 1}}
HUB_JOB = {"metadata": {"name": "j"}, "spec": {"suspend": False}, "status": {"active": 1}}
ENDED = {**JOB, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
STOPPED = {"metadata": {"name": "j"}, "spec": {"suspend": True}, "status": {"active": 1}}


def conditions(*given, at=START):
    return [
        {"type": kind, "status": "True", "reason": reason, "message": "so", "lastTransitionTime": at.isoformat()}
        for kind, _, reason in (each.partition("=") for each in given)
    ]


def workload(*given, at=START, annotations=None, **status):
    told = {"conditions": conditions(*given, at=at), **status}
    raw = kueue.Workload.manifest("w", "ns", annotations=annotations, spec={}, status=told)
    return kueue.Workload.view(raw)


def copy(cluster, *given, at=START, has=True, job=None, **more):
    jobs = () if job is None else (job,)
    view = workload(*given, at=at) if has else None
    return RemoteCopy(cluster, view=view, jobs=jobs, has_all=bool(jobs), **more)


def group(*copies, state="Pending", local=("QuotaReserved",), listed=("a", "b"), job=HUB_JOB, others=(), **more):
    status = {key: more.pop(key) for key in ("clusterName", "nominatedClusterNames", "schedulingStats") if key in more}
    states = [{"name": "mk", "state": state}, *({"name": f"o{n}", "state": each} for n, each in enumerate(others))]
    view = workload(*local, admissionChecks=states, annotations=more.pop("annotations", None), **status)
    everywhere = {cluster: RemoteCopy(cluster) for cluster in listed or ()} | {each.cluster: each for each in copies}
    return WorkloadGroup(view, view.check("mk"), listed, everywhere, BatchJobAdapter(), (job,), now=START, **more)


ADMITTED = ("QuotaReserved", "Admitted")
NOMINATED = {"nominatedClusterNames": ["a", "b"]}
ON_A = {"clusterName": "a", "state": "Ready", "local": ADMITTED}
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
SECOND = {"annotations": {**ELASTIC, "kueue.x-k8s.io/workload-slice-replacement-for": "ns/v"}}
SLICE_FOR_A = {**SECOND, "clusterName": "a"}
LEAVING = {"local": ("QuotaReserved", "Evicted"), "job": STOPPED}
STOPPED_BEFORE = {"local": ("Evicted",), "job": STOPPED}


@pytest.mark.parametrize(
    ("case", "act", "about"),
    [
        pytest.param(group(), Act.NOMINATE, ("a", "b"), id="all connected clusters are nominated"),
        pytest.param(group(copy("a", has=False, is_connected=False)), Act.NOMINATE, ("b",), id="no lost cluster"),
        pytest.param(group(others=("Pending",)), Act.NOTHING, None, id="other checks come first"),
        pytest.param(group(others=("Ready",)), Act.NOMINATE, ("a", "b"), id="ready checks hold nobody up"),
        pytest.param(group(listed=None), Act.NOTHING, None, id="without a config nothing happens"),
        pytest.param(group(local=()), Act.NOTHING, None, id="without quota nothing happens"),
        pytest.param(group(local=(*ADMITTED, "Finished")), Act.NOTHING, None, id="finished is finished"),
        pytest.param(group(state="Retry"), Act.NOTHING, None, id="what is being retried waits for its eviction"),
        pytest.param(group(**NOMINATED), Act.NOTHING, None, id="nominated, nobody has admitted"),
        pytest.param(group(copy("a", *ADMITTED), **NOMINATED), Act.NOTHING, None, id="admitted, no job yet"),
        pytest.param(group(copy("a", *ADMITTED, job=JOB), **NOMINATED), Act.RECORD, "a", id="the winner has the job"),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB), copy("b", *ADMITTED, job=JOB), **NOMINATED),
            Act.NOTHING, None, id="two have a job: none is recorded",
        ),
        pytest.param(
            group(copy("b", "Finished=Succeeded"), **NOMINATED), Act.FINISH, "b", id="finished before it was recorded"
        ),
        pytest.param(
            group(copy("b", "Finished=Succeeded", job=JOB, is_connected=False, lost_for=1), **NOMINATED),
            Act.WAIT, 899.0, id="finished, but its job was not seen since the worker was lost",
        ),
        pytest.param(group(copy("b", "Finished=OutOfSync"), **NOMINATED), Act.NOTHING, None, id="out of sync"),
        pytest.param(group(copy("b", "Finished=OwnerNotFound"), **NOMINATED), Act.NOTHING, None, id="its job has gone"),
        pytest.param(group(copy("a", *ADMITTED, job=JOB), **ON_A), Act.NOTHING, None, id="runs, nothing has changed"),
        pytest.param(
            group(copy("a", *ADMITTED, job={**JOB, "status": {"active": 2}}), **ON_A),
            Act.COPY_STATUS, "a", id="the job's status comes back",
        ),
        pytest.param(
            group(copy("a", *ADMITTED, "Finished=Succeeded", job=ENDED), job=ENDED, **ON_A),
            Act.FINISH, "a", id="finished",
        ),
        pytest.param(group(copy("a", "Finished=Succeeded"), **ON_A), Act.FINISH, "a", id="finished, and the job gone"),
        pytest.param(
            group(copy("a", "Finished=Succeeded", job=JOB), **ON_A), Act.NOTHING, None,
            id="the job's end is not seen yet",
        ),
        pytest.param(
            group(copy("a", "Finished=Succeeded", is_sending=True), **ON_A), Act.NOTHING, None,
            id="the job itself is not seen yet",
        ),
        pytest.param(
            group(copy("a", "Finished=Succeeded", job={**JOB, "status": {"succeeded": 1}}), **ON_A),
            Act.COPY_STATUS, "a", id="finished: the last status first",
        ),
        pytest.param(group(copy("a", "Finished=OutOfSync"), **ON_A), Act.RETRY, "out of sync", id="out of sync"),
        pytest.param(group(copy("a", "Finished=OwnerNotFound"), **ON_A), Act.RETRY, "no longer", id="its job has gone"),
        pytest.param(
            group(copy("a", "Evicted=Preempted"), **ON_A), Act.RETRY, 'Workload evicted on worker cluster: "a"',
            id="evicted on the worker",
        ),
        pytest.param(group(copy("a", has=False), **ON_A), Act.RETRY, "Admitting remote no longer exists", id="gone"),
        pytest.param(group(copy("a", "QuotaReserved"), **ON_A), Act.RETRY, "no longer exists", id="not admitted"),
        pytest.param(
            group(copy("a", *ADMITTED, is_same=False), **ON_A), Act.RETRY, "no longer exists", id="changed there"
        ),
        pytest.param(
            group(copy("a", *ADMITTED, is_same=False, is_same_but_priority=True, job=JOB), **ON_A),
            Act.NOTHING, None, id="another priority is no reason",
        ),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB), **ON_A, listed=("b",)), Act.RETRY, "no longer exists", id="unlisted"
        ),
        pytest.param(group(copy("a", *ADMITTED, job=JOB), **ON_A, listed=None), Act.NOTHING, None, id="config deleted"),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB, is_connected=False, lost_for=60), **ON_A),
            Act.WAIT, 840.0, id="lost for a minute",
        ),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB, is_connected=False, lost_for=900), **ON_A),
            Act.RETRY, "Admitting remote lost", id="lost for too long",
        ),
        pytest.param(group(state="Ready"), Act.RETRY, "no admitting cluster is recorded", id="ready, and nowhere"),
        pytest.param(group(copy("a", *ADMITTED, job=JOB), **LEAVING), Act.COPY_STATUS, "a", id="evicted: still runs"),
        pytest.param(
            group(copy("a", "Evicted=Deactivated", job={**STOPPED, "status": {}}), **LEAVING),
            Act.COPY_STATUS, "a", id="evicted: it has stopped",
        ),
        pytest.param(group(**LEAVING), Act.LAST_STATUS, None, id="evicted: nobody has it, which is its last status"),
        pytest.param(
            group(copy("a", has=False, job=JOB, is_connected=False, lost_for=1), **LEAVING),
            Act.WAIT, 899.0, id="evicted: a lost worker may have it",
        ),
        pytest.param(
            group(copy("a", has=False, job=JOB, is_connected=False, lost_for=900), **LEAVING),
            Act.LAST_STATUS, None, id="evicted: the worker was given up",
        ),
        pytest.param(group(**STOPPED_BEFORE), Act.LAST_STATUS, None, id="evicted, without quota: nobody has it"),
        pytest.param(
            group(copy("a", job=JOB), **STOPPED_BEFORE), Act.NOTHING, None, id="evicted, without quota: its copy goes"
        ),
        pytest.param(group(local=(), job=STOPPED), Act.NOTHING, None, id="never admitted: its status is its own"),
        pytest.param(
            group(copy("a", has=False, is_connected=False, is_known=False), is_older=True, **NOMINATED),
            Act.WAIT, 900.0, id="after a restart, a nominated cluster that was not seen yet may have it",
        ),
        pytest.param(
            group(copy("a", has=False, is_connected=False, is_known=False), is_older=True, listed=("b",), **NOMINATED),
            Act.WAIT, 900.0, id="even if it is not listed any more",
        ),
        pytest.param(
            group(copy("a", has=False, is_connected=False, is_known=False), **NOMINATED),
            Act.NOMINATE, ("b",), id="a cluster that was never seen cannot have a younger Workload",
        ),
        pytest.param(group(**SLICE_FOR_A), Act.NOTHING, None, id="a slice goes where the one before it is: none else"),
        pytest.param(
            group(copy("b", *ADMITTED, job=JOB), **SLICE_FOR_A), Act.NOTHING, None, id="a slice: admitted elsewhere"
        ),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB), **SLICE_FOR_A), Act.RECORD, "a", id="a slice: it has the job"
        ),
        pytest.param(group(local=(), **SECOND), Act.NOTHING, None, id="a slice that waits for quota"),
        pytest.param(
            group(copy("a", *ADMITTED, is_same=False, is_larger=True, job=JOB), annotations=ELASTIC, **ON_A),
            Act.NOTHING, None, id="an elastic job that shrinks",
        ),
        pytest.param(
            group(copy("a", "Finished=OutOfSync", job=JOB), annotations=ELASTIC, **ON_A), Act.FINISH, "a",
            id="out of sync: an elastic job gets another slice",
        ),
    ],
)  # fmt: skip
def test_on_the_hub(case, act, about):
    step = decide(case, nominates=True)

    assert step.act is act, step
    if act is Act.RETRY:
        assert about in step.message
    elif act is Act.WAIT:
        assert step.seconds == about
    elif about is not None:
        assert about in (step.cluster, step.clusters)


LATER = START + timedelta(seconds=5)
UNSEEN = RemoteCopy("a", is_connected=False, is_known=False, lost_for=9)


@pytest.mark.parametrize(
    ("case", "on_a", "on_b"),
    [
        pytest.param(group(), "nothing", "nothing", id="not nominated"),
        pytest.param(group(**NOMINATED), "the Workload", "the Workload", id="nominated"),
        pytest.param(group(nominatedClusterNames=["b"]), "nothing", "the Workload", id="only one is nominated"),
        pytest.param(group(**NOMINATED, listed=("b",)), None, "the Workload", id="nominated and unlisted"),
        pytest.param(group(**NOMINATED, others=("Pending",)), "whatever there is", "whatever there is", id="held up"),
        pytest.param(
            group(copy("a", *ADMITTED, at=LATER), copy("b", *ADMITTED), **NOMINATED),
            "nothing", "the Workload and the job", id="the first that admitted wins",
        ),
        pytest.param(
            group(copy("a", *ADMITTED, at=LATER, job=JOB), copy("b", *ADMITTED), **NOMINATED),
            "the Workload and the job", "nothing", id="who has the job wins",
        ),
        pytest.param(
            group(copy("a", *ADMITTED), copy("b", job=JOB), **NOMINATED),
            "the Workload", "nothing", id="a job of an earlier life goes before there is a winner",
        ),
        pytest.param(
            group(copy("a", *ADMITTED), copy("b", is_sending=True, is_connected=False, lost_for=9), **NOMINATED),
            "the Workload", "nothing", id="a job that may be on a lost worker is waited for",
        ),
        pytest.param(
            group(copy("a", *ADMITTED), copy("b", job=JOB, is_connected=False, lost_for=901), **NOMINATED),
            "the Workload and the job", "nothing", id="but not for ever",
        ),
        pytest.param(group(copy("a", is_same=False), **NOMINATED), "nothing", "the Workload", id="out of date"),
        pytest.param(group(copy("a", *ADMITTED), **ON_A), "the Workload and the job", "nothing", id="placed"),
        pytest.param(
            group(copy("a", *ADMITTED), copy("b", job=JOB), **ON_A), "whatever there is", "nothing", id="two jobs"
        ),
        pytest.param(
            group(copy("a", *ADMITTED, job=JOB), copy("b"), **LEAVING), "the Workload, evicted", "nothing", id="evicted"
        ),
        pytest.param(
            group(copy("a", "Evicted", job=JOB), **LEAVING), "whatever there is", "nothing", id="evicted there, too"
        ),
        pytest.param(group(copy("a", job=JOB), local=()), "nothing", "nothing", id="no quota"),
        pytest.param(
            group(copy("a", job=JOB), state="Retry", clusterName="a"), "whatever there is", "nothing", id="retry"
        ),
        pytest.param(
            group(UNSEEN, copy("b", *ADMITTED, job=JOB), **ON_A, listed=("a",)),
            "whatever there is", "whatever there is", id="may be the job of a cluster that was not seen yet",
        ),
        pytest.param(
            group(UNSEEN, copy("b", *ADMITTED, job=JOB), nominatedClusterNames=["a"], is_older=True),
            "the Workload", "whatever there is", id="the same before it was recorded",
        ),
        pytest.param(
            group(UNSEEN, copy("b", *ADMITTED, job=JOB), **NOMINATED, is_older=True),
            "the Workload", "whatever there is", id="the same where both are nominated",
        ),
        pytest.param(
            group(UNSEEN._replace(lost_for=901), copy("b", *ADMITTED, job=JOB), **ON_A),
            "whatever there is", "nothing", id="but not for ever",
        ),
        pytest.param(
            group(UNSEEN, copy("b", *ADMITTED, job=JOB), nominatedClusterNames=["c"]),
            "nothing", "nothing", id="nor of one that it was not sent to",
        ),
        pytest.param(
            group(UNSEEN, copy("b", *ADMITTED, job=JOB), clusterName="a", local=()),
            "nothing", "nothing", id="nor where nobody may have it",
        ),
        pytest.param(
            group(**SLICE_FOR_A), "the Workload", "nothing", id="a slice is offered only where the one before it is"
        ),
        pytest.param(
            group(copy("a", *ADMITTED), **SLICE_FOR_A), "the Workload and the job", "nothing", id="a slice gets the job"
        ),
        pytest.param(
            group(copy("a", job=JOB), local=(), **SECOND), "whatever there is", "whatever there is",
            id="a slice that waits for quota",
        ),
        pytest.param(
            group(copy("a", job=JOB), local=(*ADMITTED, "Finished=WorkloadSliceReplaced"), annotations=ELASTIC),
            "whatever there is", "whatever there is", id="a slice whose place was taken: the job is another's",
        ),
        pytest.param(
            group(copy("a", job=JOB), local=(*ADMITTED, "Finished=Succeeded"), **SECOND), "nothing", "nothing",
            id="a slice whose job has ended",
        ),
    ],
)  # fmt: skip
def test_on_the_workers(case, on_a, on_b):
    found = {name: what.value for name, what in wanted_on_each(case).items()}

    assert (found.get("a"), found.get("b")) == (on_a, on_b)


def test_only_the_winner_ever_gets_the_job():
    case = group(copy("a", *ADMITTED), copy("b", *ADMITTED), **NOMINATED)

    given = [name for name, what in wanted_on_each(case).items() if what is Wanted.JOB]

    assert given == [winner(case).cluster]
