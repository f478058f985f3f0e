"""What is decided about a LeaderWorkerSet."""

import pytest

from fleetqueue.embedded.operators.leader_worker_set_plan import (
    Group,
    Observed,
    leaders_of,
    marked_pod,
    plan,
    revision_of,
    workers_of,
)
from fleetqueue.testing.virtual_time import START

from .leader_worker_set_objects import leader_worker_set, pod_template

READY = [{"type": "Ready", "status": "True"}]


def lws(**said):
    made = leader_worker_set(**said)
    made["metadata"] |= {"uid": "uid-l", "generation": 1}
    return made


def leader(of, number=0, *, ready=False, deleting=False, restarts=0, revision=None):
    raw = {
        "metadata": {
            "name": f"l-{number}",
            "namespace": "team",
            "uid": f"uid-l-{number}",
            "labels": {
                "leaderworkerset.sigs.k8s.io/name": "l",
                "leaderworkerset.sigs.k8s.io/worker-index": "0",
                "leaderworkerset.sigs.k8s.io/template-revision-hash": revision or revision_of(of),
            },
        },
        "spec": {},
        "status": {"conditions": READY if ready else [], "containerStatuses": [{"restartCount": restarts}]},
    }
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "t"
    return marked_pod(raw)


def worker(*, ready=False, deleting=False):
    raw = {"metadata": {"name": "w"}, "status": {"conditions": READY if ready else []}}
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "t"
    return raw


def planned(of, *groups, names=()):
    sets = frozenset({"l", *names})
    return plan(Observed(of, leaders_of(of), groups, sets), START)


def names(manifests):
    return [each["metadata"]["name"] for each in manifests]


def test_first_there_are_leaders():
    made = plan(Observed(lws(replicas=3), None, ()), START)

    [leaders] = made.create
    assert leaders["metadata"]["name"] == "l"
    assert leaders["spec"]["replicas"] == 3
    assert leaders["spec"]["template"]["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"


def test_leaders_may_be_other_pods_than_workers():
    other = lws(leader=pod_template("7"))

    requests = [
        made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        for made in (leaders_of(other), workers_of(other, leader(other)))
    ]

    assert requests == ["7", "1"]


@pytest.mark.parametrize(
    ("of", "group", "created"),
    [
        pytest.param(lws(), Group(leader(lws())), ["l-0"], id="a leader gets workers"),
        pytest.param(lws(), Group(leader(lws()), stateful_set={}), [], id="it has them"),
        pytest.param(lws(size=1), Group(leader(lws(size=1))), [], id="a group of one has none"),
        pytest.param(lws(), Group(leader(lws(), deleting=True)), [], id="the leader goes"),
        pytest.param(lws(startupPolicy="LeaderReady"), Group(leader(lws())), [], id="the leader comes first"),
        pytest.param(
            lws(startupPolicy="LeaderReady"), Group(leader(lws(), ready=True)), ["l-0"], id="the leader is there"
        ),
    ],
)
def test_workers_come_after_their_leader(of, group, created):
    assert names(planned(of, group).create) == created


def test_workers_wait_until_those_of_an_earlier_leader_have_gone():
    assert planned(lws(), Group(leader(lws())), names=("l-0",)).create == []


@pytest.mark.parametrize(
    ("of", "group", "restarted"),
    [
        pytest.param(lws(), Group(leader(lws()), [worker(deleting=True)], {}), ["l-0"], id="a worker goes"),
        pytest.param(lws(), Group(leader(lws(), restarts=1), [worker()], {}), ["l-0"], id="a leader was restarted"),
        pytest.param(lws(), Group(leader(lws()), [worker()], {}), [], id="all is well"),
        pytest.param(
            lws(), Group(leader(lws(), deleting=True), [worker(deleting=True)], {}), [], id="it has begun already"
        ),
    ],
)
def test_a_group_begins_anew_as_a_whole(of, group, restarted):
    assert names(planned(of, group).restart) == restarted


def test_a_group_may_be_told_not_to_begin_anew():
    none = lws()
    none["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "None"

    assert planned(none, Group(leader(none), [worker(deleting=True)], {})).restart == []


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        pytest.param([], {"Progressing"}, id="nothing is there"),
        pytest.param([Group(leader(lws(), ready=True), [worker(ready=True)], {})], {"Progressing"}, id="one of two"),
        pytest.param(
            [Group(leader(lws(), number, ready=True), [worker(ready=True)], {}) for number in range(2)],
            {"Available"},
            id="all are ready",
        ),
        pytest.param(
            [Group(leader(lws(), 0, revision="old")), Group(leader(lws(), 1))],
            {"Progressing", "UpdateInProgress"},
            id="one is of an older revision",
        ),
    ],
)
def test_what_is_said_of_groups(groups, says):
    status = planned(lws(), *groups).status

    assert {each["type"] for each in status["conditions"] if each["status"] == "True"} == says
    assert status["replicas"] == len(groups)


def test_what_was_true_is_not_any_more():
    before = lws()
    before["status"] = planned(before).status
    ready = [Group(leader(before, number, ready=True), [worker(ready=True)], {}) for number in range(2)]

    after = planned(before, *ready).status

    assert {each["type"]: each["status"] for each in after["conditions"]} == {
        "Progressing": "False",
        "Available": "True",
    }
    assert after["readyReplicas"] == 2


def test_only_what_differs_is_written():
    old, new = lws(), lws(replicas=5)
    other = lws(cpu="2")

    assert planned(old).update == {}
    assert plan(Observed(new, leaders_of(old), ()), START).update["spec"] == {"replicas": 5}
    assert "template" in plan(Observed(other, leaders_of(old), ()), START).update["spec"]
