"""What a worker gets of a hub's pod, and what the hub's pod then says."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.multikueue.pod_adapters import PodAdapter
from fleetqueue.testing.virtual_time import START

from .objects import NAMESPACE, POD_SPEC, QUEUE

GATES = [{"name": "kueue.x-k8s.io/admission"}]
GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}
SCHEDULED = {"type": "PodScheduled", "status": "True"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
READY = {"type": "Ready", "status": "True"}
WAITING = {"phase": "Pending", "qosClass": "Burstable", "conditions": [GATED]}
RUNNING = {"phase": "Running", "qosClass": "Burstable", "conditions": [READY, SCHEDULED], "podIP": "10.0.0.2"}
PODS = PodAdapter()


def pod(status=WAITING, *, gates=GATES, **metadata):
    made = Pod.manifest("p", NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=dict(POD_SPEC), status=status)
    if gates:
        made["spec"]["schedulingGates"] = gates
    made["metadata"] |= metadata
    return made


def test_a_copy_waits_at_the_gate_and_knows_its_workload():
    hub = pod(finalizers=["kueue.x-k8s.io/managed"], ownerReferences=[{"name": "o"}], uid="u", annotations={"a": "b"})

    copy = PODS.copy(hub, "w", "multikueue")

    assert copy["metadata"] == {
        "name": "p",
        "namespace": NAMESPACE,
        "labels": {kueue.QUEUE_LABEL: QUEUE, kueue.ORIGIN_LABEL: "multikueue"},
        "annotations": {"a": "b", kueue.PREBUILT_WORKLOAD: "w"},
    }
    assert copy["spec"] == hub["spec"]
    assert "status" not in copy


@pytest.mark.parametrize(
    ("hub", "copy", "status"),
    [
        pytest.param(pod(), pod(RUNNING), RUNNING, id="it runs"),
        pytest.param(pod(), pod(WAITING), WAITING, id="it waits there, too"),
        pytest.param(
            pod(),
            pod({"phase": "Pending", "conditions": [UNSCHEDULABLE, READY]}),
            {"phase": "Pending", "conditions": [GATED, READY]},
            id="a worker without room is no reason to make some here",
        ),
        pytest.param(
            pod(), pod({"phase": "Pending"}), {"phase": "Pending", "conditions": [GATED]}, id="it says nothing yet"
        ),
        pytest.param(
            pod(RUNNING),
            pod({"phase": "Pending"}),
            {"phase": "Pending", "conditions": [{**GATED, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
            id="sent again, and not scheduled yet",
        ),
        pytest.param(pod(WAITING, deletionTimestamp="t"), pod(RUNNING), WAITING, id="the hub's is deleted"),
        pytest.param(
            pod(RUNNING), pod({"phase": "Failed"}, deletionTimestamp="t"), RUNNING, id="a copy that is stopped"
        ),
    ],
)
def test_the_hub_s_pod_says_how_its_copy_goes(hub, copy, status):
    assert PODS.status(hub, copy, START) == status


@pytest.mark.parametrize(
    ("hub", "status"),
    [
        pytest.param(pod(WAITING), WAITING, id="it never ran"),
        pytest.param(
            pod(RUNNING),
            {
                "phase": "Pending",
                "qosClass": "Burstable",
                "conditions": [{**GATED, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            },
            id="it waits again",
        ),
        pytest.param(pod({"phase": "Succeeded"}), {"phase": "Succeeded"}, id="it has ended"),
        pytest.param(pod(RUNNING, deletionTimestamp="t"), RUNNING, id="it goes"),
        pytest.param(pod(RUNNING, gates=()), RUNNING, id="somebody let it run here"),
    ],
)
def test_a_pod_without_a_copy_waits_at_the_gate(hub, status):
    assert PODS.last_status(hub, START) == status


@pytest.mark.parametrize(
    ("hub", "is_to_run"),
    [
        pytest.param(pod(), True, id="it waits"),
        pytest.param(pod({"phase": "Succeeded"}), False, id="it has ended"),
        pytest.param(pod(deletionTimestamp="t"), False, id="it goes"),
    ],
)
def test_a_pod_that_has_ended_is_not_sent_again(hub, is_to_run):
    assert PODS.is_to_run(hub) is is_to_run
