"""What counts as a reason why a job waits, and what only tells how far it has come."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.testing.builders import condition, pod_template

from .reasons import Hub, says_nothing

RESERVED = condition(kueue.QUOTA_RESERVED, True, "QuotaReserved", "Quota reserved in ClusterQueue q")


def hub(*conditions, checks=(), told=()):
    job = Job.manifest("j", "default", labels={kueue.QUEUE_LABEL: "q"}, spec={"template": pod_template()})
    job["metadata"]["uid"] = "u"
    status = {"conditions": [*conditions], "admissionChecks": [*checks]}
    workload = kueue.Workload.manifest("w", "default", status=status)
    workload["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}]
    events = [Event.manifest(f"e{n}", reason=r, note="said", regarding={"name": "w"}) for n, r in enumerate(told)]
    return Hub([job], [workload], events)


def check(state, message):
    return {"name": "c", "state": state, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("found", "has_reason"),
    [
        pytest.param(hub(), False, id="nothing is said"),
        pytest.param(hub(condition(kueue.QUOTA_RESERVED, False, "Pending", "no quota")), True, id="no quota"),
        pytest.param(hub(RESERVED), False, id="it has quota"),
        pytest.param(hub(RESERVED, told=["CreatedWorkload", "QuotaReserved"]), False, id="how far it has come"),
        pytest.param(hub(RESERVED, told=["QuotaReserved", "Nominated"]), True, id="where it is offered"),
        pytest.param(hub(RESERVED, checks=[check("Ready", "well")]), False, id="a check that is ready"),
        pytest.param(hub(RESERVED, checks=[check("Pending", "")]), False, id="a check that says nothing"),
        pytest.param(hub(RESERVED, checks=[check("Pending", "not yet")]), True, id="a check that waits"),
        pytest.param(hub(RESERVED, condition("PodsReady", False, "", "no pods")), False, id="no pods"),
        pytest.param(hub(RESERVED, condition(kueue.ADMITTED)), True, id="it is admitted"),
    ],
)
def test_reason(found, has_reason):
    assert bool(found.reason(found.jobs[0])) is has_reason


@pytest.mark.parametrize(
    ("text", "is_nothing"),
    [
        pytest.param("there is no LocalQueue q in namespace a", False, id="a reason"),
        pytest.param("mk is Pending: nominated for c1; c1: no room now", False, id="two reasons"),
        pytest.param(" ", True, id="empty"),
        pytest.param("multikueue is Pending: ", True, id="it ends before its reason"),
        pytest.param("multikueue is Pending:; c1: no room now", True, id="its first part does"),
        pytest.param("it waits; ", True, id="its second part is empty"),
    ],
)
def test_a_text_that_says_nothing_is_told_from_a_reason(text, is_nothing):
    assert says_nothing(text) is is_nothing
