"""What is taken of each node follows the pods, and those that are just being bound."""

import pytest

from fleetqueue.embedded.nodes.fitting import needs_of
from fleetqueue.embedded.nodes.objects import Pod
from fleetqueue.embedded.nodes.usage import Usage


def a_pod(node="", cpu="1", phase="Pending", uid="u"):
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"nodeName": node, "containers": [container]}
    return Pod.view({"metadata": {"name": "pod", "uid": uid}, "spec": spec, "status": {"phase": phase}})


@pytest.fixture
def usage():
    return Usage()


def cpu(usage, node="n"):
    return usage.of(node).get("cpu", 0)


def test_a_bound_pod_takes_what_it_asks_for(usage):
    usage.change(None, a_pod("n"))

    assert (cpu(usage), usage.of("n")["pods"]) == (1, 1)


def test_one_that_waits_takes_nothing(usage):
    usage.change(None, a_pod())

    assert cpu(usage) == 0


@pytest.mark.parametrize("after", [None, a_pod("n", phase="Succeeded"), a_pod("n", phase="Failed")])
def test_what_has_ended_or_gone_gives_it_back(usage, after):
    usage.change(None, a_pod("n"))

    assert usage.change(a_pod("n"), after)
    assert cpu(usage) == 0


def test_an_assumed_pod_takes_its_place_until_the_cache_shows_it(usage):
    pod = a_pod()
    usage.assume(pod, "n", needs_of(pod))
    usage.change(pod, pod)
    assert usage.is_assumed(pod)
    assert cpu(usage) == 1
    usage.change(pod, a_pod("n"))

    assert not usage.is_assumed(pod)
    assert cpu(usage) == 1


def test_a_refused_binding_gives_it_back(usage):
    pod = a_pod()
    usage.assume(pod, "n", needs_of(pod))
    usage.forget(pod)

    assert cpu(usage) == 0


def test_another_pod_of_the_same_name_is_another_one(usage):
    usage.change(None, a_pod("n", uid="a"))
    usage.change(a_pod("n", uid="a"), a_pod("m", uid="b"))

    assert (cpu(usage, "n"), cpu(usage, "m")) == (0, 1)
