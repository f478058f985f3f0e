"""When a Workload stands for its job."""

import pytest

from fleetqueue.embedded.kueue.jobs.job_workloads import are_same, is_equivalent
from fleetqueue.embedded.kueue.jobs.pod_set_info import of_admission
from tests.unit.embedded.kueue.job_objects import template

from .objects import JOBS, flavor, job, workload


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
