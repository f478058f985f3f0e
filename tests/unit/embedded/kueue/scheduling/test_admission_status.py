"""The status that admission writes: nothing that was there is lost, and nothing is written twice."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.kueue.scheduling.admission_status import evicted, pending, preempted, reserved
from fleetqueue.rules.workload_admission import applied

from .objects import NOON, condition

LATER = NOON + timedelta(minutes=1)


def raw(*conditions, **status):
    metadata = {"name": "w", "namespace": "team", "uid": "u", "generation": 3, "labels": {"a": "b"}}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": [*conditions], **status}}


def told(status):
    return {each["type"]: f"{each['status']} {each['reason']}: {each['message']}" for each in status["conditions"]}


def test_quota_is_given_and_what_was_before_is_over():
    before = raw(condition("Evicted", "True", "Preempted", "gone"), condition("Requeued", "True"))

    status = reserved(before, {"clusterQueue": "q"}, is_admitted=True, now=LATER)

    assert told(status) == {
        "Evicted": "False QuotaReserved: Previously: gone",
        "Requeued": "True R: m",
        "QuotaReserved": "True QuotaReserved: Quota reserved in ClusterQueue q",
        "Admitted": "True Admitted: The workload is admitted",
    }


def test_with_a_check_quota_is_given_and_no_more():
    status = reserved(raw(), {"clusterQueue": "q"}, is_admitted=False, now=LATER)

    assert list(told(status)) == ["QuotaReserved"]


def test_a_patch_holds_all_that_admission_owns_and_nothing_else():
    before = raw(condition("Custom", "True"), condition("Requeued", "True"), reclaimablePods=[{"name": "main"}])
    before["status"] |= {"admissionChecks": [{"name": "c"}], "requeueState": {"count": 1}, "resourceRequests": [{}]}

    manifest = applied(before, reserved(before, {"clusterQueue": "q"}, is_admitted=False, now=LATER))

    assert manifest["metadata"] == {"name": "w", "namespace": "team", "uid": "u"}
    assert sorted(manifest["status"]) == ["admission", "admissionChecks", "conditions", "requeueState"]
    assert [each["type"] for each in manifest["status"]["conditions"]] == ["QuotaReserved", "Requeued"]


def test_why_somebody_waits_is_said_once():
    requests = [{"name": "main", "resources": {"cpu": "1"}}]
    first = pending(raw(), "no room", requests, NOON)

    again = pending(raw(**first), "no room", requests, LATER)
    changed = pending(raw(**first), "still no room", requests, LATER)

    assert first["conditions"] == [
        {
            "type": "QuotaReserved",
            "status": "False",
            "reason": "Pending",
            "message": "no room",
            "lastTransitionTime": "2026-01-01T12:00:00Z",
            "observedGeneration": 3,
        }
    ]
    assert again is None
    assert changed["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


def test_somebody_without_requests_says_it_once_too():
    first = pending(raw(), "no room", [], NOON)
    del first["resourceRequests"]  # an empty list does not come back from the server

    assert pending(raw(**first), "no room", [], LATER) is None


def test_a_message_is_cut():
    status = pending(raw(), "x" * 40_000, [], NOON)

    assert len(status["conditions"][0]["message"]) == 32 * 1024
    assert status["conditions"][0]["message"].endswith(" ...")


def test_a_victim_is_evicted_and_knows_for_whom():
    status = preempted(raw(clusterName="c1", nominatedClusterNames=["c1"]), "InClusterQueue", "for you", NOON)

    assert told(status) == {"Evicted": "True Preempted: for you", "Preempted": "True InClusterQueue: for you"}
    assert "clusterName" not in status
    assert "nominatedClusterNames" not in status
    assert status["schedulingStats"] == {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]}


def test_evictions_are_counted_by_reason_and_cause():
    status = evicted(raw(), "Deactivated", "m", NOON, cause="AdmissionCheck")
    status = evicted(raw(**status), "Deactivated", "m", NOON, cause="AdmissionCheck")
    status = evicted(raw(**status), "Preempted", "m", NOON)

    assert told(status)["Evicted"] == "True Preempted: m"
    assert [
        (each["reason"], each["underlyingCause"], each["count"]) for each in status["schedulingStats"]["evictions"]
    ] == [
        ("Deactivated", "AdmissionCheck", 2),
        ("Preempted", "", 1),
    ]


@pytest.mark.parametrize(
    ("check", "after"),
    [
        pytest.param(
            {"state": "Pending", "message": "m"}, {"state": "Pending", "message": "m"}, id="nothing was decided"
        ),
        pytest.param(
            {"state": "Ready", "podSetUpdates": [{}]},
            {"state": "Pending", "message": "Reset to Pending after eviction. Previously: Ready"},
            id="what was ready is asked again",
        ),
        pytest.param(
            {"state": "Retry", "retryCount": 1, "requeueAfterSeconds": 5},
            {
                "state": "Pending",
                "message": "Reset to Pending after eviction. Previously: Retry",
                "retryCount": 2,
                "requeueAfterSeconds": 5,
            },
            id="a retry is counted",
        ),
    ],
)
def test_checks_start_anew(check, after):
    status = evicted(raw(admissionChecks=[{"name": "c", **check}]), "Preempted", "m", NOON)

    (found,) = status["admissionChecks"]
    found.pop("lastTransitionTime", None)
    assert found == {"name": "c", **after}


def test_what_is_cached_is_not_changed():
    before = raw(preemptionGates=[{"name": "g", "position": "Open"}])

    status = evicted(before, "Preempted", "m", NOON)

    assert status["preemptionGates"][0]["position"] == "Closed"
    assert before["status"]["preemptionGates"][0]["position"] == "Open"
