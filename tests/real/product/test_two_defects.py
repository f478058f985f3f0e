"""The two defects of the published system, without us and with us, by the same steps."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp

LONG_ENOUGH = 6.0
"""Seconds; with us the same job is dispatched within two."""


async def publish(env, *names):
    """Do what the published controller does: write the members and the config, and say Active."""
    for name in names:
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        member = kueue.MultiKueueCluster.manifest(f"{env.name}-{name}", spec={"clusterSource": source})
        await env.world.ensure(env.hub, member, kueue.MultiKueueCluster)
    members = [f"{env.name}-{name}" for name in names]
    if await env.config() is None:
        manifest = kueue.MultiKueueConfig.manifest(env.name, spec={"clusters": members})
        await env.hub.create(kueue.MultiKueueConfig.resource, manifest)
    else:
        await env.hub.merge(kueue.MultiKueueConfig.resource, env.name, "", {"spec": {"clusters": members}})
    condition = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "MultiKueueConfig and MultiKueueCluster generated",
        "lastTransitionTime": timestamp(clock.now()),
    }
    await env.hub.merge(
        kueue.AdmissionCheck.resource, env.name, "", {"status": {"conditions": [condition]}}, subresource="status"
    )
    await env.connected(*names)


@pytest.mark.checklist("K-1")
async def test_without_us_a_job_hangs(env):
    await env.world.set_dispatcher(None)
    await publish(env, "cluster1", "cluster2")

    await env.submit("job")
    await asyncio.sleep(LONG_ENOUGH)  # the absence of an event has no event to wait for

    workload = await env.workload("job")
    assert workload.has_quota
    assert {state.name: state.state for state in workload.status.admission_checks}[env.name] == kueue.PENDING
    assert workload.status.nominated_cluster_names == ()
    assert env.witness.live(f"{env.name}/job") == set()


@pytest.mark.checklist("K-1")
async def test_with_us_the_job_runs(env):
    async with env.heart():
        await env.submit("job")

        assert await env.running_on("job") in ("cluster1", "cluster2", "cluster3")


async def test_with_us_a_job_whose_workload_is_deleted_runs_again(env):
    async with env.heart():
        await env.submit("job")
        await env.running_on("job")
        before = await env.workload("job")

        async def is_told():
            return (await env.hub.get(Job.resource, "job", env.name)).get("status", {}).get("active")

        await env.eventually(is_told, "the hub says that it runs")
        await env.hub.delete(kueue.Workload.resource, before.name, env.name)

        async def is_another():
            found = await env.hub.find(kueue.Workload.resource, before.name, env.name)
            return found is not None and found["metadata"]["uid"] != before.uid

        await env.eventually(is_another, "the job has another Workload")
        await env.running_on("job")


async def test_without_us_a_moved_placement_runs_a_job_twice(env):
    env.may_run_twice = True
    await env.world.set_dispatcher(None)
    await publish(env, "cluster1", "cluster2")
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": f"{env.name}-mk"}]}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": spec})  # past the first defect
    await env.submit("job")
    first = await env.running_on("job")

    await publish(env, *({"cluster1", "cluster2"} - {first}))
    for _ in range(150):
        await asyncio.sleep(0.1)
        if env.witness.doubles:
            break

    assert env.witness.most[f"{env.name}/job"] == 2


async def test_with_us_a_moved_placement_runs_it_once(env):
    async with env.heart():
        await env.submit("job")
        first = await env.running_on("job")
        others = {"cluster1", "cluster2", "cluster3"} - {first}

        await env.select(*others)
        condition = await env.says("Draining", "True")
        await env.submit("next", run_for="1s")
        await env.finished("next")

        assert f"{env.name}-{first} (1 workload)" in condition.message or "just dropped" in condition.message
        assert env.witness.live(f"{env.name}/job") == {first}
        assert env.witness.most[f"{env.name}/job"] == 1
