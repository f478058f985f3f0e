"""Why pods are not ready, as the scheduler and the kubelet say it."""

import pytest

from fleetqueue.admin.pod_reasons import reason_of, why_not_ready
from fleetqueue.api.core_v1 import POD_SCHEDULED, READY, Pod
from fleetqueue.testing.builders import condition

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


def pod(name="p", node="n", *, deleting=False, **status):
    manifest = Pod.manifest(name, "a", spec={"containers": [{"name": "main"}], **({"nodeName": node} if node else {})})
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {**manifest, "status": status}


def container(name="main", **state):
    return {"name": name, "state": state}


def unscheduled(name="p", message=NO_ROOM):
    return pod(name, "", conditions=[condition(POD_SCHEDULED, False, "Unschedulable", message)])


PULLING = container(waiting={"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x"'})
RUNS = container(running={"startedAt": "2026-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param(pod(conditions=[condition(READY)]), "", id="ready"),
        pytest.param(pod(phase="Succeeded"), "", id="over"),
        pytest.param(pod(deleting=True), "is being deleted", id="leaving"),
        pytest.param(unscheduled(), f"has no node yet: {NO_ROOM}", id="no node"),
        pytest.param(pod(node=""), "has no node yet", id="no node, and nobody has looked for one"),
        pytest.param(
            pod(containerStatuses=[PULLING]),
            'container main waits: ImagePullBackOff: Back-off pulling image "x"',
            id="no image",
        ),
        pytest.param(
            pod(containerStatuses=[container(waiting={"reason": "ContainerCreating"})]),
            "container main waits: ContainerCreating",
            id="being created",
        ),
        pytest.param(pod(containerStatuses=[container(waiting={})]), "is on node n, and not ready yet", id="no reason"),
        pytest.param(
            pod(initContainerStatuses=[container("init", terminated={"exitCode": 3})], containerStatuses=[PULLING]),
            "container init has ended with code 3",
            id="what runs first goes first",
        ),
        pytest.param(
            pod(initContainerStatuses=[container("init", terminated={"exitCode": 0})], containerStatuses=[RUNS]),
            "is on node n, and not ready yet",
            id="it runs",
        ),
        pytest.param(pod(phase="Failed", reason="Evicted"), "has failed: Evicted", id="failed"),
        pytest.param(pod(phase="Failed"), "has failed", id="failed without a word"),
    ],
)
def test_of_a_pod_it_is_said_what_keeps_it_from_being_ready(found, reason):
    assert reason_of(found) == reason


@pytest.mark.parametrize(
    ("pods", "text"),
    [
        pytest.param([], "", id="none"),
        pytest.param([pod(conditions=[condition(READY)])], "", id="all are ready"),
        pytest.param([unscheduled("a")], f"pod a: has no node yet: {NO_ROOM}", id="one"),
        pytest.param(
            [pod("c", phase="Failed"), unscheduled("a"), unscheduled("b")],
            f"2 pods, such as a: has no node yet: {NO_ROOM}; pod c: has failed",
            id="what holds most goes first",
        ),
        pytest.param(
            [unscheduled(str(number), str(number)) for number in range(5)],
            "pod 0: has no node yet: 0; pod 1: has no node yet: 1; pod 2: has no node yet: 2",
            id="not all are told",
        ),
    ],
)
def test_of_several_pods_each_reason_is_told_once(pods, text):
    assert why_not_ready(pods) == text
