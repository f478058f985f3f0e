"""LeaderWorkerSets under Kueue: one Workload for the pods of each group, which wait for each other."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.embedded.kueue.pods import leader_worker_set_rules as rules
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.operators.leader_worker_sets import LeaderWorkerSetController
from fleetqueue.embedded.operators.leader_worker_sets import hooks as hooks_of_sets
from fleetqueue.fleets.faults import Failure
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE
from tests.unit.embedded.operators.leader_worker_set_objects import leader_worker_set, make_pods, pod_template

from .objects import ask, is_gated, pods

pytestmark = pytest.mark.virtual_time
FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
SETTINGS = KueueSettings(frameworks=("batch/job", "pod", "statefulset", FRAMEWORK))
ROLE = "kueue.x-k8s.io/role-hash"


@pytest.fixture
async def asked(world):
    for definition in crds("leaderworkerset"):
        await world.client.create(CustomResourceDefinition.resource, definition)
    await advance(10)
    world.fleet.hub.server.webhooks.install("lws", hooks_of_sets())
    ask(world, SETTINGS)
    return world


@asynccontextmanager
async def running(world):
    async with world.managed(SETTINGS, more=(LeaderWorkerSetController,)):
        yield


async def add(world, made):
    await world.client.create(LeaderWorkerSet.resource, made)
    await go_on(world)


async def go_on(world, turns=4):
    """Let time pass, and Kubernetes make pods."""
    for _ in range(turns):
        await advance(4)
        await make_pods(world.client)
    await advance(10)


async def change(world, **fields):
    await world.client.merge(LeaderWorkerSet.resource, "l", NAMESPACE, fields)
    await go_on(world)


async def workloads(world):
    found = (await world.client.list(kueue.Workload.resource, NAMESPACE)).items
    return {each["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"]: each for each in found}


async def phases(world):
    return {name: raw["status"]["phase"] for name, raw in (await pods(world)).items()}


async def test_each_group_has_a_workload_and_runs_when_that_is_admitted(asked):
    async with running(asked):
        await add(asked, leader_worker_set(queue="q"))
        found, there = await workloads(asked), await pods(asked)
        status = (await asked.client.get(LeaderWorkerSet.resource, "l", NAMESPACE))["status"]

    annotations = found["1"]["metadata"]["annotations"]
    marks = there["l-1-1"]["metadata"]["annotations"]
    assert list(found) == ["0", "1"]
    assert [(each["name"], each["count"]) for each in found["0"]["spec"]["podSets"]] == [("main", 2)]
    assert annotations["kueue.x-k8s.io/job-owner-gvk"] == "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"
    assert {raw["status"]["phase"] for raw in there.values()} == {"Running"}
    assert sorted(there) == ["l-0", "l-0-1", "l-1", "l-1-1"]
    assert marks["kueue.x-k8s.io/pod-group-name"] == found["1"]["metadata"]["name"]
    assert status["readyReplicas"] == 2
    assert [each["type"] for each in status["conditions"] if each["status"] == "True"] == ["Available"]


async def test_a_group_waits_while_another_runs(asked):
    async with running(asked):
        await add(asked, leader_worker_set(queue="q", cpu="2"))
        there = await pods(asked)

    waiting = sorted(name for name, raw in there.items() if is_gated(raw))
    assert waiting in (["l-0", "l-0-1"], ["l-1", "l-1-1"])


async def test_leaders_and_workers_are_two_pod_sets(asked):
    async with running(asked):
        await add(asked, leader_worker_set(1, 3, queue="q", leader=pod_template("500m")))
        found, there = await workloads(asked), await pods(asked)

    assert [(each["name"], each["count"]) for each in found["0"]["spec"]["podSets"]] == [("leader", 1), ("worker", 2)]
    assert {name: raw["metadata"]["annotations"][ROLE] for name, raw in there.items()} == {
        "l-0": "leader",
        "l-0-1": "worker",
        "l-0-2": "worker",
    }
    assert {raw["status"]["phase"] for raw in there.values()} == {"Running"}


async def test_workloads_follow_how_many_groups_there_are(asked):
    async with running(asked):
        await add(asked, leader_worker_set(2, 1, queue="q"))
        await change(asked, spec={"replicas": 3})
        more = list(await workloads(asked))
        await change(asked, spec={"replicas": 1})
        await advance(20)

    assert more == ["0", "1", "2"]
    assert list(await workloads(asked)) == ["0"]
    assert await phases(asked) == {"l-0": "Running"}


async def test_an_evicted_group_runs_again_when_it_may_and_the_other_goes_on(asked):
    async with running(asked):
        await add(asked, leader_worker_set(queue="q"))
        before = await pods(asked)
        await asked.change((await workloads(asked))["0"], spec={"active": False})
        await go_on(asked)
        stopped = await pods(asked)
        await asked.change((await workloads(asked))["0"], spec={"active": True})
        await go_on(asked)
        after = await pods(asked)

    assert is_gated(stopped["l-0"])
    assert stopped["l-1"]["metadata"]["uid"] == before["l-1"]["metadata"]["uid"]
    assert stopped["l-1"]["status"]["phase"] == "Running"
    assert {raw["status"]["phase"] for raw in after.values()} == {"Running"}
    assert len(after) == 4


async def test_a_leader_worker_set_that_goes_takes_all_with_it(asked):
    async with running(asked):
        await add(asked, leader_worker_set(queue="q"))
        await asked.client.delete(LeaderWorkerSet.resource, "l", NAMESPACE)
        await advance(40)

    assert await pods(asked) == {}
    assert await workloads(asked) == {}


async def test_a_leader_worker_set_without_a_queue_runs(asked):
    async with running(asked):
        await add(asked, leader_worker_set())

    assert set((await phases(asked)).values()) == {"Running"}
    assert await workloads(asked) == {}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param(
            {"spec": {"leaderWorkerTemplate": {"size": 3}}},
            "spec.leaderWorkerTemplate.size: Invalid value: 3: field is immutable",
            id="larger groups",
        ),
        pytest.param(
            {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}}},
            'spec.leaderWorkerTemplate.workerTemplate.spec.nodeSelector: Invalid value: {"a":"b"}: field is immutable',
            id="other nodes",
        ),
        pytest.param(
            {"spec": {"replicas": 1000001}},
            "spec.replicas: Invalid value: 1000001: invalid LeaderWorkerSet replicas: must be <= 1000000, got 1000001",
            id="too many groups",
        ),
        pytest.param(
            {"metadata": {"labels": {kueue.QUEUE_LABEL: None}}},
            'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": field is immutable',
            id="no queue any more",
        ),
    ],
)
async def test_what_may_not_change_in_a_leader_worker_set(asked, fields, says):
    await asked.client.create(LeaderWorkerSet.resource, leader_worker_set(queue="q"))

    with pytest.raises(errors.Forbidden) as refused:
        await asked.client.merge(LeaderWorkerSet.resource, "l", NAMESPACE, fields)

    assert f'admission webhook "vleaderworkerset.kb.io" denied the request: {says}' in str(refused.value)


async def test_all_is_quiet_when_a_leader_worker_set_runs(asked):
    async with running(asked):
        await add(asked, leader_worker_set(queue="q"))
        await advance(20)
        before = await asked.revision()
        await advance(300)
        after = await asked.revision()

    assert after == before


async def test_a_workload_that_could_not_be_made_is_made_later(asked):
    failure = Failure("create workloads/team/*", errors.ServerError("no"), times=2)
    asked.way.failures.append(failure)
    async with running(asked):
        await add(asked, leader_worker_set(queue="q"))
        await go_on(asked, 6)

    assert failure.times == 0
    assert len(await workloads(asked)) == 2
    assert set((await phases(asked)).values()) == {"Running"}


def lws(replicas=2, **fields):
    made = leader_worker_set(replicas, queue="q")
    made["metadata"] |= {"uid": "u", **fields.pop("metadata", {})}
    return {**made, **fields}


def workload(of, index):
    return {"metadata": {"name": rules.workload_name(of, index)}}


SURGE = {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxSurge": 1}}}


@pytest.mark.parametrize(
    ("of", "there", "create", "update", "delete"),
    [
        pytest.param(lws(), [], [0, 1], 0, 0, id="none is there"),
        pytest.param(lws(), [0], [1], 1, 0, id="one is missing"),
        pytest.param(lws(), [0, 1, 2], [], 2, 1, id="one is too many"),
        pytest.param(
            lws(metadata={"labels": {kueue.ORIGIN_LABEL: "m"}}), [0], [], 1, 0, id="a hub makes those of its copies"
        ),
        pytest.param(lws(status={"replicas": 3}), [0, 1, 2], [], 2, 1, id="a group that goes has none"),
        pytest.param(
            lws(spec={**lws()["spec"], **SURGE}, status={"replicas": 3}),
            [0, 1],
            [2],
            2,
            0,
            id="a group beside, rolling",
        ),
    ],
)
def test_which_workloads_a_leader_worker_set_has(of, there, create, update, delete):
    found = rules.workload_changes(of, [workload(of, index) for index in there])

    assert (found.create, len(found.update), len(found.delete)) == (create, update, delete)
