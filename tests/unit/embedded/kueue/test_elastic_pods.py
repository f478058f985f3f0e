"""The pods of elastic jobs: who may be scheduled, and with what."""

import pytest

from fleetqueue.embedded.kueue.elastic_pods import released, released_pods

from .scheduling.objects import pod_set

GATE = {"name": "kueue.x-k8s.io/elastic-job"}
OTHER = {"name": "example.com/gate"}


def pod(name, *gates, phase="Pending", of="main", selector=None):
    spec = {**({"schedulingGates": [*gates]} if gates else {}), **({"nodeSelector": selector} if selector else {})}
    return {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/podset": of}},
        "spec": spec,
        "status": {"phase": phase},
    }


def admitted(count=2, **status):
    return {"spec": {"podSets": [pod_set(count=count)]}, "status": status}


@pytest.mark.parametrize(
    ("pods", "names"),
    [
        pytest.param([pod("b", GATE), pod("a", GATE)], ["a", "b"], id="all that were granted"),
        pytest.param([pod("b", GATE), pod("c", GATE), pod("a", GATE)], ["a", "b"], id="no more than were granted"),
        pytest.param([pod("b", GATE), pod("a", phase="Running")], ["b"], id="those that run count"),
        pytest.param([pod("b", GATE), pod("a"), pod("c")], [], id="those that wait for a node count"),
        pytest.param(
            [pod("b", GATE), pod("a", phase="Succeeded"), pod("c", phase="Failed")], ["b"], id="not the ended"
        ),
        pytest.param([pod("b", OTHER)], [], id="other gates are not ours"),
    ],
)
def test_who_is_released(pods, names):
    assert released_pods(admitted(), pods) == names


def test_a_released_pod_keeps_the_gates_of_others():
    assert released(pod("a", GATE, OTHER), admitted())["spec"] == {"schedulingGates": [OTHER]}


def test_a_released_pod_goes_where_the_checks_of_its_set_say():
    updates = [{"name": "main", "nodeSelector": {"zone": "a"}}, {"name": "other", "nodeSelector": {"zone": "b"}}]
    active = admitted(admissionChecks=[{"name": "c", "podSetUpdates": updates}])

    assert released(pod("a", GATE, selector={"os": "linux"}), active)["spec"] == {
        "nodeSelector": {"os": "linux", "zone": "a"}
    }
