"""AdmissionChecks of every kind on real Kueue: shared, missing, wrong, foreign, too many, and deleted."""

import asyncio

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Secret, secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CLUSTER_UID
from fleetqueue.client.kubeconfig import render
from fleetqueue.runtime.cluster import OURS

ALL = ("cluster1", "cluster2", "cluster3")


async def gone(env, kind, name):
    return await env.get(kind, name) is None


@pytest.mark.checklist("S2-13")
async def test_two_checks_on_one_placement_share_the_config_until_the_last_is_deleted(env):
    second = env.checks()[1]
    second["metadata"]["name"] = f"{env.name}-second"
    await env.hub.create(kueue.AdmissionCheck.resource, second)
    async with env.heart():
        await env.lists(*ALL)
        await env.hub.delete(kueue.AdmissionCheck.resource, f"{env.name}-second")
        await env.eventually(lambda: gone(env, kueue.AdmissionCheck, f"{env.name}-second"), "the second check is gone")
        await env.submit("job", run_for="1s")

        await env.finished("job")
        await env.lists(*ALL)


@pytest.mark.checklist("S2-12", "D-1")
async def test_a_deleted_check_takes_its_config_and_members_with_it(env):
    async with env.heart():
        await env.lists(*ALL)
        await env.hub.delete(kueue.ClusterQueue.resource, env.name)
        await env.hub.delete(kueue.AdmissionCheck.resource, env.name)

        await env.eventually(lambda: gone(env, kueue.AdmissionCheck, env.name), "the check is gone")
        await env.eventually(lambda: gone(env, kueue.MultiKueueConfig, env.name), "the config is gone")
        for name in ALL:
            assert await gone(env, kueue.MultiKueueCluster, f"{env.name}-{name}")


@pytest.mark.checklist("S2-12")
async def test_a_check_deleted_under_a_running_job_waits_for_it(env):
    async with env.heart():
        await env.submit("job", run_for="8s")
        first = await env.running_on("job")

        await env.hub.delete(kueue.AdmissionCheck.resource, env.name)
        await env.lists(first)
        await env.finished("job")

        await env.eventually(lambda: gone(env, kueue.MultiKueueConfig, env.name), "the config is gone")
        assert env.witness.most[f"{env.name}/job"] == 1


@pytest.mark.checklist("S2-7")
async def test_a_check_made_before_its_placement_says_so_and_then_works(env):
    await env.hub.delete(cluster.Placement.resource, env.name, "kueue-system")
    async with env.heart():
        missing = await env.says("Active", "False", "PlacementNotFound")
        await env.hub.create(cluster.Placement.resource, env.placement())
        await env.says("Active", "True", "Active")
        await env.submit("job", run_for="1s")

        await env.finished("job")
        assert missing.message == f"Placement {env.name} not found in namespace kueue-system"


async def test_a_placement_that_goes_away_does_not_take_running_work_with_it(env):
    async with env.heart():
        await env.submit("job", run_for="8s")
        first = await env.running_on("job")

        await env.hub.delete(cluster.Placement.resource, env.name, "kueue-system")
        condition = await env.says("Active", "False", "PlacementNotFound")
        await env.lists(first)
        await env.finished("job")

        assert condition.message.startswith(f"Placement {env.name} not found")


async def test_a_check_without_parameters_says_what_is_wrong(env):
    manifest = kueue.AdmissionCheck.manifest(
        f"{env.name}-bad", spec={"controllerName": "open-cluster-management.io/placement"}
    )
    await env.hub.create(kueue.AdmissionCheck.resource, manifest)
    async with env.heart():

        async def refused():
            check = await env.get(kueue.AdmissionCheck, f"{env.name}-bad")
            return [c for c in check.status.conditions if c.reason == "InvalidParameters"]

        (condition,) = await env.eventually(refused, "the check is refused")

        assert condition.status == "False"
        assert "must name a Placement" in condition.message
    await env.hub.delete(kueue.AdmissionCheck.resource, f"{env.name}-bad")


@pytest.mark.checklist("S1-6")
async def test_a_users_own_cluster_and_config_are_never_touched(env):
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}}
    taken = f"{env.name}-cluster1"  # the very name that we would use
    own = await env.hub.create(
        kueue.MultiKueueCluster.resource, kueue.MultiKueueCluster.manifest(taken, spec={"clusterSource": source})
    )
    async with env.heart():
        await env.lists("cluster2", "cluster3")
        condition = await env.says("Active", "True")
        await env.select("cluster1")
        await env.says("Active", "False", "NoClustersAvailable")

        after = await env.hub.get(kueue.MultiKueueCluster.resource, taken)
        assert f"MultiKueueCluster {taken} was not made by fleetqueue" in condition.message
        assert after["metadata"]["generation"] == own["metadata"]["generation"]
        assert after["metadata"]["uid"] == own["metadata"]["uid"]


@pytest.mark.checklist("S1-6")
async def test_a_users_own_config_of_that_name_is_left_alone(env):
    manifest = kueue.MultiKueueConfig.manifest(env.name, spec={"clusters": ["somebody-elses"]})
    own = await env.hub.create(kueue.MultiKueueConfig.resource, manifest)
    async with env.heart():
        condition = await env.says("Active", "False", "MultiKueueConfigNotOurs")

        after = await env.hub.get(kueue.MultiKueueConfig.resource, env.name)
        assert after["metadata"]["resourceVersion"] == own["metadata"]["resourceVersion"]
        assert "was not made by fleetqueue" in condition.message


async def test_of_25_selected_clusters_the_best_20_are_listed_and_jobs_run(env):
    extra = [f"{env.name}-far{number:02}" for number in range(22)]
    for name in extra:
        await env.hub.create(Namespace.resource, Namespace.manifest(name))
        labels = {cluster.CLUSTER_SET_LABEL: "fleet", env.label: "yes"}
        manifest = cluster.ManagedCluster.manifest(name, labels=labels, spec={"hubAcceptsClient": True})
        await env.hub.create(cluster.ManagedCluster.resource, manifest)
        nowhere = render(name, server="https://127.0.0.1:1", ca=b"", token="none", user="nobody")
        await env.hub.create(
            Secret.resource,
            secret(
                f"kueue-admin-{name}-kubeconfig",
                "kueue-system",
                {"kubeconfig": nowhere},
                labels={**OURS, CLUSTER_LABEL: name},
                annotations={CLUSTER_UID: name},
            ),
        )
    async with env.heart():

        async def full():
            config = await env.config()
            return config is not None and len(config.spec.clusters) == 20

        await env.eventually(full, "20 clusters are listed")
        condition = await env.says("Active", "True")
        await env.submit("job", run_for="1s")

        await env.finished("job")
        assert condition.message.count("beyond the limit of 20") == 5
    for name in extra:
        await env.hub.delete(cluster.ManagedCluster.resource, name)
        await env.hub.delete(Namespace.resource, name)
        await env.hub.delete(Secret.resource, f"kueue-admin-{name}-kubeconfig", "kueue-system")


async def test_a_secret_that_changes_is_used_at_once(env):
    name = "kueue-admin-cluster1-kubeconfig"
    raw = await env.hub.get(Secret.resource, name, "kueue-system")
    good = raw["data"]
    async with env.heart(drain_poll=1.0):
        await env.select("cluster1")
        await env.lists("cluster1")
        await env.connected("cluster1")
        broken = secret(name, "kueue-system", {"kubeconfig": "nonsense"})["data"]
        await env.hub.merge(Secret.resource, name, "kueue-system", {"data": broken})

        async def disconnected():
            member = await env.get(kueue.MultiKueueCluster, f"{env.name}-cluster1")
            return not member.is_connected

        await env.eventually(disconnected, "Kueue sees the broken kubeconfig")
        await env.submit("job", run_for="1s")
        await asyncio.sleep(1)
        assert not env.witness.live(f"{env.name}/job")
        await env.hub.merge(Secret.resource, name, "kueue-system", {"data": good})

        await env.finished("job")
