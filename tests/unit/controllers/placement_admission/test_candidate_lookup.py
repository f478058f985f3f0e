"""Which scores order the clusters of a job."""

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.conditions import timestamp
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"


async def nominated(env):
    await env.connected()
    env.workload()
    await settle()
    return env.nominated()


def serve_scores(env):
    """Let PlacementDecisions have scores, as OCM's API has them since v1.3.0; an older schema drops them."""
    name = "placementdecisions.cluster.open-cluster-management.io"
    versions = env.api.raw(CustomResourceDefinition, name)["spec"]["versions"]
    for version in versions:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        status["properties"]["decisions"]["items"]["properties"]["score"] = {"type": "integer", "format": "int32"}
    env.api.change(CustomResourceDefinition, name, spec={"versions": versions})


def decide(env, **scores):
    decisions = [{"clusterName": name, "reason": "", "score": score} for name, score in scores.items()]
    env.api.change(cluster.PlacementDecision, "gpu-decision-1", KUEUE, status={"decisions": decisions})


@pytest.mark.embedded_only("the kinds of a real server are those of all tests")
async def test_the_scores_of_the_decision_go_before_recomputed_ones(env):
    serve_scores(env)
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    env.score("c1", 90)
    env.check()
    decide(env, c1=1, c2=2)

    async with env.beating():
        assert await nominated(env) == ["gpu-c2"]


async def test_a_score_that_has_expired_counts_nothing(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    env.score("c1", 90)
    env.score("c2", 10)
    env.check()
    until = timestamp(clock.now())
    env.api.change(cluster.AddOnPlacementScore, "resource-usage-score", "c1", status={"validUntil": until})

    async with env.beating():
        await advance(2)

        assert await nominated(env) == ["gpu-c2"]


async def test_what_clusters_have_to_allocate_orders_them_where_the_placement_says_so(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    configurations = [{"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": 1}]
    policy = {"mode": "Exact", "configurations": configurations}
    env.api.change(cluster.Placement, "gpu", KUEUE, spec={"prioritizerPolicy": policy})
    for name, cores in (("c1", "4"), ("c2", "8")):
        amounts = {"cpu": cores}
        env.api.change(cluster.ManagedCluster, name, status={"allocatable": amounts, "capacity": amounts})
    env.check()

    async with env.beating():
        assert await nominated(env) == ["gpu-c2"]
