"""What a group of pods is: which of its pods count, how many are missing, and how it ended."""

from datetime import timedelta

import pytest

from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority
from fleetqueue.embedded.kueue.pods.group_workloads import CannotCompose, check, is_complete, pod_sets, workload_of
from fleetqueue.embedded.kueue.pods.groups import PodGroup, PodGroups, members, replacement_condition, stands_for
from tests.unit.embedded.kueue.scheduling.objects import NOON, condition, pod_set, workload

from .objects import member

ROLE = "kueue.x-k8s.io/role-hash"
FAST = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}
SERVING = {"kueue.x-k8s.io/pod-group-serving": "true"}
UNRETRIABLE = {"kueue.x-k8s.io/retriable-in-group": "false"}
FACTS = PodGroups()


def pod(name, phase="Pending", *, role="r", gated=False, held=True, age=0, deleted=None, node="", marks=None, count=2):
    """A pod of a group; `age` and `deleted` are how many seconds ago."""
    made = member(name, count=count, annotations={ROLE: role, **(marks or {})})
    made["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": timestamp(NOON - timedelta(seconds=age))}
    made["metadata"]["finalizers"] = ["kueue.x-k8s.io/managed"] if held else []
    if deleted is not None:
        moment = timestamp(NOON - timedelta(seconds=deleted))
        made["metadata"] |= {"deletionTimestamp": moment, "deletionGracePeriodSeconds": 30}
    if gated:
        made["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    if node:
        made["spec"]["nodeName"] = node
    return {**made, "status": {"phase": phase}}


def failed(name, seconds):
    """A pod that failed some seconds ago."""
    moment = timestamp(NOON - timedelta(seconds=seconds))
    ended = {"type": "ContainersReady", "status": "False", "reason": "PodFailed", "lastTransitionTime": moment}
    return {**pod(name), "status": {"phase": "Failed", "conditions": [ended]}}


def group(*pods):
    return PodGroup("g", pods)


def asked(**counts):
    sets = [{**pod_set(name), "count": count} for name, count in counts.items()]
    return {"metadata": {"name": "g"}, "spec": {"podSets": sets}}


def names(pods):
    return [each["metadata"]["name"] for each in pods]


@pytest.mark.parametrize(
    ("pods", "kept", "excess", "replaced", "absent"),
    [
        pytest.param([pod("a"), pod("b")], ["a", "b"], [], [], 0, id="just right"),
        pytest.param([pod("a")], ["a"], [], [], 1, id="one is missing"),
        pytest.param(
            [pod("a", age=1), pod("b", age=2), pod("c", age=3)], ["c", "b"], ["a"], [], 0, id="the newest is too many"
        ),
        pytest.param(
            [pod("a", gated=True, age=9), pod("b"), pod("c")], ["b", "c"], ["a"], [], 0, id="who waits goes first"
        ),
        pytest.param(
            [pod("a", held=False, age=9), pod("b"), pod("c")], ["b", "c"], ["a"], [], 0, id="who is not held goes first"
        ),
        pytest.param([pod("a", "Failed"), pod("b")], ["b", "a"], [], [], 1, id="a failed pod waits for another"),
        pytest.param(
            [pod("a", "Failed"), pod("b"), pod("c")], ["b", "c"], [], ["a"], 0, id="a failed pod was replaced"
        ),
        pytest.param([pod("a", "Succeeded"), pod("b")], ["a", "b"], [], [], 0, id="a pod that succeeded counts"),
        pytest.param(
            [pod("a", deleted=0), pod("b")], ["b", "a"], [], [], 1, id="a deleted pod that never ran cannot run"
        ),
        pytest.param(
            [pod("a", "Running", deleted=0, node="n"), pod("b")], ["a", "b"], [], [], 0, id="a deleted pod still runs"
        ),
        pytest.param(
            [pod("a", "Failed", deleted=9), pod("b", "Failed", deleted=1), pod("c")],
            ["c", "b"],
            [],
            ["a"],
            1,
            id="of two that cannot run, who went first is let go",
        ),
        pytest.param(
            [failed("a", 9), failed("b", 1), pod("c")], ["c", "b"], [], ["a"], 1, id="of two that failed, the first"
        ),
        pytest.param([pod("a"), pod("b"), pod("x", role="other")], ["a", "b"], [], [], 0, id="another role is none"),
        pytest.param([pod("a", marks=FAST)], ["a"], [], [], 0, id="of a fast group one is enough"),
        pytest.param([pod("a", "Failed", marks=FAST)], ["a"], [], [], 1, id="of a fast group one has to be able"),
    ],
)
def test_the_members_of_a_group(pods, kept, excess, replaced, absent):
    found = members(group(*pods), asked(r=2), NOON)

    assert [names(part) for part in found[:3]] == [kept, excess, replaced]
    assert found.absent == absent


@pytest.mark.parametrize(
    ("asked_for", "counts", "is_so"),
    [
        pytest.param(asked(r=2), {"r": 2}, True, id="all of it"),
        pytest.param(asked(r=2), {"r": 1}, True, id="less than it asks for"),
        pytest.param(asked(r=2), {"r": 3}, False, id="more than it asks for"),
        pytest.param(asked(r=2), {"s": 1}, False, id="another role"),
        pytest.param(
            asked(r=1) | {"status": {"conditions": [{"type": "Finished", "status": "True"}]}},
            {"r": 2},
            True,
            id="what has finished stands for any number",
        ),
        pytest.param({**asked(r=2), "metadata": {"name": "other"}}, {"r": 1}, False, id="another group"),
    ],
)
def test_a_workload_stands_for_a_group(asked_for, counts, is_so):
    assert stands_for(asked_for, group(pod("a")), counts) is is_so


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        pytest.param([pod("a", "Succeeded"), pod("b", "Running")], None, id="one runs"),
        pytest.param([pod("a", "Succeeded"), pod("b", "Succeeded")], "2/2", id="all have succeeded"),
        pytest.param([pod("a", "Succeeded"), pod("b", "Failed")], None, id="a failed one may be replaced"),
        pytest.param([pod("a", "Succeeded"), pod("b", "Failed", marks=UNRETRIABLE)], "1/2", id="none is replaced"),
        pytest.param(
            [pod("a", "Running"), pod("b", "Failed", marks=UNRETRIABLE)], None, id="none is replaced, one runs"
        ),
        pytest.param(
            [pod("a", "Succeeded", marks=SERVING), pod("b", "Succeeded", marks=SERVING)], None, id="it serves for ever"
        ),
    ],
)
def test_how_a_group_ends(pods, said):
    ending = FACTS.ending(group(*pods))

    assert ending == (None if said is None else ("Succeeded", f"Pods succeeded: {said}."))


def test_pods_that_succeeded_will_not_come_again():
    mixed = group(pod("a", "Succeeded"), pod("b", "Succeeded", role="s"), pod("c", "Succeeded"), pod("d", "Running"))

    assert FACTS.reclaimable(mixed) == [{"name": "r", "count": 2}, {"name": "s", "count": 1}]
    assert FACTS.reclaimable(group(pod("a", "Succeeded", marks=SERVING))) == []


@pytest.mark.parametrize(
    ("pods", "is_active", "is_suspended"),
    [
        pytest.param([pod("a", "Running"), pod("b", "Running")], True, False, id="they run"),
        pytest.param([pod("a", "Running"), pod("b", gated=True)], True, True, id="one waits"),
        pytest.param([pod("a", gated=True)], False, True, id="all wait"),
        pytest.param([pod("a", "Failed"), pod("b", "Succeeded")], False, True, id="all have ended"),
        pytest.param([pod("a", "Running", deleted=10**9)], False, False, id="one should have gone long ago"),
    ],
)
@pytest.mark.virtual_time
async def test_whether_a_group_runs(pods, is_active, is_suspended):
    assert FACTS.is_active(group(*pods)) is is_active
    assert FACTS.is_suspended(group(*pods)) is is_suspended


WAITS = condition("WaitingForReplacementPods", "True", "PodsFailed", "Some Failed pods need replacement")
EVICTED = condition("Evicted", "True", "Preempted", "for another")


@pytest.mark.parametrize(
    ("told", "absent", "says"),
    [
        pytest.param((), 0, None, id="nothing is missing"),
        pytest.param((), 1, ("True", "PodsFailed", "Some Failed pods need replacement"), id="a pod failed"),
        pytest.param((WAITS,), 1, None, id="it says so"),
        pytest.param((WAITS,), 0, ("False", "PodsReady", "No pods need replacement"), id="it was replaced"),
        pytest.param((EVICTED,), 2, ("True", "Preempted", "for another"), id="all were evicted"),
        pytest.param((WAITS, EVICTED), 2, ("True", "Preempted", "for another"), id="evicted after one failed"),
    ],
)
def test_a_workload_tells_that_pods_are_missing(told, absent, says):
    found = replacement_condition(workload(conditions=told), absent)

    assert (found and (found.status, found.reason, found.message)) == says


def test_a_group_asks_for_each_role_once():
    two = group(pod("a", role="s"), pod("b", role="r"), pod("c", role="s"), pod("d", "Failed", role="t"))

    assert [(each["name"], each["count"]) for each in pod_sets(two)] == [("r", 1), ("s", 2)]


def test_a_fast_group_asks_for_all_by_its_first_pod():
    fast = group(pod("a", marks=FAST, count=5))

    assert is_complete(fast)
    assert [(each["name"], each["count"]) for each in pod_sets(fast)] == [("r", 5)]
    assert not is_complete(group(pod("a", count=5)))


def test_the_workload_of_a_group_has_its_name_and_is_owned_by_all():
    made = workload_of(group(pod("a"), pod("b")), Priority(0, None), ())

    assert made["metadata"]["name"] == "g"
    assert made["metadata"]["annotations"] == {"kueue.x-k8s.io/is-group-workload": "true"}
    assert [(each["name"], each.get("controller")) for each in made["metadata"]["ownerReferences"]] == [
        ("a", None),
        ("b", None),
    ]
    assert made["spec"]["queueName"] == "q"


@pytest.mark.parametrize(
    ("other", "says"),
    [
        pytest.param(pod("b", count=3), "pods 'a' and 'b' has different .* values: 2!=3", id="another size"),
        pytest.param(
            pod("b") | {"metadata": {**pod("b")["metadata"], "labels": {}}},
            "pods 'a' and 'b' has different queue names: q!=",
            id="another queue",
        ),
    ],
)
def test_pods_that_contradict_each_other_are_no_group(other, says):
    with pytest.raises(CannotCompose, match=says):
        check(group(pod("a"), other))


def test_a_group_has_not_too_many_roles():
    with pytest.raises(CannotCompose, match="more than 18 roles"):
        check(group(*(pod(f"p{number}", role=f"r{number}") for number in range(19))))
