"""What the rules of a Job say of its pods: one row for every sort of rule."""

import pytest

from fleetqueue.embedded.kubernetes import job_policies

from .job_objects import a_job, a_pod

INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}


@pytest.mark.parametrize(
    ("rule", "counts", "message"),
    [
        pytest.param({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}, False, None, id="ignored"),
        pytest.param({"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}, True, None, id="counted"),
        pytest.param(
            {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [3]}}, True, None, id="no match"
        ),
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [4], "containerName": "main"}},
            True,
            "Container main for pod default/a failed with exit code 3 matching FailJob rule at index 0",
            id="fails by exit code",
        ),
        pytest.param(
            {"action": "FailJob", "onPodConditions": [{"type": "Ready", "status": "False"}]},
            True,
            "Pod default/a has condition Ready matching FailJob rule at index 0",
            id="fails by condition",
        ),
    ],
)
def test_failure_rules(rule, counts, message):
    job, pod = a_job(podFailurePolicy={"rules": [rule]}), a_pod("a", "Failed", ended=1, code=3)

    assert job_policies.counts(job, pod) is counts
    assert job_policies.failure_message(job, [pod]) == message


@pytest.mark.parametrize(
    ("rule", "is_met"),
    [
        ({"succeededIndexes": "0-1"}, True),
        ({"succeededIndexes": "0-2"}, False),
        ({"succeededIndexes": "0-2", "succeededCount": 2}, True),
        ({"succeededCount": 3}, False),
        ({"succeededCount": 2}, True),
    ],
)
def test_success_rules(rule, is_met):
    message = job_policies.success_message(a_job(**INDEXED, successPolicy={"rules": [rule]}), {0, 1})

    assert message == ("Matched rules at index 0" if is_met else None)
