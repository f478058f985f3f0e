"""Scores and their age, and whether agents can keep what they promise."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.checkups import scores
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects
from fleetqueue.admin.checkups.system_parts import AgentLease
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import micro_timestamp, timestamp
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.running_kueue import RunningKueue
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.testing.builders import condition

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def managed(name: str = "c1", available: str = "True") -> cluster.ManagedCluster:
    conditions = [condition(cluster.AVAILABLE, available)]
    return cluster.ManagedCluster.view(cluster.ManagedCluster.manifest(name, status={"conditions": conditions}))


def score(*, left: float, fresh: str = "True", name: str = SCORE_RESOURCE, of: str = "c1"):
    status = {
        "validUntil": timestamp(NOW + timedelta(seconds=left)),
        "conditions": [condition(FRESH, fresh)],
    }
    return cluster.AddOnPlacementScore.view(cluster.AddOnPlacementScore.manifest(name, of, status=status))


@pytest.mark.parametrize(
    ("one", "codes"),
    [
        pytest.param(score(left=60), [], id="measured"),
        pytest.param(score(left=60, fresh="False"), ["ScoreAgentSilent"], id="lowered"),
        pytest.param(score(left=-60), ["ScoreExpired"], id="expired"),
        pytest.param(score(left=-60, fresh="False"), ["ScoreExpired"], id="lowered, and expired"),
        pytest.param(score(left=-60, name="other"), [], id="not ours"),
        pytest.param(score(left=-60, of="gone"), [], id="of a cluster that is gone"),
    ],
)
def test_scores_are_judged(one, codes):
    objects = SeenObjects({cluster.ManagedCluster: [managed()], cluster.AddOnPlacementScore: [one]})

    assert [finding.code for finding in scores.silent_agents(FleetSurvey(NOW, objects))] == codes


def lease(duration: int = 600, age: float = 30.0, of: str = "c1") -> AgentLease:
    written = NOW - timedelta(seconds=age)
    spec = {"holderIdentity": "a", "leaseDurationSeconds": duration, "renewTime": micro_timestamp(written)}
    manifest = AgentLease.manifest("fleetqueue-fence", of, spec=spec)
    manifest["metadata"]["managedFields"] = [{"manager": "a", "time": timestamp(written)}]
    return AgentLease.view(AgentLease.trim(manifest))


@pytest.mark.parametrize(
    ("one", "timeout", "available", "codes"),
    [
        pytest.param(lease(), 900.0, "True", [], id="Kueue's default waits longer"),
        pytest.param(lease(), 700.0, "True", ["FenceTooLong"], id="Kueue gives up before"),
        pytest.param(lease(60), 153.0, "True", [], id="just in time"),
        pytest.param(lease(60), 152.9, "True", ["FenceTooLong"], id="just not"),
        pytest.param(lease(age=601), 900.0, "True", ["FenceSilent"], id="not renewed"),
        pytest.param(lease(age=601), 900.0, "Unknown", [], id="the whole cluster is lost"),
        pytest.param(lease(age=601, of="gone"), 60.0, "True", [], id="of a cluster that is gone"),
    ],
)
def test_a_fence_is_compared_with_what_kueue_waits(one, timeout, available, codes):
    objects = SeenObjects({cluster.ManagedCluster: [managed(available=available)], AgentLease: [one]})
    running = Configuration(worker_lost_timeout=timeout)
    fleet = FleetSurvey(NOW, objects, kueue=RunningKueue(running, (running,)), config_map="kueue-system/c")

    assert [finding.code for finding in scores.fences(fleet)] == codes
