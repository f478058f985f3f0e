"""What a JobSet needs next, and what it says of itself."""

from datetime import UTC, datetime

import pytest

from fleetqueue.embedded.jobset.plan import plan

from .objects import child, job_set, part

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def names(jobs):
    return [job["metadata"]["name"] for job in jobs]


def told(result):
    return {each["type"]: f"{each['status']} {each['reason']}" for each in result.status.get("conditions", ())}


def test_a_new_jobset_makes_all_jobs_of_all_parts():
    result = plan(job_set(part("a"), part("b", replicas=1)), [], NOON)

    assert names(result.create) == ["s-a-0", "s-a-1", "s-b-0"]
    assert result.needs_service
    assert told(result) == {}


def test_jobs_are_labelled_as_jobset_labels_them():
    made = plan(job_set(part("a"), part("b")), [], NOON).create[3]

    said = {key.removeprefix("jobset.sigs.k8s.io/"): value for key, value in made["metadata"]["labels"].items()}
    assert said == {
        "jobset-name": "s",
        "jobset-uid": "uid-of-s",
        "replicatedjob-name": "b",
        "restart-attempt": "0",
        "replicatedjob-replicas": "2",
        "global-replicas": "4",
        "job-index": "1",
        "job-key": said["job-key"],
        "job-global-index": "3",
        "group-name": "default",
        "group-replicas": "4",
        "job-group-index": "3",
    }
    assert made["spec"]["template"]["metadata"]["labels"] == made["metadata"]["labels"]
    assert made["spec"]["template"]["spec"]["subdomain"] == "s"


def test_a_suspended_jobset_makes_suspended_jobs_and_suspends_those_that_run():
    raw = job_set(suspend=True)

    result = plan(raw, [child(raw, index=0, ready=1)], NOON)

    assert [job["spec"]["suspend"] for job in result.create] == [True]
    assert names(result.suspend) == ["s-workers-0"]
    assert told(result) == {"Suspended": "True SuspendedJobs"}


def test_a_resumed_jobset_resumes_its_jobs_and_says_so():
    raw = job_set(status={"conditions": plan(job_set(suspend=True), [], NOON).status["conditions"]})

    result = plan(raw, [child(raw, index=index, suspended=True) for index in (0, 1)], NOON)

    assert names(result.resume) == ["s-workers-0", "s-workers-1"]
    assert told(result) == {"Suspended": "False ResumeJobs"}


def test_it_counts_the_jobs_of_each_part():
    raw = job_set(part("a"), part("b"))
    jobs = [child(raw, "a", 0, ready=1), child(raw, "a", 1, ended="Complete"), child(raw, "b", 0, suspended=True)]

    counted = plan(raw, jobs, NOON).status["replicatedJobsStatus"]

    assert counted == [
        {"name": "b", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 1},
        {"name": "a", "ready": 1, "succeeded": 1, "failed": 0, "active": 1, "suspended": 0},
    ]


@pytest.mark.parametrize(
    ("policy", "ended", "is_over"),
    [
        pytest.param({"operator": "All"}, ["workers"], False, id="one of two"),
        pytest.param({"operator": "All"}, ["workers", "workers"], True, id="all"),
        pytest.param({"operator": "Any"}, ["workers"], True, id="any"),
        pytest.param({"operator": "Any", "targetReplicatedJobs": ["driver"]}, ["workers"], False, id="another part"),
    ],
)
def test_success_is_what_its_policy_says(policy, ended, is_over):
    raw = job_set(part(), part("driver", replicas=1), successPolicy={"targetReplicatedJobs": ["workers"], **policy})
    jobs = [child(raw, name, index, ended="Complete") for index, name in enumerate(ended)]

    result = plan(raw, jobs, NOON)

    assert ("Completed" in told(result)) == is_over
    assert result.status.get("terminalState") == ("Completed" if is_over else None)


def test_without_a_policy_a_failed_job_fails_all():
    raw = job_set()
    late, early = "2026-01-01T00:00:09Z", "2026-01-01T00:00:01Z"

    result = plan(
        raw, [child(raw, index=0, ended="Failed", at=late), child(raw, index=1, ended="Failed", at=early)], NOON
    )

    failed = next(each for each in result.status["conditions"] if each["type"] == "Failed")
    assert (failed["reason"], failed["message"]) == (
        "FailedJobs",
        "jobset failed due to one or more job failures (first failed job: s-workers-1)",
    )
    assert result.create == []


def test_a_restart_makes_all_jobs_anew():
    raw = job_set(failurePolicy={"maxRestarts": 1})
    jobs = [child(raw, index=0, ended="Failed"), child(raw, index=1, ready=1)]

    first = plan(raw, jobs, NOON)
    again = plan({**raw, "status": first.status}, jobs, NOON)
    last = plan({**raw, "status": {**first.status, "restarts": 0}}, jobs, NOON)

    assert (first.status["restarts"], first.status["restartsCountTowardsMax"]) == (1, 1)
    assert told(first) == {"Restarting": "True DefaultFailurePolicy"}
    assert names(again.delete) == ["s-workers-0", "s-workers-1"]
    assert told(last)["Failed"] == "True ReachedMaxRestarts"


def test_a_rule_can_fail_a_jobset_at_once():
    rules = [{"action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}]
    raw = job_set(failurePolicy={"maxRestarts": 9, "rules": rules})

    result = plan(raw, [child(raw, ended="Failed")], NOON)

    assert told(result)["Failed"] == "True FailJobSetFailurePolicyAction"


def test_parts_start_in_order_where_that_is_asked_for():
    raw = job_set(part("a"), part("b"), startupPolicy={"startupPolicyOrder": "InOrder"})
    ready = [child(raw, "a", index, ready=1) for index in (0, 1)]

    first, second = plan(raw, [], NOON), plan(raw, ready, NOON)
    third = plan(raw, [*ready, *(child(raw, "b", index, ready=1) for index in (0, 1))], NOON)

    assert names(first.create) == ["s-a-0", "s-a-1"]
    assert names(second.create) == ["s-b-0", "s-b-1"]
    assert told(second)["StartupPolicyInProgress"] == "True InOrderStartupPolicyInProgress"
    assert told(third) == {"StartupPolicyCompleted": "True InOrderStartupPolicyCompleted"}


def test_a_part_waits_for_those_that_it_depends_on():
    raw = job_set(part("a"), part("b", dependsOn=[{"name": "a", "status": "Complete"}]))

    assert names(plan(raw, [], NOON).create) == ["s-a-0", "s-a-1"]
    done = [child(raw, "a", index, ended="Complete") for index in (0, 1)]
    assert names(plan(raw, done, NOON).create) == ["s-b-0", "s-b-1"]


def test_what_has_ended_lets_its_jobs_go_and_goes_after_its_time():
    ended = {"type": "Completed", "status": "True", "reason": "r", "message": "m"}
    status = {"conditions": [{**ended, "lastTransitionTime": "2026-01-01T11:59:30Z"}]}
    raw = job_set(ttlSecondsAfterFinished=60, status=status)

    soon = plan(raw, [child(raw)], NOON)
    late = plan({**raw, "spec": {**raw["spec"], "ttlSecondsAfterFinished": 10}}, [], NOON)

    assert names(soon.delete) == ["s-workers-0"]
    assert (soon.again_in, soon.deletes_itself) == (30, False)
    assert late.deletes_itself
