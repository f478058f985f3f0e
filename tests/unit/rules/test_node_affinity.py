"""Which nodes a pod chooses: every branch is a row."""

import pytest

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.rules.node_affinity import is_chosen

NODE = Node.view({"metadata": {"name": "n1", "labels": {"zone": "a", "slots": "8"}}})


def a_pod(*terms, **spec):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    affinity = {"affinity": {"nodeAffinity": required}} if terms else {}
    return Pod.view({"metadata": {"name": "p"}, "spec": {**affinity, **spec}})


def by(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator, *values):
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(a_pod(), True, id="any node"),
        pytest.param(a_pod(nodeSelector={"zone": "a"}), True, id="its label"),
        pytest.param(a_pod(nodeSelector={"zone": "b"}), False, id="another value"),
        pytest.param(a_pod(by("zone", "In", "a", "b")), True, id="one of some values"),
        pytest.param(a_pod(by("zone", "NotIn", "a")), False, id="none of some values"),
        pytest.param(a_pod(by("gpu", "Exists")), False, id="a label that it does not have"),
        pytest.param(a_pod(by("gpu", "DoesNotExist")), True, id="which it shall not have"),
        pytest.param(a_pod(by("slots", "Gt", "7")), True, id="a larger number"),
        pytest.param(a_pod(by("slots", "Lt", "8")), False, id="not a smaller one"),
        pytest.param(a_pod(by("zone", "Gt", "1")), False, id="no number"),
        pytest.param(a_pod(by("zone", "In", "b"), by("zone", "In", "a")), True, id="one term is enough"),
        pytest.param(a_pod({**by("zone", "In", "a"), **named("In", "n2")}), False, id="all of a term must hold"),
        pytest.param(a_pod(named("In", "n1")), True, id="by its name"),
        pytest.param(a_pod(named("NotIn", "n1")), False, id="not by its name"),
        pytest.param(a_pod({}), False, id="an empty term means none"),
        pytest.param(a_pod(by("zone", "In", "a"), nodeSelector={"zone": "b"}), False, id="the selector must hold, too"),
    ],
)
def test_which_nodes_are_chosen(pod, expected):
    assert is_chosen(pod, NODE) == expected
