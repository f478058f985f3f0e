"""The agent publishes every change soon, is quiet when there is none, and lives by the hub's clock."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_v1 import AddOnPlacementScore
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import FRESH, GPU, SCORE_RESOURCE
from fleetqueue.client import Client
from fleetqueue.controllers.usage_scores.agent import TAKING, ScoreAgent
from fleetqueue.controllers.usage_scores.settings import ScoreAgentSettings
from fleetqueue.controllers.usage_scores.usage import ScoredPod
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import scoring

from .conftest import HubWithItsOwnClock

SCORE = f"addonplacementscores/cluster1/{SCORE_RESOURCE}"
WRITE = f"patch {SCORE}/status"


@pytest.fixture
def worker(new_api: Callable[[], ArrangedApi]) -> ArrangedApi:
    return new_api()


@asynccontextmanager
async def agent(
    worker: ArrangedApi, hub: ArrangedApi, settings: ScoreAgentSettings | None = None
) -> AsyncIterator[ScoreAgent]:
    measuring = ScoreAgent(Cluster("cluster1", Client(worker)), Cluster("hub", Client(hub)), Metrics(), settings)
    async with scoring(measuring):
        await settle()
        yield measuring


def node(name: str = "n1", **allocatable: str) -> Manifest:
    return Node.manifest(name, status={"allocatable": allocatable})


def gpu_node(name: str = "n1", gpus: int = 3) -> Manifest:
    return node(name, **{GPU: str(gpus)})


def gpu_pod(name: str = "p1", node: str = "n1", gpus: int = 1) -> Manifest:
    return pod(name, node, status={"phase": "Running"}, requests={GPU: str(gpus)}, limits={GPU: str(gpus)})


def pod(name: str, node: str = "n1", status: Manifest | None = None, **resources: Manifest) -> Manifest:
    container = {"name": "c", "image": "busybox", "resources": resources}
    return Pod.manifest(name, "default", spec={"nodeName": node, "containers": [container]}, status=status or {})


def add_on() -> Manifest:
    return ManagedClusterAddOn.manifest("score-agent", "cluster1", spec={})


def score(api: ArrangedApi) -> AddOnPlacementScore:
    published = api.get(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
    assert published is not None
    return published


def gpus(api: ArrangedApi) -> int | None:
    return score(api).value("gpuClusterAvailable")


def left(api: ArrangedApi, now: datetime | None = None) -> float:
    """Return for how many seconds the scores are still valid."""
    valid_until = score(api).status.valid_until
    assert valid_until is not None
    return (valid_until - (now or clock.now())).total_seconds()


@pytest.mark.checklist("S3-1")
@pytest.mark.parametrize(
    ("nodes", "points"),
    [
        pytest.param([], -100, id="no node at all"),
        pytest.param([node(cpu="8")], -100, id="no GPU"),
        pytest.param([gpu_node()], -70, id="3 GPUs"),
    ],
)
async def test_scores_are_published_at_the_start(
    api: ArrangedApi, worker: ArrangedApi, nodes: list[Manifest], points: int
) -> None:
    worker.add(*nodes)

    async with agent(worker, api):
        published, seconds = score(api), left(api)

    assert [item.name for item in published.status.scores][5] == "gpuClusterAvailable"
    assert published.value("gpuClusterAvailable") == published.value("gpuNodeAvailable") == points
    assert published.metadata.labels == OURS
    assert conditions.is_true(published.status.conditions, FRESH)
    assert seconds == 300


async def test_a_worker_gets_one_object_and_one_status(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())

    async with agent(worker, api):
        await advance(50)

    assert api.writes == [f"create {SCORE}", WRITE]


@pytest.mark.checklist("A-4")
async def test_scores_belong_to_the_add_on_that_installed_the_agent(api: ArrangedApi, worker: ArrangedApi) -> None:
    api.add(add_on())
    installed = api.get(ManagedClusterAddOn, "score-agent", "cluster1")
    assert installed is not None

    async with agent(worker, api, ScoreAgentSettings(add_on="score-agent")):
        (owner,) = score(api).metadata.owner_references

    assert (owner.kind, owner.name, owner.uid) == ("ManagedClusterAddOn", "score-agent", installed.uid)


@pytest.mark.checklist("A-4")
async def test_without_its_add_on_the_agent_makes_no_scores_any_more(api: ArrangedApi, worker: ArrangedApi) -> None:
    api.add(add_on())
    async with agent(worker, api, ScoreAgentSettings(add_on="score-agent")):
        api.remove(ManagedClusterAddOn, "score-agent", "cluster1")
        api.remove(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
        await advance(600)

        assert api.get(AddOnPlacementScore, SCORE_RESOURCE, "cluster1") is None


@pytest.mark.checklist("S3-2")
async def test_a_pod_lowers_the_score_at_once(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    async with agent(worker, api):
        await advance(10)

        worker.add(gpu_pod())
        await settle()

        assert gpus(api) == -80


@pytest.mark.parametrize(
    ("change", "points"),
    [
        pytest.param(lambda worker: worker.remove(Pod, "p1", "default"), -70, id="a pod goes"),
        pytest.param(
            lambda worker: worker.change(Pod, "p1", "default", status={"phase": "Succeeded"}), -70, id="a pod ends"
        ),
        pytest.param(lambda worker: worker.add(gpu_pod("p2", gpus=2)), -100, id="another pod comes"),
        pytest.param(lambda worker: worker.add(gpu_node("n2", 10)), 20, id="another node comes"),
        pytest.param(
            lambda worker: worker.change(Node, "n1", status={"allocatable": {GPU: "5"}}), -60, id="a node gets GPUs"
        ),
        pytest.param(lambda worker: worker.change(Node, "n1", spec={"unschedulable": True}), -100, id="a cordon"),
        pytest.param(lambda worker: worker.remove(Node, "n1"), -100, id="the node goes"),
    ],
)
async def test_what_wakes_the_agent(api: ArrangedApi, worker: ArrangedApi, change: Any, points: int) -> None:
    worker.add(gpu_node(), gpu_pod())
    async with agent(worker, api):
        await advance(10)

        change(worker)
        await settle()

        assert gpus(api) == points


async def test_pods_that_take_nothing_are_not_followed(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node(), gpu_pod(), gpu_pod("waits", node=""), pod("ended", status={"phase": "Succeeded"}))
    async with agent(worker, api) as measuring:
        await settle()
        at_first = measuring.worker.informer(ScoredPod, fields=TAKING).store.keys()
        worker.change(Pod, "p1", "default", status={"phase": "Failed"})
        await settle()

        assert at_first == {"default/p1"}
        assert measuring.worker.informer(ScoredPod, fields=TAKING).store.keys() == set()


async def test_changes_in_quick_succession_are_published_together(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node(gpus=20))
    async with agent(worker, api):
        await advance(10)
        api.writes.clear()

        for number in range(8):
            worker.add(gpu_pod(f"p{number}"))
            await advance(0.2)
        await advance(2)

        assert gpus(api) == 20
        assert api.writes == [WRITE, WRITE]


async def test_a_change_that_no_score_shows_is_not_written(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(node(cpu="8"))
    async with agent(worker, api):
        await advance(10)
        api.writes.clear()

        worker.add(pod("small", requests={"cpu": "100m"}))
        await advance(10)

        assert api.writes == []


async def test_an_idle_hour_costs_no_more_than_twenty_writes(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    async with agent(worker, api):
        await advance(10)
        api.writes.clear()

        for _ in range(360):
            await advance(10)
            assert left(api) >= 90

    assert set(api.writes) == {WRITE}
    assert len(api.writes) <= 20


async def test_a_score_that_was_deleted_comes_back(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    async with agent(worker, api):
        await advance(10)

        api.remove(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
        await advance(2)

        assert gpus(api) == -70


async def test_scores_that_somebody_overwrote_come_back(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    async with agent(worker, api):
        await advance(10)

        lowest = [{"name": "gpuClusterAvailable", "value": -100}]
        api.change(AddOnPlacementScore, SCORE_RESOURCE, "cluster1", status={"scores": lowest})
        await settle()

        assert gpus(api) == -70
        assert len(score(api).status.scores) == 10


async def test_an_empty_worker_is_measured_too(api: ArrangedApi, worker: ArrangedApi) -> None:
    async with agent(worker, api):
        await advance(10)

        since = conditions.timestamp(clock.now())
        details = {"reason": "AgentSilent", "message": "m", "lastTransitionTime": since}
        lowered = [{"type": FRESH, "status": "False", **details}]
        api.change(AddOnPlacementScore, SCORE_RESOURCE, "cluster1", status={"conditions": lowered})
        await settle()

        assert conditions.is_true(score(api).status.conditions, FRESH)


async def test_scores_that_would_outlive_their_agent_are_written_again(api: ArrangedApi, worker: ArrangedApi) -> None:
    async with agent(worker, api):
        await advance(10)

        tomorrow = conditions.timestamp(clock.now() + timedelta(days=1))
        api.change(AddOnPlacementScore, SCORE_RESOURCE, "cluster1", status={"validUntil": tomorrow})
        await settle()

        assert left(api) == 300


async def test_an_agent_that_starts_writes_once_to_learn_the_hubs_time(api: ArrangedApi, worker: ArrangedApi) -> None:
    async with agent(worker, api):
        await advance(10)
    api.writes.clear()

    async with agent(worker, api):
        await advance(30)

    assert api.writes == [WRITE]


async def test_pods_that_come_in_hundreds_are_looked_at_together(
    api: ArrangedApi, worker: ArrangedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.add(node(cpu="8"))
    async with agent(worker, api) as measuring:
        await advance(10)
        looks = Mock(wraps=measuring.usage.free)
        monkeypatch.setattr(measuring.usage, "free", looks)

        for number in range(300):
            worker.add(pod(f"p{number}", requests={"cpu": "1m"}))
            await advance(1 / 300)

        assert looks.call_count <= 11


async def test_the_object_of_another_add_on_is_left_alone(api: ArrangedApi, worker: ArrangedApi) -> None:
    theirs = [{"name": "gpuClusterAvailable", "value": 33}]
    api.add(AddOnPlacementScore.manifest(SCORE_RESOURCE, "cluster1", status={"scores": theirs}))
    worker.add(gpu_node())

    async with agent(worker, api):
        worker.add(gpu_pod())
        await advance(600)

    assert api.writes == []
    assert gpus(api) == 33


async def test_it_takes_over_when_the_other_object_is_deleted(api: ArrangedApi, worker: ArrangedApi) -> None:
    api.add(AddOnPlacementScore.manifest(SCORE_RESOURCE, "cluster1"))
    worker.add(gpu_node())
    async with agent(worker, api):
        await advance(10)

        api.remove(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
        await settle()

        assert gpus(api) == -70


async def test_a_status_that_could_not_be_written_is_tried_again(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    api.fail_on(WRITE, errors.ServerError("boom"), times=3)

    async with agent(worker, api):
        assert score(api).status.scores == ()
        await advance(30)

        assert gpus(api) == -70


async def test_a_failing_hub_is_asked_less_and_less(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node(gpus=20))
    api.fail_on(WRITE, errors.ServerError("boom"))

    async with agent(worker, api):
        for number in range(600):
            worker.add(gpu_pod(f"p{number}", gpus=0 if number else 1))
            await advance(1)

    assert 10 <= api.requests.count(WRITE) <= 20


async def test_what_cannot_be_seen_is_not_renewed(api: ArrangedApi, worker: ArrangedApi) -> None:
    worker.add(gpu_node())
    async with agent(worker, api):
        worker.cut()
        await advance(400)
        expired = left(api) < 0
        worker.heal()
        await advance(60)

        assert expired
        assert left(api) > 100


@pytest.fixture
def other_clock(api: ArrangedApi) -> HubWithItsOwnClock:
    """The hub, with a clock that is not the worker's."""
    return HubWithItsOwnClock(api.server)


@pytest.mark.parametrize("seconds", [3600, -3600, 20])
async def test_validity_is_counted_by_the_hubs_clock(
    other_clock: HubWithItsOwnClock, worker: ArrangedApi, seconds: int
) -> None:
    other_clock.ahead = timedelta(seconds=seconds)
    worker.add(gpu_node())

    async with agent(worker, other_clock):
        at_first = left(other_clock, other_clock.now())
        await advance(3600)
        later = left(other_clock, other_clock.now())

    assert at_first == 300
    assert later >= 90
    assert other_clock.writes.count(WRITE) <= 22


async def test_a_clock_that_is_set_right_meanwhile_is_noticed(
    other_clock: HubWithItsOwnClock, worker: ArrangedApi
) -> None:
    other_clock.ahead = timedelta(hours=-1)
    worker.add(gpu_node())
    async with agent(worker, other_clock):
        await advance(10)

        other_clock.ahead = timedelta()
        await advance(3600)

        assert 90 <= left(other_clock, other_clock.now()) <= 305


async def test_a_small_difference_is_left_alone(other_clock: HubWithItsOwnClock, worker: ArrangedApi) -> None:
    other_clock.ahead = timedelta(seconds=3)

    async with agent(worker, other_clock):
        pass

    assert other_clock.writes == [f"create {SCORE}", WRITE]


def test_a_validity_that_the_hub_would_find_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be 180\.0 s or more"):
        ScoreAgentSettings(validity=120)
