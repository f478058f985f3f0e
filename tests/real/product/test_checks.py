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


async def gone(stage, kind, name):
    return await stage.get(kind, name) is None


@pytest.mark.checklist("S2-13")
async def test_two_checks_on_one_placement_share_the_config_until_the_last_is_deleted(stage):
    second = stage.checks()[1]
    second["metadata"]["name"] = f"{stage.name}-second"
    await stage.hub.create(kueue.AdmissionCheck.resource, second)
    async with stage.heart():
        await stage.lists(*ALL)
        await stage.hub.delete(kueue.AdmissionCheck.resource, f"{stage.name}-second")
        await stage.eventually(
            lambda: gone(stage, kueue.AdmissionCheck, f"{stage.name}-second"), "the second check is gone"
        )
        await stage.submit("job", run_for="1s")

        await stage.finished("job")
        await stage.lists(*ALL)


@pytest.mark.checklist("S2-12", "D-1")
async def test_a_deleted_check_takes_its_config_and_members_with_it(stage):
    async with stage.heart():
        await stage.lists(*ALL)
        await stage.hub.delete(kueue.ClusterQueue.resource, stage.name)
        await stage.hub.delete(kueue.AdmissionCheck.resource, stage.name)

        await stage.eventually(lambda: gone(stage, kueue.AdmissionCheck, stage.name), "the check is gone")
        await stage.eventually(lambda: gone(stage, kueue.MultiKueueConfig, stage.name), "the config is gone")
        for name in ALL:
            assert await gone(stage, kueue.MultiKueueCluster, f"{stage.name}-{name}")


@pytest.mark.checklist("S2-12")
async def test_a_check_deleted_under_a_running_job_waits_for_it(stage):
    async with stage.heart():
        await stage.submit("job", run_for="8s")
        first = await stage.running_on("job")

        await stage.hub.delete(kueue.AdmissionCheck.resource, stage.name)
        await stage.lists(first)
        await stage.finished("job")

        await stage.eventually(lambda: gone(stage, kueue.MultiKueueConfig, stage.name), "the config is gone")
        assert stage.witness.most[f"{stage.name}/job"] == 1


@pytest.mark.checklist("S2-7")
async def test_a_check_made_before_its_placement_says_so_and_then_works(stage):
    await stage.hub.delete(cluster.Placement.resource, stage.name, "kueue-system")
    async with stage.heart():
        missing = await stage.says("Active", "False", "PlacementNotFound")
        await stage.hub.create(cluster.Placement.resource, stage.placement())
        await stage.says("Active", "True", "Active")
        await stage.submit("job", run_for="1s")

        await stage.finished("job")
        assert missing.message == f"Placement {stage.name} not found in namespace kueue-system"


async def test_a_placement_that_goes_away_does_not_take_running_work_with_it(stage):
    async with stage.heart():
        await stage.submit("job", run_for="8s")
        first = await stage.running_on("job")

        await stage.hub.delete(cluster.Placement.resource, stage.name, "kueue-system")
        condition = await stage.says("Active", "False", "PlacementNotFound")
        await stage.lists(first)
        await stage.finished("job")

        assert condition.message.startswith(f"Placement {stage.name} not found")


async def test_a_check_without_parameters_says_what_is_wrong(stage):
    manifest = kueue.AdmissionCheck.manifest(
        f"{stage.name}-bad", spec={"controllerName": "open-cluster-management.io/placement"}
    )
    await stage.hub.create(kueue.AdmissionCheck.resource, manifest)
    async with stage.heart():

        async def refused():
            check = await stage.get(kueue.AdmissionCheck, f"{stage.name}-bad")
            return [c for c in check.status.conditions if c.reason == "InvalidParameters"]

        (condition,) = await stage.eventually(refused, "the check is refused")

        assert condition.status == "False"
        assert "must name a Placement" in condition.message
    await stage.hub.delete(kueue.AdmissionCheck.resource, f"{stage.name}-bad")


@pytest.mark.checklist("S1-6")
async def test_a_users_own_cluster_and_config_are_never_touched(stage):
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-cluster1-kubeconfig"}}
    taken = f"{stage.name}-cluster1"  # the very name that we would use
    own = await stage.hub.create(
        kueue.MultiKueueCluster.resource, kueue.MultiKueueCluster.manifest(taken, spec={"clusterSource": source})
    )
    async with stage.heart():
        await stage.lists("cluster2", "cluster3")
        condition = await stage.says("Active", "True")
        await stage.select("cluster1")
        await stage.says("Active", "False", "NoClustersAvailable")

        after = await stage.hub.get(kueue.MultiKueueCluster.resource, taken)
        assert f"MultiKueueCluster {taken} was not made by fleetqueue" in condition.message
        assert after["metadata"]["generation"] == own["metadata"]["generation"]
        assert after["metadata"]["uid"] == own["metadata"]["uid"]


@pytest.mark.checklist("S1-6")
async def test_a_users_own_config_of_that_name_is_left_alone(stage):
    manifest = kueue.MultiKueueConfig.manifest(stage.name, spec={"clusters": ["somebody-elses"]})
    own = await stage.hub.create(kueue.MultiKueueConfig.resource, manifest)
    async with stage.heart():
        condition = await stage.says("Active", "False", "MultiKueueConfigNotOurs")

        after = await stage.hub.get(kueue.MultiKueueConfig.resource, stage.name)
        assert after["metadata"]["resourceVersion"] == own["metadata"]["resourceVersion"]
        assert "was not made by fleetqueue" in condition.message


async def test_of_25_selected_clusters_the_best_20_are_listed_and_jobs_run(stage):
    extra = [f"{stage.name}-far{number:02}" for number in range(22)]
    for name in extra:
        await stage.hub.create(Namespace.resource, Namespace.manifest(name))
        labels = {cluster.CLUSTER_SET_LABEL: "fleet", stage.label: "yes"}
        manifest = cluster.ManagedCluster.manifest(name, labels=labels, spec={"hubAcceptsClient": True})
        await stage.hub.create(cluster.ManagedCluster.resource, manifest)
        nowhere = render(name, server="https://127.0.0.1:1", ca=b"", token="none", user="nobody")
        await stage.hub.create(
            Secret.resource,
            secret(
                f"kueue-admin-{name}-kubeconfig",
                "kueue-system",
                {"kubeconfig": nowhere},
                labels={**OURS, CLUSTER_LABEL: name},
                annotations={CLUSTER_UID: name},
            ),
        )
    async with stage.heart():

        async def full():
            config = await stage.config()
            return config is not None and len(config.spec.clusters) == 20

        await stage.eventually(full, "20 clusters are listed")
        condition = await stage.says("Active", "True")
        await stage.submit("job", run_for="1s")

        await stage.finished("job")
        assert condition.message.count("beyond the limit of 20") == 5
    for name in extra:
        await stage.hub.delete(cluster.ManagedCluster.resource, name)
        await stage.hub.delete(Namespace.resource, name)
        await stage.hub.delete(Secret.resource, f"kueue-admin-{name}-kubeconfig", "kueue-system")


async def test_a_secret_that_changes_is_used_at_once(stage):
    name = "kueue-admin-cluster1-kubeconfig"
    raw = await stage.hub.get(Secret.resource, name, "kueue-system")
    good = raw["data"]
    async with stage.heart(drain_poll=1.0):
        await stage.select("cluster1")
        await stage.lists("cluster1")
        await stage.connected("cluster1")
        broken = secret(name, "kueue-system", {"kubeconfig": "nonsense"})["data"]
        await stage.hub.merge(Secret.resource, name, "kueue-system", {"data": broken})

        async def disconnected():
            member = await stage.get(kueue.MultiKueueCluster, f"{stage.name}-cluster1")
            return not member.is_connected

        await stage.eventually(disconnected, "Kueue sees the broken kubeconfig")
        await stage.submit("job", run_for="1s")
        await asyncio.sleep(1)
        assert not stage.witness.live(f"{stage.name}/job")
        await stage.hub.merge(Secret.resource, name, "kueue-system", {"data": good})

        await stage.finished("job")
