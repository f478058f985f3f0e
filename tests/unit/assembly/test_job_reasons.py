"""Why a job is where it is: never nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.assembly.job_reasons import last_notes, why


def workload(true=(), false=(), checks=(), *, nominated=(), on="", deleting=False, active=True, message=""):
    status = {
        "conditions": [
            *({"type": kind, "status": "True", "message": f"{kind} it is"} for kind in true),
            *({"type": kind, "status": "False", "message": message} for kind in false),
        ],
        "admissionChecks": [{"name": n, "state": s, "message": m} for n, s, m in checks],
        "nominatedClusterNames": list(nominated),
        "clusterName": on,
    }
    manifest = kueue.Workload.manifest("w", "default", spec={"active": active}, status=status)
    manifest["metadata"]["uid"] = "u1"
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return kueue.Workload.view(manifest)


MK = ("mk", "Pending", "")
QUOTA = ("QuotaReserved",)


@pytest.mark.parametrize(
    ("found", "note", "reason"),
    [
        pytest.param(workload(), "", "no queue has looked at it yet", id="nobody has looked at it"),
        pytest.param(
            workload(false=QUOTA, message="insufficient quota for nvidia.com/gpu"),
            "",
            "insufficient quota for nvidia.com/gpu",
            id="the queue says why",
        ),
        pytest.param(workload(active=False), "", "it is deactivated (spec.active is false)", id="deactivated"),
        pytest.param(workload(QUOTA, checks=[MK]), "", "mk is Pending: no cluster is nominated yet", id="just begun"),
        pytest.param(
            workload(QUOTA, checks=[MK]),
            "gpu-c1: not connected",
            "mk is Pending: no cluster is nominated yet; gpu-c1: not connected",
            id="the dispatcher has said why",
        ),
        pytest.param(
            workload(QUOTA, checks=[MK], nominated=["gpu-c1", "gpu-c2"]),
            "",
            "mk is Pending: nominated for gpu-c1, gpu-c2, not admitted there yet",
            id="nominated",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", ""), ("gpu", "Pending", "waiting: no clusters")]),
            "",
            "gpu is Pending: waiting: no clusters",
            id="a check that says why goes first",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Retry", "Worker lost")]), "", "mk is Retry: Worker lost", id="a retry"
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Pending", "")], on="gpu-c1"),
            "",
            "mk is Pending: it is on gpu-c1, which has not said so yet",
            id="a winner that is not ready",
        ),
        pytest.param(
            workload(QUOTA, checks=[("mk", "Ready", "")]),
            "",
            "all checks are Ready; Kueue is about to admit it",
            id="nothing is missing any more",
        ),
        pytest.param(
            workload(("QuotaReserved", "Evicted")), "", "it is being evicted: Evicted it is", id="on its way out"
        ),
        pytest.param(workload(("QuotaReserved", "Admitted")), "", "Admitted it is", id="it runs"),
        pytest.param(workload(("Admitted", "Finished")), "", "Finished it is", id="it has ended"),
        pytest.param(
            workload(QUOTA, checks=[("ac", "Pending", "Reset to Pending after eviction. Previously: Retry"), MK]),
            "its copy on c1 must be removed",
            "ac is Pending: no cluster is nominated yet; its copy on c1 must be removed",
            id="taken back, and not sent anywhere yet",
        ),
        pytest.param(workload(QUOTA, deleting=True), "", "it is being deleted", id="deleted"),
    ],
)
def test_the_reason_of_a_job(found, note, reason):
    assert why(found, {"u1": note}) == reason


KINDS = ("QuotaReserved", "Evicted", "Admitted", "Finished")


@given(
    true=st.sets(st.sampled_from(KINDS)),
    checks=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["Ready", "Pending", "Retry"]), st.just(""))),
    nominated=st.lists(st.sampled_from(["c1", "c2"]), unique=True),
    on=st.sampled_from(["", "c1"]),
    deleting=st.booleans(),
    active=st.booleans(),
)
def test_no_job_is_without_a_reason(true, checks, nominated, on, deleting, active):
    found = workload(true, checks=checks, nominated=nominated, on=on, deleting=deleting, active=active)

    reason = why(found, {})

    assert reason.strip()
    assert not reason.endswith((":", ": "))


def event(reason, note, time, uid="u1"):
    return {"reason": reason, "note": note, "eventTime": time, "regarding": {"uid": uid}}


def test_the_newest_event_counts_and_one_that_explains_no_waiting_says_nothing():
    events = [
        event("NominationRefused", "refused", "2026-01-01T00:00:02.000000Z"),
        event("NoClusterToNominate", "nobody", "2026-01-01T00:00:01.000000Z"),
        event("WaitingForCluster", "c1 is silent", "2026-01-01T00:00:01.000000Z", uid="u2"),
        event("Nominated", "c1", "2026-01-01T00:00:02.000000Z", uid="u2"),
    ]

    assert last_notes(events) == {"u1": "refused"}
