"""What happens to a Workload beside its scheduling, rule by rule."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kueue.settings import KueueSettings, PodsReadySettings
from fleetqueue.embedded.kueue.workload_lifecycle import decide, required_check_names, synced_checks
from fleetqueue.embedded.kueue.workload_state import Queues, WorkloadState, WorkloadStep, admitted_or_not
from fleetqueue.embedded.kueue.workload_timeouts import deadlines

from .scheduling.objects import NOON, condition, group, local_queue, queue, quota, workload_manifest

RESERVED = condition("QuotaReserved", "True", at=NOON)
ADMITTED = condition("Admitted", "True", at=NOON)
ADMISSION = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "default"}, "count": 1}]}
FAST = KueueSettings(pods_ready=PodsReadySettings(timeout=60, recovery_timeout=30, first_back_off=10, last_back_off=25))


def after(seconds):
    return timestamp(NOON + timedelta(seconds=seconds))


def case(*conditions, at=0, settings=None, queues=None, checks=(), status=None, **spec):
    raw = workload_manifest("w", **spec)
    raw["metadata"] |= {"uid": "u", "resourceVersion": "1", "generation": 1, "creationTimestamp": timestamp(NOON)}
    has_quota = any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions)
    raw["status"] = {
        "conditions": [*conditions],
        **({"admission": ADMISSION} if has_quota else {}),
        **({"admissionChecks": [*checks]} if checks else {}),
        **(status or {}),
    }
    listed = {"admissionChecksStrategy": {"admissionChecks": [{"name": each["name"]} for each in checks]}}
    known = queues or Queues(local_queue(), queue(**(listed if checks else {})))
    now = NOON + timedelta(seconds=at)
    return WorkloadState(raw, kueue.QueuedWorkload.view(raw), known, settings or KueueSettings(pods_ready=None), now)


def told(step, kind):
    return next(f"{c['status']} {c['reason']}" for c in step.status["conditions"] if c["type"] == kind)


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(case(), id="it waits"),
        pytest.param(case(RESERVED, ADMITTED), id="it runs"),
        pytest.param(case(condition("Finished", "True")), id="it has finished"),
        pytest.param(case(RESERVED, ADMITTED, condition("Evicted", "True", "Preempted")), id="its job stops it"),
    ],
)
def test_there_is_nothing_to_do_where_all_is_said(quiet):
    assert decide(quiet) == WorkloadStep()


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        pytest.param("Deactivated", "True Reactivated", id="activated again"),
        pytest.param("PodsReadyTimeout", "True BackoffFinished", id="pods were late"),
        pytest.param("AdmissionCheck", "True BackoffFinished", id="a check wanted another try"),
        pytest.param("LocalQueueStopped", "True LocalQueueRestarted", id="its LocalQueue runs again"),
        pytest.param("ClusterQueueStopped", "True ClusterQueueRestarted", id="its ClusterQueue runs again"),
    ],
)
def test_who_was_held_out_comes_back(reason, says):
    step = decide(case(condition("Requeued", "False", reason)))

    assert told(step, "Requeued") == says


def test_a_back_off_is_waited_for_and_then_forgotten():
    status = {"requeueState": {"count": 1, "requeueAt": after(60)}}

    waiting, over = decide(case(status=status, at=20)), decide(case(status=status, at=60))

    assert waiting == WorkloadStep(again_in=40)
    assert over.status["requeueState"] == {"count": 1}


def test_the_latest_time_that_a_check_asks_for_is_noted():
    retry = {"state": "Retry", "message": "", "lastTransitionTime": after(0)}
    checks = [{"name": "a", "requeueAfterSeconds": 60, **retry}, {"name": "b", "requeueAfterSeconds": 90, **retry}]

    step = decide(case(RESERVED, checks=checks))

    assert step.status["requeueState"] == {"requeueAt": after(90)}


@pytest.mark.parametrize(
    ("conditions", "at", "again_in"),
    [
        pytest.param([RESERVED, ADMITTED], 10, 50, id="not ready yet"),
        pytest.param([RESERVED, ADMITTED, condition("PodsReady", "True", "Started")], 99, None, id="ready"),
        pytest.param(
            [RESERVED, ADMITTED, condition("PodsReady", "False", "WaitForRecovery")], 10, 20, id="a pod has failed"
        ),
    ],
)
def test_pods_have_time_to_become_ready(conditions, at, again_in):
    assert decide(case(*conditions, at=at, settings=FAST)).again_in == again_in


@pytest.mark.parametrize(("count", "seconds"), [(0, 10), (1, 20), (2, 25), (9, 25)])
def test_each_back_off_is_twice_the_last_up_to_a_limit(count, seconds):
    status = {"requeueState": {"count": count}} if count else None

    step = decide(case(RESERVED, ADMITTED, at=60, settings=FAST, status=status))

    assert step.status["requeueState"] == {"count": count + 1, "requeueAt": after(60 + seconds)}
    assert told(step, "Evicted") == "True PodsReadyTimeout"
    assert step.eviction.cause == "WaitForStart"


@pytest.mark.parametrize(
    ("first", "last", "count", "seconds"),
    [
        pytest.param(60, 10, 0, 60, id="the first may be longer than the limit"),
        pytest.param(60, 10, 1, 10, id="the second may not"),
        pytest.param(60, 0, 6, 3840, id="without a limit"),
        pytest.param(0, 10, 3, 0, id="none at all"),
    ],
)
def test_odd_back_offs(first, last, count, seconds):
    settings = KueueSettings(pods_ready=PodsReadySettings(timeout=60, first_back_off=first, last_back_off=last))
    status = {"requeueState": {"count": count}}

    step = decide(case(RESERVED, ADMITTED, at=60, settings=settings, status=status))

    assert step.status["requeueState"]["requeueAt"] == after(60 + seconds)


def test_a_back_off_without_end_can_still_be_written():
    settings = KueueSettings(pods_ready=PodsReadySettings(timeout=60, last_back_off=0))

    step = decide(case(RESERVED, ADMITTED, at=60, settings=settings, status={"requeueState": {"count": 5000}}))

    assert step.status["requeueState"]["requeueAt"].startswith("2172-")


def test_a_back_off_is_a_little_longer_by_chance():
    settings = KueueSettings(pods_ready=PodsReadySettings(timeout=60, first_back_off=20000))
    state = replace(case(RESERVED, ADMITTED, at=60, settings=settings), draw=lambda: 0.5)

    assert decide(state).status["requeueState"]["requeueAt"] == after(20061)


def test_a_later_time_that_a_check_asked_for_stays():
    status = {"requeueState": {"count": 1, "requeueAt": after(600)}}
    retried = {"name": "a", "state": "Ready", "message": "", "lastTransitionTime": after(0)}

    step = deadlines(case(RESERVED, ADMITTED, at=60, settings=FAST, status=status, checks=[retried]))

    assert step.status["requeueState"] == {"count": 2, "requeueAt": after(600)}


@pytest.mark.parametrize(
    ("count", "kind", "says"),
    [(1, "Evicted", "True PodsReadyTimeout"), (2, "DeactivationTarget", "True RequeuingLimitExceeded")],
)
def test_who_was_queued_again_too_often_is_deactivated(count, kind, says):
    settings = KueueSettings(pods_ready=PodsReadySettings(timeout=60, limit=2))

    step = decide(case(RESERVED, ADMITTED, at=60, settings=settings, status={"requeueState": {"count": count}}))

    assert told(step, kind) == says
    assert (step.eviction is None) is (kind == "DeactivationTarget")


def test_time_that_it_ran_before_counts():
    status = {"accumulatedPastExecutionTimeSeconds": 40}
    limited = {"maximumExecutionTimeSeconds": 60, "status": status}

    assert decide(case(RESERVED, ADMITTED, at=5, **limited)).again_in == 15
    assert told(decide(case(RESERVED, ADMITTED, at=20, **limited)), "DeactivationTarget").startswith("True Maximum")


def test_who_loses_quota_says_for_how_long_it_ran():
    stopped = Queues(local_queue(stop="Hold"), None)
    pending = {"name": "a", "state": "Pending", "message": "", "lastTransitionTime": after(0)}

    step = decide(case(RESERVED, at=30, queues=stopped, checks=[pending]))

    assert told(step, "QuotaReserved") == "False Inadmissible"
    assert "admission" not in step.status


def with_topology(*conditions, **fields):
    """A Workload that holds quota and whose checks are ready."""
    ready = {"name": "a", "state": "Ready", "message": "", "lastTransitionTime": after(0)}
    admission = {**ADMISSION, "podSetAssignments": [{**ADMISSION["podSetAssignments"][0], **fields}]}
    return decide(case(RESERVED, *conditions, checks=[ready], status={"admission": admission}))


def test_who_waits_for_its_topology_is_not_admitted_before_that_is_assigned():
    assert with_topology(delayedTopologyRequest="Pending") == WorkloadStep()
    assert told(with_topology(delayedTopologyRequest="Ready"), "Admitted") == "True Admitted"
    placed = with_topology(delayedTopologyRequest="Pending", topologyAssignment={"levels": ["rack"]})
    assert told(placed, "Admitted") == "True Admitted"


def test_who_was_admitted_and_waits_for_its_topology_says_so():
    parts = [{**ADMISSION["podSetAssignments"][0], "delayedTopologyRequest": "Pending"}]
    status = {"conditions": [RESERVED, ADMITTED], "admission": {**ADMISSION, "podSetAssignments": parts}}

    told_now = {one["type"]: one for one in admitted_or_not(status, 1, NOON)["conditions"]}

    assert (told_now["Admitted"]["reason"], told_now["Admitted"]["message"]) == (
        "PendingDelayedTopologyRequests",
        "There are pending delayed topology requests",
    )


def test_before_quota_only_checks_of_all_flavors_are_required():
    groups = group(default=quota(1), other=quota(1))
    listed = [
        {"name": "all"},
        {"name": "some", "onFlavors": ["other"]},
        {"name": "both", "onFlavors": ["default", "other"]},
    ]
    known = queue("q", groups, admissionChecksStrategy={"admissionChecks": listed})
    admission = kueue.QueuedWorkload.view(case(RESERVED).raw).status.admission

    assert required_check_names(known, None) == ["all", "both"]
    assert required_check_names(known, admission) == ["all", "both"]


def test_checks_are_kept_added_and_dropped():
    found = [{"name": "a", "state": "Ready"}, {"name": "b", "state": "Pending"}]

    assert synced_checks(found, ["a", "b"], NOON) is None
    assert [(each["name"], each["state"]) for each in synced_checks(found, ["c", "a"], NOON)] == [
        ("a", "Ready"),
        ("c", "Pending"),
    ]
