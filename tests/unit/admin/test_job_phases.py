"""The phases of a submitted job, each as one line."""

import pytest

from fleetqueue.admin.job_phases import passed_phase, phase_of, pods
from fleetqueue.admin.submitting import Submission
from fleetqueue.api.batch_v1 import Job

SUBMISSION = Submission(Job.resource, Job.manifest("train", "team-a"))
ROW = {
    "queue": "queue",
    "state": "Pending",
    "clusters": [],
    "position": None,
    "ran_seconds": None,
    "result": "",
    "why": "it waits",
}
LIVE = {"spec": {"parallelism": 2}, "status": {}}
RUNNING = {"spec": {"parallelism": 2}, "status": {"active": 2, "ready": 1}}


@pytest.mark.parametrize(
    ("row", "live", "phase", "text"),
    [
        pytest.param({"position": 3}, LIVE, "queued", "queued in queue, position 3: it waits", id="queued"),
        pytest.param({}, LIVE, "queued", "queued in queue: it waits", id="queued, nobody knows where"),
        pytest.param({"state": "QuotaReserved"}, LIVE, "reserved", "quota reserved: it waits", id="reserved"),
        pytest.param(
            {"state": "QuotaReserved", "clusters": ["c1", "c2"]},
            LIVE,
            "nominated",
            "nominated for c1, c2: it waits",
            id="nominated",
        ),
        pytest.param({"state": "Admitted", "clusters": ["c1"]}, LIVE, "admitted", "admitted on c1", id="admitted"),
        pytest.param({"state": "Admitted"}, LIVE, "admitted", "admitted on the hub", id="on the hub itself"),
        pytest.param(
            {"state": "Admitted", "clusters": ["c1"], "why": "admitted; c1 may be lost: gone"},
            RUNNING,
            "running",
            "running on c1, 1 of 2 pods ready: c1 may be lost: gone",
            id="running, with a trouble",
        ),
        pytest.param(
            {"state": "Finished", "result": "Succeeded", "clusters": ["c1"], "ran_seconds": 5, "why": "done"},
            LIVE,
            "succeeded",
            "succeeded on c1 after 5s: done",
            id="succeeded",
        ),
        pytest.param(
            {"state": "Finished", "result": "Failed", "why": "it has failed: no"},
            LIVE,
            "failed",
            "failed: no",
            id="failed",
        ),
    ],
)
def test_a_phase_is_one_line(row, live, phase, text):
    found = phase_of(SUBMISSION, {**ROW, **row}, live)

    assert (found.phase, found.text) == (phase, text)


def test_a_job_that_kueue_has_not_seen_yet_is_not_worth_a_line():
    assert phase_of(SUBMISSION, None, LIVE) is None
    assert phase_of(SUBMISSION, {**ROW, "state": "NotQueued"}, LIVE) is None


def test_a_job_that_is_gone_was_deleted():
    assert phase_of(SUBMISSION, None, None).phase == "deleted"
    assert phase_of(SUBMISSION, ROW, None) is None  # its Workload goes next


def test_a_phase_that_is_over_says_no_more_why():
    assert passed_phase(SUBMISSION, {**ROW, "state": "QuotaReserved"}).text == "quota reserved"


@pytest.mark.parametrize(
    ("job", "count"),
    [
        pytest.param({"spec": {"parallelism": 3}, "status": {"active": 3, "ready": 2}}, (2, 3), id="Job"),
        pytest.param({"spec": {"parallelism": 3}, "status": {"active": 1}}, (1, 3), id="Job that does not say ready"),
        pytest.param({"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}, (1, 2), id="StatefulSet"),
        pytest.param(
            {"spec": {"replicatedJobs": [{"replicas": 2}, {}]}, "status": {"replicatedJobsStatus": [{"ready": 1}]}},
            (1, 3),
            id="JobSet",
        ),
        pytest.param(
            {
                "spec": {"pytorchReplicaSpecs": {"Master": {}, "Worker": {"replicas": 2}}},
                "status": {"replicaStatuses": {"Master": {"active": 1}, "Worker": {"active": 1}}},
            },
            (2, 3),
            id="PyTorchJob",
        ),
        pytest.param({"spec": {"containers": []}, "status": {"phase": "Running"}}, (1, 1), id="Pod"),
        pytest.param({"spec": {}}, (0, 0), id="a kind that does not say it"),
    ],
)
def test_pods_that_are_ready_are_counted(job, count):
    assert pods(job) == count
