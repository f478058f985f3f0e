"""Clusters whose agent is silent have the lowest scores; living agents are never disturbed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import FRESH, GPU, SCORE_RESOURCE
from fleetqueue.client import Client
from fleetqueue.controllers.usage_scores.agent import ScoreAgent
from fleetqueue.controllers.usage_scores.settings import SilenceSettings
from fleetqueue.controllers.usage_scores.silent_agents import ScoreAction, SilentAgents, cluster_of_score, decide
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.virtual_time import START, advance, settle
from tests.invariants.second_look import managed, scoring

SCORE = f"addonplacementscores/cluster1/{SCORE_RESOURCE}"
WRITE = f"patch {SCORE}/status"
SETTINGS = SilenceSettings()
NOW = START + timedelta(hours=1)
DAY = 86400
Agent = Callable[[], AbstractAsyncContextManager[None]]


def cluster(*, accepted: bool = True, deleting: bool = False) -> Manifest:
    manifest = ManagedCluster.manifest("cluster1", spec={"hubAcceptsClient": accepted})
    if deleting:
        manifest["metadata"] |= {"deletionTimestamp": timestamp(START), "finalizers": ["a/b"]}
    return manifest


def score(
    *,
    left: float | None = 300,
    now: datetime = NOW,
    value: int = -70,
    fresh: bool | None = True,
    ours: bool = True,
    deleting: bool = False,
) -> Manifest:
    """Build scores that are valid for so many seconds from `now` on."""
    status: Manifest = {"scores": [{"name": "gpuClusterAvailable", "value": value}]}
    if left is not None:
        status["validUntil"] = timestamp(now + timedelta(seconds=left))
    if fresh is not None:
        details = {
            "reason": "Published" if fresh else "AgentSilent",
            "message": "m",
            "lastTransitionTime": timestamp(START),
        }
        status["conditions"] = [{"type": FRESH, "status": str(fresh), **details}]
    manifest = AddOnPlacementScore.manifest(SCORE_RESOURCE, "cluster1", labels=OURS if ours else None, status=status)
    if deleting:
        manifest["metadata"] |= {"deletionTimestamp": timestamp(START), "finalizers": ["a/b"]}
    return manifest


def empty() -> Manifest:
    """Build what an agent, or the hub, has just created."""
    return AddOnPlacementScore.manifest(SCORE_RESOURCE, "cluster1", labels=OURS)


@pytest.mark.parametrize(
    ("known", "score_manifest", "act", "again"),
    [
        pytest.param(cluster(), None, ScoreAction.CREATE, None, id="never scored"),
        pytest.param(cluster(), empty(), ScoreAction.LOWER, None, id="created, and nothing said yet"),
        pytest.param(cluster(), score(left=None), ScoreAction.LOWER, None, id="scores that would never expire"),
        pytest.param(cluster(), score(left=300), ScoreAction.LEAVE, 270, id="just renewed"),
        pytest.param(cluster(), score(left=31), ScoreAction.LEAVE, 1, id="nearly over"),
        pytest.param(cluster(), score(left=30), ScoreAction.LOWER, None, id="all but over"),
        pytest.param(cluster(), score(left=-60), ScoreAction.LOWER, None, id="over"),
        pytest.param(cluster(), score(left=DAY, fresh=False), ScoreAction.LEAVE, DAY / 2, id="already lowest"),
        pytest.param(cluster(), score(left=DAY / 2, fresh=False), ScoreAction.LOWER, None, id="lowest, to be renewed"),
        pytest.param(cluster(), score(left=-60, ours=False), ScoreAction.LEAVE, None, id="another add-on's, expired"),
        pytest.param(cluster(), score(left=-60, deleting=True), ScoreAction.LEAVE, None, id="on its way out"),
        pytest.param(cluster(accepted=False), None, ScoreAction.LEAVE, None, id="a cluster that is not accepted"),
        pytest.param(cluster(deleting=True), None, ScoreAction.LEAVE, None, id="a cluster on its way out"),
        pytest.param(cluster(deleting=True), score(left=-60), ScoreAction.LEAVE, None, id="and its expired scores"),
        pytest.param(None, None, ScoreAction.LEAVE, None, id="nothing at all"),
        pytest.param(None, score(left=100), ScoreAction.LEAVE, 100, id="the cluster is gone, its agent lives"),
        pytest.param(None, score(left=0), ScoreAction.REMOVE, None, id="the cluster is gone, and its agent"),
        pytest.param(
            None, score(left=DAY, fresh=False), ScoreAction.REMOVE, None, id="the cluster is gone, lowest scores left"
        ),
        pytest.param(
            None, score(left=-60, ours=False), ScoreAction.LEAVE, None, id="the cluster is gone, scores not ours"
        ),
    ],
)
def test_decide(known: Manifest | None, score_manifest: Manifest | None, act: ScoreAction, again: float | None) -> None:
    verdict = decide(
        ManagedCluster.view(known) if known else None,
        AddOnPlacementScore.view(score_manifest) if score_manifest else None,
        NOW,
        SETTINGS,
    )

    assert verdict.act is act
    assert verdict.again == (None if again is None else NOW + timedelta(seconds=again))


def test_clusters_without_scores_may_be_left_alone() -> None:
    settings = SilenceSettings(score_unknown_clusters=False)

    assert decide(ManagedCluster.view(cluster()), None, NOW, settings).act is ScoreAction.LEAVE


@asynccontextmanager
async def hub_half(api: ArrangedApi) -> AsyncIterator[Metrics]:
    metrics = Metrics()
    hub = Cluster("hub", Client(api))
    async with managed(Manager(hub, [SilentAgents(hub, metrics)])):
        await settle()
        yield metrics


@pytest.fixture
def agent(api: ArrangedApi, new_api: Callable[[], ArrangedApi]) -> Agent:
    """Let the agent of a worker with 3 GPUs run: `async with agent():`."""

    @asynccontextmanager
    async def run() -> AsyncIterator[None]:
        worker = new_api()
        worker.add(Node.manifest("n1", status={"allocatable": {GPU: "3"}}))
        measuring = ScoreAgent(Cluster("cluster1", Client(worker)), Cluster("hub", Client(api)), Metrics())
        async with scoring(measuring):
            await settle()
            yield

    return run


def published(api: ArrangedApi) -> AddOnPlacementScore:
    score = api.get(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
    assert score is not None
    return score


def as_ocm_counts(api: ArrangedApi) -> int:
    """Return the score as OCM's placement counts it: 0 where it is missing or expired."""
    score = api.get(AddOnPlacementScore, SCORE_RESOURCE, "cluster1")
    if score is None or (score.status.valid_until and clock.now() > score.status.valid_until):
        return 0
    return score.value("gpuClusterAvailable") or 0


def silent_count(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("fleetqueue_silent_score_agents")


def event_reasons(api: ArrangedApi) -> list[str]:
    return sorted(api.raw(Event, event.name, event.namespace)["reason"] for event in api.list(Event))


async def test_a_new_cluster_has_the_lowest_scores_until_its_agent_speaks(api: ArrangedApi, agent: Agent) -> None:
    async with hub_half(api) as metrics:
        api.add(cluster())
        await settle()

        score = published(api)
        assert {item.value for item in score.status.scores} == {-100}
        assert len(score.status.scores) == 10
        condition = conditions.find(score.status.conditions, FRESH)
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "NeverScored")
        assert silent_count(metrics) == 1

        async with agent():
            assert as_ocm_counts(api) == -70
            assert silent_count(metrics) == 0


@pytest.mark.checklist("S3-8")
async def test_the_scores_of_a_silent_agent_never_count_as_0(api: ArrangedApi, agent: Agent) -> None:
    api.add(cluster())
    async with hub_half(api):
        async with agent():
            await advance(1000)
            assert as_ocm_counts(api) == -70

        counted = []
        for _ in range(2000):
            await advance(60)
            counted.append(as_ocm_counts(api))

        assert set(counted) == {-70, -100}
        assert counted == sorted(counted, reverse=True)
        assert counted.index(-100) <= 5


async def test_a_silent_agent_is_told_of(api: ArrangedApi, agent: Agent) -> None:
    api.add(cluster())
    async with hub_half(api) as metrics:
        async with agent():
            await advance(10)
        until = published(api).status.valid_until
        await advance(3600)

        condition = conditions.find(published(api).status.conditions, FRESH)
        assert condition is not None
        assert until is not None
        assert condition.reason == "AgentSilent"
        assert timestamp(until) in condition.message
        assert silent_count(metrics) == 1
        assert event_reasons(api) == ["AgentHeard", "AgentSilent"]


async def test_a_long_silence_is_told_of_once(api: ArrangedApi, agent: Agent) -> None:
    api.add(cluster())
    async with hub_half(api):
        async with agent():
            await advance(10)
        await advance(3600)
        condition = conditions.find(published(api).status.conditions, FRESH)

        await advance(3 * DAY)

        assert conditions.find(published(api).status.conditions, FRESH) == condition
        assert event_reasons(api) == ["AgentHeard", "AgentSilent"]


async def test_an_agent_that_comes_back_is_heard_at_once(api: ArrangedApi, agent: Agent) -> None:
    api.add(cluster())
    async with hub_half(api) as metrics:
        async with agent():
            await advance(10)
        await advance(3600)

        async with agent():
            await settle()

            assert as_ocm_counts(api) == -70
            assert conditions.is_true(published(api).status.conditions, FRESH)
            assert silent_count(metrics) == 0


async def test_a_living_agent_is_not_disturbed(api: ArrangedApi, agent: Agent) -> None:
    api.add(cluster())
    async with hub_half(api), agent():
        await advance(60)
        api.writes.clear()

        for _ in range(120):
            await advance(60)
            assert as_ocm_counts(api) == -70

    assert set(api.writes) == {WRITE}
    assert len(api.writes) <= 40


async def test_a_write_of_the_agent_in_between_wins(
    api: ArrangedApi, hub: Cluster, follow: Callable[..., Awaitable[None]]
) -> None:
    api.add(cluster(), score(left=300, now=clock.now() + timedelta(hours=1)))
    controller = SilentAgents(hub, Metrics())
    await follow(controller)
    await advance(3900)
    renewed = timestamp(clock.now() + timedelta(minutes=5))

    api.change(AddOnPlacementScore, SCORE_RESOURCE, "cluster1", status={"validUntil": renewed})
    with pytest.raises(errors.Conflict):
        await controller.reconcile("cluster1")

    assert as_ocm_counts(api) == -70


async def test_the_second_look_writes_nothing(api: ArrangedApi) -> None:
    api.add(cluster())
    async with hub_half(api):
        assert api.writes == [f"create {SCORE}", WRITE]

        api.change(ManagedCluster, "cluster1", metadata={"labels": {"a": "b"}})
        await advance(3600)

        assert api.writes == [f"create {SCORE}", WRITE]


async def test_a_status_that_could_not_be_written_is_tried_again(api: ArrangedApi) -> None:
    api.add(cluster())
    api.fail_on(WRITE, errors.ServerError("boom"), times=3)

    async with hub_half(api):
        await advance(5)

    assert as_ocm_counts(api) == -100


async def test_the_scores_of_another_add_on_are_left_alone(api: ArrangedApi) -> None:
    api.add(cluster(), score(left=-3600, now=clock.now() + timedelta(hours=1), ours=False))

    async with hub_half(api):
        await advance(DAY)

    assert api.writes == []


async def test_the_lowest_scores_go_with_their_cluster(api: ArrangedApi) -> None:
    api.add(cluster())
    async with hub_half(api) as metrics:
        api.remove(ManagedCluster, "cluster1")
        await settle()

        assert api.get(AddOnPlacementScore, SCORE_RESOURCE, "cluster1") is None
        assert silent_count(metrics) == 0


def test_scores_of_other_names_wake_nobody() -> None:
    other = AddOnPlacementScore.view(AddOnPlacementScore.manifest("other", "cluster1", labels=OURS))

    assert list(cluster_of_score(other)) == []
    assert list(cluster_of_score(AddOnPlacementScore.view(score()))) == ["cluster1"]


async def test_a_machine_that_slept_is_not_late_for_long(
    api: ArrangedApi, hub: Cluster, follow: Callable[..., Awaitable[None]]
) -> None:
    api.add(cluster(), score(left=DAY, now=clock.now() + timedelta(hours=1), fresh=False))
    controller = SilentAgents(hub, Metrics())
    await follow(controller)

    with pytest.raises(errors.RetryLater) as later:
        await controller.reconcile("cluster1")

    assert later.value.after == SETTINGS.look_interval
