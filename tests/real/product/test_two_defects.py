"""The two defects of the published system, without us and with us, by the same steps."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp

LONG_ENOUGH = 6.0
"""Seconds; with us the same job is dispatched within two."""


async def publish(stage, *names):
    """Do what the published controller does: write the members and the config, and say Active."""
    for name in names:
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        member = kueue.MultiKueueCluster.manifest(f"{stage.name}-{name}", spec={"clusterSource": source})
        await stage.world.ensure(stage.hub, member, kueue.MultiKueueCluster)
    members = [f"{stage.name}-{name}" for name in names]
    if await stage.config() is None:
        manifest = kueue.MultiKueueConfig.manifest(stage.name, spec={"clusters": members})
        await stage.hub.create(kueue.MultiKueueConfig.resource, manifest)
    else:
        await stage.hub.merge(kueue.MultiKueueConfig.resource, stage.name, "", {"spec": {"clusters": members}})
    condition = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "MultiKueueConfig and MultiKueueCluster generated",
        "lastTransitionTime": timestamp(clock.now()),
    }
    await stage.hub.merge(
        kueue.AdmissionCheck.resource, stage.name, "", {"status": {"conditions": [condition]}}, subresource="status"
    )
    await stage.connected(*names)


@pytest.mark.checklist("K-1")
async def test_without_us_a_job_hangs(stage):
    await stage.world.set_dispatcher(None)
    await publish(stage, "cluster1", "cluster2")

    await stage.submit("job")
    await asyncio.sleep(LONG_ENOUGH)  # the absence of an event has no event to wait for

    workload = await stage.workload("job")
    assert workload.has_quota
    assert {state.name: state.state for state in workload.status.admission_checks}[stage.name] == kueue.PENDING
    assert workload.status.nominated_cluster_names == ()
    assert stage.witness.live(f"{stage.name}/job") == set()


@pytest.mark.checklist("K-1")
async def test_with_us_the_job_runs(stage):
    async with stage.heart():
        await stage.submit("job")

        assert await stage.running_on("job") in ("cluster1", "cluster2", "cluster3")


async def test_without_us_a_moved_placement_runs_a_job_twice(stage):
    stage.may_run_twice = True
    await stage.world.set_dispatcher(None)
    await publish(stage, "cluster1", "cluster2")
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": f"{stage.name}-mk"}]}}
    await stage.hub.merge(kueue.ClusterQueue.resource, stage.name, "", {"spec": spec})  # past the first defect
    await stage.submit("job")
    first = await stage.running_on("job")

    await publish(stage, *({"cluster1", "cluster2"} - {first}))
    for _ in range(150):
        await asyncio.sleep(0.1)
        if stage.witness.doubles:
            break

    assert stage.witness.most[f"{stage.name}/job"] == 2


async def test_with_us_a_moved_placement_runs_it_once(stage):
    async with stage.heart():
        await stage.submit("job")
        first = await stage.running_on("job")
        others = {"cluster1", "cluster2", "cluster3"} - {first}

        await stage.select(*others)
        condition = await stage.says("Draining", "True")
        await stage.submit("next", run_for="1s")
        await stage.finished("next")

        assert f"{stage.name}-{first} (1 workload)" in condition.message or "just dropped" in condition.message
        assert stage.witness.live(f"{stage.name}/job") == {first}
        assert stage.witness.most[f"{stage.name}/job"] == 1
