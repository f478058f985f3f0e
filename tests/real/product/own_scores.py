"""Scores by which alone the Placement of a test orders the clusters."""

from fleetqueue.api.cluster_v1 import AddOnPlacementScore, Placement


async def set_score(env, name, value):
    manifest = AddOnPlacementScore.manifest(f"{env.name}-score", name)
    await env.world.ensure(env.hub, manifest, AddOnPlacementScore)
    status = {"status": {"scores": [{"name": "gpuClusterAvailable", "value": value}]}}
    await env.hub.merge(AddOnPlacementScore.resource, f"{env.name}-score", name, status, subresource="status")


async def prefer_scores(env):
    add_on = {"resourceName": f"{env.name}-score", "scoreName": "gpuClusterAvailable"}
    policy = {
        "mode": "Exact",
        "configurations": [{"scoreCoordinate": {"type": "AddOn", "addOn": add_on}, "weight": 1}],
    }
    patch = {"spec": {"prioritizerPolicy": policy}}
    await env.hub.merge(Placement.resource, env.name, "kueue-system", patch)
