"""What is decided about jobs without asking anybody: pod sets, starting, stopping, equivalence."""

import pytest

from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration, ended_indexes
from fleetqueue.embedded.kueue.jobs.job_fields import TooDeep, managed_ancestor
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority, are_same, is_equivalent, workload_of
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, of_admission, of_pod_sets

from .job_objects import job_manifest, template

JOBS = BatchJobIntegration()
FLAVOR = {"spec": {"nodeLabels": {"zone": "a"}, "tolerations": [{"key": "t", "operator": "Exists"}]}}


def job(**said):
    made = job_manifest(**said)
    made["metadata"]["uid"] = "uid-of-j"
    return made


def workload(raw, *, admitted=False, count=None, checks=()):
    made = workload_of(JOBS, raw, Priority(0, None))
    if admitted:
        size = made["spec"]["podSets"][0]["count"] if count is None else count
        part = {"name": "main", "flavors": {"cpu": "f"}, "count": size}
        told = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
        admission = {"clusterQueue": "q", "podSetAssignments": [part]}
        made["status"] = {"admission": admission, "conditions": told, "admissionChecks": [*checks]}
    return made


def flavor(name):
    return FLAVOR


@pytest.mark.parametrize(
    ("spec", "status", "count"),
    [
        pytest.param({"parallelism": 3}, {"succeeded": 1}, 1, id="one of three"),
        pytest.param({"parallelism": 3, "completions": 9}, {"succeeded": 1}, 0, id="work enough for all"),
        pytest.param({"parallelism": 3, "completions": 9}, {"succeeded": 7}, 1, id="two are left"),
        pytest.param({"parallelism": 1}, {"succeeded": 1}, 0, id="only one pod"),
        pytest.param(
            {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
            {"completedIndexes": "0", "failedIndexes": "0,2"},
            2,
            id="indexes that ended",
        ),
    ],
)
def test_pods_that_will_not_come_again(spec, status, count):
    found = JOBS.reclaimable({**job(**spec), "status": status})

    assert found == ([{"name": "main", "count": count}] if count else [])


@pytest.mark.parametrize(
    ("listed", "count"), [(["0,3-5"], 4), (["0-9"], 6), (["", "2"], 1), (["x", "5-3"], 0), (["0-2", "1-3"], 4)]
)
def test_ended_indexes(listed, count):
    assert ended_indexes(listed, 6) == count


def test_the_pod_set_of_a_job_has_no_label_of_its_controller():
    raw = job(pods=template(labels={"team": "a", "controller-uid": "x", "batch.kubernetes.io/job-name": "j"}))

    made = JOBS.pod_sets(raw)[0]

    assert made["template"]["metadata"]["labels"] == {"team": "a", "batch.kubernetes.io/job-name": "j"}
    assert made["topologyRequest"] == {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}


def test_of_twin_variables_the_last_one_counts():
    pods = template()
    pods["spec"]["containers"][0]["env"] = [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "a", "value": "2"}]

    made = JOBS.pod_sets(job(pods=pods))[0]

    assert made["template"]["spec"]["containers"][0]["env"] == [{"name": "a", "value": "2"}, {"name": "b"}]


def test_a_started_job_gets_what_its_flavor_and_its_checks_give():
    update = {"name": "main", "labels": {"l": "v"}, "nodeSelector": {"s": "v"}}
    raw = job()

    started = JOBS.started(raw, of_admission(workload(raw, admitted=True, checks=[_check(update)]), flavor))

    pods = started["spec"]["template"]
    assert started["spec"]["suspend"] is False
    assert pods["spec"]["nodeSelector"] == {"zone": "a", "s": "v"}
    assert pods["spec"]["tolerations"] == FLAVOR["spec"]["tolerations"]
    assert pods["metadata"]["labels"]["l"] == "v"


def test_a_check_that_contradicts_the_flavor_is_told():
    update = {"name": "main", "nodeSelector": {"zone": "b"}}

    with pytest.raises(CannotStart) as refused:
        of_admission(workload(job(), admitted=True, checks=[_check(update)]), flavor)

    assert str(refused.value) == (
        'in admission check "ac": invalid admission check PodSetUpdate: conflict for nodeSelector: '
        "conflict for key=zone, value1=a, value2=b"
    )


def test_a_template_is_not_given_a_toleration_twice():
    pods = template(tolerations=[{"key": "t", "operator": "Exists"}])

    made = merged(pods, PodSetInfo("main", 1, tolerations=[{"key": "t", "operator": "Exists"}]))

    assert made["spec"]["tolerations"] == [{"key": "t", "operator": "Exists"}]


def test_stopping_is_suspend_then_forget_the_start_then_restore():
    raw = job()
    made = workload(raw, admitted=True)
    running = {**JOBS.started(raw, of_admission(made, flavor)), "status": {"startTime": "T", "active": 1}}
    steps = []

    while (step := JOBS.next_stop(running, of_pod_sets(made))) is not None:
        steps.append((step.subresource, JOBS.is_suspended(step.wanted)))
        running = step.wanted

    assert steps == [("", False), ("status", False), ("", True)]
    assert running["spec"] == {**raw["spec"], "suspend": True}
    assert running["metadata"] == raw["metadata"]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"parallelism": 2}, False, id="another size"),
        pytest.param({"pods": template("2")}, False, id="other requests"),
        pytest.param({"pods": template(tolerations=[{"key": "x"}])}, False, id="another toleration"),
        pytest.param({"pods": template(nodeSelector={"a": "b"})}, True, id="another selector"),
        pytest.param({"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "5"}}, False, id="another time"),
    ],
)
def test_a_workload_stands_for_its_job_or_not(change, is_same):
    assert is_equivalent(JOBS, job(**change), workload(job()), flavor) == is_same


def test_a_job_that_runs_with_fewer_pods_is_still_the_same():
    said = {"annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}, "parallelism": 4}
    made = workload(job(**said), admitted=True, count=2)
    running = JOBS.started(job(**said), of_admission(made, flavor))

    assert running["spec"]["parallelism"] == 2
    assert is_equivalent(JOBS, running, made, flavor)


def test_what_is_empty_is_as_what_is_not_there():
    some = {"name": "main", "template": {"spec": {"containers": [{"name": "c", "resources": {}}]}}}
    other = {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}

    assert are_same([some], [other])


def test_the_uppermost_managed_job_counts_and_too_many_are_too_many():
    def owned(name, by, queue=""):
        made = job(queue=queue)
        reference = {"kind": "Job", "apiVersion": "batch/v1", "name": by, "uid": f"uid-{by}", "controller": True}
        made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        made["metadata"]["ownerReferences"] = [reference] if by else []
        return made

    family = {name: owned(name, by, queue) for name, by, queue in (("a", "b", ""), ("b", "c", "q"), ("c", "", "q"))}
    endless = owned("x", "x")

    assert managed_ancestor(family["a"], lambda o, _: family.get(o["name"]), without_queue=False) is family["c"]
    assert managed_ancestor(family["c"], lambda o, _: None, without_queue=True) is None
    with pytest.raises(TooDeep):
        managed_ancestor(endless, lambda o, _: endless, without_queue=True)


def _check(update):
    return {"name": "ac", "state": "Ready", "podSetUpdates": [update]}
