"""Why a job waits, on real Kueue and real OCM: the same codes as on embedded clusters."""

from dataclasses import replace

import pytest

from fleetqueue.admin import cluster_sets
from fleetqueue.admin.hub_state import look
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS

KUEUE = "kueue-system"
STOPPED = {"spec": {"stopPolicy": "Hold"}}
FULL = 100
"""GPUs of the hub's queue."""


async def is_caused(env, code, job="job"):
    """Wait until a job has a cause."""
    seen = []

    async def question():
        workload = await env.workload(job)
        if workload is None:
            return False
        # The controllers of these tests hold no Lease.
        cause = cause_of(workload, replace(await look(env.hub, env.name), silence=""))
        seen[:] = [cause]
        return cause.code == code

    try:
        await env.eventually(question, f"the cause is {code}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {seen}") from None
    return seen[0]


async def test_a_job_that_runs_and_one_that_has_ended(env):
    async with env.heart():
        await env.submit("job", run_for="1s")
        await env.submit("other")

        await is_caused(env, "Succeeded")
        await is_caused(env, "Admitted", "other")


@pytest.mark.parametrize(
    ("kind", "name", "namespaced", "code"),
    [
        pytest.param(kueue.LocalQueue, "queue", True, "LocalQueueStopped", id="LocalQueue"),
        pytest.param(kueue.ClusterQueue, "", False, "ClusterQueueStopped", id="ClusterQueue"),
    ],
)
async def test_a_stopped_queue(env, kind, name, namespaced, code):
    async with env.heart():
        await env.submit("job", gpus=FULL + 1)  # before: of a stopped LocalQueue Kueue does not know where it leads
        await env.hub.merge(kind.resource, name or env.name, env.name if namespaced else "", STOPPED)

        await is_caused(env, code)


async def test_quota_that_is_short_and_quota_that_never_suffices(env):
    async with env.heart():
        await env.submit("first", gpus=15)
        await env.submit("second", gpus=FULL - 15)
        await env.submit("short", gpus=10)
        await env.submit("large", gpus=FULL + 1)

        assert "insufficient unused quota" in (await is_caused(env, "QuotaShort", "short")).sentence
        assert "maximum capacity" in (await is_caused(env, "ExceedsQuota", "large")).sentence
        assert "the job needs 85" in (await is_caused(env, "WorkerQuotaTooSmall", "second")).sentence


async def test_a_job_for_a_cluster_that_there_is_not(env):
    async with env.heart():
        await env.submit("job", annotations={ALLOWED_CLUSTERS: "cluster9"})

        assert "names cluster9, and there is no such cluster" in (await is_caused(env, "PinnedToNobody")).sentence


async def test_a_placement_that_chooses_nothing(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.select()
        await env.says("Active", "False")
        await env.submit("job")

        cause = await is_caused(env, "NoClusterMatches")

        assert f"label {env.label} must be 'yes' and is not set" in cause.sentence


async def test_a_placement_whose_set_is_not_bound_and_the_step_that_is_told(env):
    await env.hub.create(cluster.ManagedClusterSet.resource, cluster.ManagedClusterSet.manifest(env.name, spec={}))
    await env.hub.merge(cluster.Placement.resource, env.name, KUEUE, {"spec": {"clusterSets": [env.name]}})
    async with env.heart():
        await env.says("Active", "False")
        await env.submit("job")

        cause = await is_caused(env, "SetNotBound")
        await cluster_sets.bind(env.hub, env.name, KUEUE)
        await is_caused(env, "SetEmpty")

        assert cause.step == f"fleetqueue clusterset bind {env.name} --namespace {KUEUE}"


async def test_a_placement_that_is_gone(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.hub.delete(cluster.Placement.resource, env.name, KUEUE)
        await env.says("Active", "False")
        await env.submit("job")

        await is_caused(env, "PlacementMissing")


async def test_nobody_nominates_without_a_controller(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.connected("cluster1", "cluster2", "cluster3")
    await env.submit("job")

    async def question():
        workload = await env.workload("job")
        return workload is not None and cause_of(workload, await look(env.hub, env.name)).code == "ControllerSilent"

    await env.eventually(question, "nobody answers")
