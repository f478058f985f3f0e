"""Causes between a nomination and the end of a job, on real Kueue and real OCM: the same sentences as on embedded ones.

What is broken is mended by the step that is told, typed where it is a command, and then the job runs.
"""

import json
from contextlib import asynccontextmanager

import pytest

from fleetqueue.admin import cluster_sets, explain
from fleetqueue.admin.step_commands import CONTEXT, commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import FENCE, LEASE, LOST_WORKER
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.testing.builders import condition

from .conftest import WORKERS
from .explained_jobs import (
    KUEUE,
    SLOW,
    is_caused,
    no_quota_is_reserved,
    patch_placement,
    patch_queue,
    queue_is_inactive,
    runs,
    submit_again,
    with_checks,
)
from .fence_agents import renew_once
from .kueue_timeouts import worker_lost_timeout
from .own_scores import prefer_scores, set_score
from .paused_managers import no_pods_yet
from .refused_jobs import accept_jobs, refuse_jobs
from .shells import Shell

JOB_SETS = "jobsets.jobset.x-k8s.io"


@pytest.fixture
def shell(env, engine):
    """Somebody who types what steps say."""
    return Shell(env.world.fleet.kubeconfig, engine)


async def test_a_job_that_has_failed(env):
    async with env.heart():
        await env.submit("job", run_for="1s", annotations={"fleetqueue.dev/fails": "true"}, backoffLimit=0)

        cause = await is_caused(env, "Failed")
        await submit_again(env)
        await runs(env)

        assert cause.step.endswith(f"read them while it runs: fleetqueue logs Job/job -n {env.name} -f")


@asynccontextmanager
async def further_check(env, name, said):
    """Let the queue ask one more check, of a controller that the test plays."""
    check = kueue.AdmissionCheck.manifest(name, spec={"controllerName": f"example.com/{name}"})
    status = {"status": {"conditions": [said]}}
    await env.hub.create(kueue.AdmissionCheck.resource, check)
    await env.hub.merge(kueue.AdmissionCheck.resource, name, "", status, subresource="status")
    await patch_queue(env, with_checks(env.name, f"{env.name}-mk", name))
    try:
        yield
    finally:
        await patch_queue(env, with_checks(env.name, f"{env.name}-mk"))
        await env.hub.delete(kueue.AdmissionCheck.resource, name)


async def test_a_check_of_others_that_is_not_active(env):
    async with env.heart():
        await env.says("Active", "True")
        inactive = condition(kueue.ACTIVE, False, "NoBudget", "nobody has named a budget")
        async with further_check(env, "budget", inactive):
            await no_quota_is_reserved(env)
            await env.submit("job")

            cause = await is_caused(env, "CheckInactive")
        await runs(env)

        assert "take the check off the admissionChecksStrategy of the ClusterQueue" in cause.step


async def test_a_check_of_others_that_has_not_let_it_pass(env):
    async with env.heart(), further_check(env, "spending", condition(kueue.ACTIVE)):
        await env.submit("job")
        await env.eventually(lambda: decided(env, "spending", kueue.PENDING, "the month is not over"), "it is asked")

        await is_caused(env, "CheckWaits")
        await env.eventually(lambda: decided(env, "spending", kueue.READY, "a new month"), "it lets the job pass")
        await runs(env)


async def decided(env, name, state, message):
    """Say what a check makes of the job, as its controller would; False where it is not asked, or others write, too."""
    workload = await env.workload("job")
    if workload is None or workload.check(name) is None:
        return False
    raw = await env.hub.get(kueue.Workload.resource, workload.name, env.name)
    states = [
        {**one, "state": state, "message": message} if one["name"] == name else one
        for one in raw["status"]["admissionChecks"]
    ]
    patch = {
        "metadata": {"resourceVersion": raw["metadata"]["resourceVersion"]},
        "status": {"admissionChecks": states},
    }
    try:
        await env.hub.merge(kueue.Workload.resource, workload.name, env.name, patch, subresource="status")
    except errors.Conflict:
        return False
    return True


async def test_a_placement_whose_set_is_gone(env, shell):
    await cluster_sets.create_set(env.hub, env.name)
    await cluster_sets.bind(env.hub, env.name, KUEUE)
    await env.hub.delete(cluster.ManagedClusterSet.resource, env.name)
    await patch_placement(env, clusterSets=[env.name])
    try:
        async with env.heart():
            await queue_is_inactive(env)
            await env.submit("job")

            cause = await is_caused(env, "SetMissing")
            await shell.run(*commands_of(cause.step))
            await is_caused(env, "SetEmpty")
            await patch_placement(env, clusterSets=["fleet"])
            await runs(env)
    finally:
        await env.hub.delete(cluster.ManagedClusterSetBinding.resource, env.name, KUEUE)
        await env.hub.delete(cluster.ManagedClusterSet.resource, env.name)


async def test_a_cluster_that_others_come_before_by_score(env, shell):
    await prefer_scores(env)
    for name, value in (("cluster1", 90), ("cluster2", 50), ("cluster3", -100)):
        await set_score(env, name, value)
    await patch_placement(env, numberOfClusters=1)
    async with env.heart(), heard_of(env, "cluster3"):
        await env.lists("cluster1")
        await env.submit("job", annotations={ALLOWED_CLUSTERS: "cluster3"})

        await is_caused(env, "PinnedToNobody", how=" by score")
        about_cluster = await explain.managed_cluster(env.hub, "cluster3", kueue_namespace=KUEUE)
        (command,) = commands_of(about_cluster.cause.step)
        said = json.loads(await shell.run(f"{command} -o json"))
        await patch_placement(env, numberOfClusters=3)
        await runs(env)

    why = "the Placement takes 1, and others come first by score or name"
    assert about_cluster.cause.code == "NotChosen"
    assert about_cluster.cause.sentence == f"no Placement of {KUEUE} chooses it: {env.name}: {why}"
    assert ranking(about_cluster.clusters) == [("cluster3", "Outscored", 3, -100)]
    assert ranking(row for row in said if row["name"] == env.name) == [
        ("cluster1", "Chosen", 1, 90),
        ("cluster2", "Outscored", 2, 50),
        ("cluster3", "Outscored", 3, -100),
    ]


@asynccontextmanager
async def heard_of(env, name):
    """Let the hub hear of a cluster, on which no agent of OCM runs here."""

    async def say(*conditions):
        status = {"status": {"conditions": list(conditions)}}
        await env.hub.merge(cluster.ManagedCluster.resource, name, "", status, subresource="status")

    await say(condition(cluster.AVAILABLE))
    try:
        yield
    finally:
        await say()


def ranking(rows):
    return [(row["cluster"], row["rule"], row["rank"], row["score"]) for row in rows]


async def test_a_nominated_cluster_whose_kueue_does_not_run(env):
    await env.select("cluster3")
    async with env.heart():
        await env.connected("cluster3")
        env.world.fleet.pause("cluster3/kueue")
        try:
            await env.submit("job")

            cause = await is_caused(env, "Nominated")
        finally:
            env.world.fleet.resume("cluster3/kueue")
        await runs(env)

        assert "see whether Kueue runs there" in cause.step


async def test_a_nominated_cluster_that_says_itself_why_it_waits(env, shell):
    await env.select("cluster3")
    await env.admit_nothing("cluster3")
    async with env.heart():
        await env.submit("job")

        cause = await is_caused(env, "Nominated")
        (command,) = commands_of(cause.step)
        there = command.replace(CONTEXT, cause.step.rpartition(" of ")[2])
        reason = "namespace doesn't match ClusterQueue selector"
        await env.eventually(lambda: prints(shell, there, reason), "the worker says why")
        anyone = {"spec": {"namespaceSelector": {"matchLabels": None}}}
        await env.workers["cluster3"].merge(kueue.ClusterQueue.resource, env.name, "", anyone)
        await runs(env)


async def prints(shell, command, text):
    return text in (await shell.type(command))[1]


async def test_a_worker_that_refuses_the_job_itself(env):
    await env.select("cluster3")
    await refuse_jobs(env, "cluster3")
    async with env.heart(nomination_timeout=5.0, settle=1.0):
        await env.submit("job")

        cause = await is_caused(env, "JobRefused", within=SLOW)
        await accept_jobs(env, "cluster3")
        await is_caused(env, "Admitted", within=SLOW)

        assert "look at its webhooks" in cause.step


async def test_a_worker_that_does_not_serve_a_kind(env):
    worker = env.workers["cluster3"]
    kind = await worker.get(CustomResourceDefinition.resource, JOB_SETS)
    await env.select("cluster3")
    async with env.heart():
        await env.says("Active", "True")
        await env.connected("cluster3")
        await worker.delete(CustomResourceDefinition.resource, JOB_SETS)
        try:
            await env.eventually(lambda: is_refused(env, "cluster3"), "Kueue misses the kind", within=SLOW)
            await no_quota_is_reserved(env)
            await env.submit("job")

            cause = await is_caused(env, "KindNotServed", within=SLOW)
        finally:
            await env.eventually(lambda: is_installed(worker, kind), "the kind is there again", within=SLOW)
        await is_caused(env, "Admitted", within=SLOW)

        assert "install that kind on cluster3" in cause.step


async def is_refused(env, name):
    return not (await env.get(kueue.MultiKueueCluster, f"{env.name}-{name}")).is_connected


async def is_installed(worker, kind):
    """Create a kind anew; False while the old one is being deleted."""
    metadata = {key: kind["metadata"][key] for key in ("name", "labels", "annotations") if key in kind["metadata"]}
    try:
        await worker.create(CustomResourceDefinition.resource, {**kind, "metadata": metadata, "status": None})
    except errors.AlreadyExists:
        return False
    return True


async def test_a_fenced_job_whose_worker_only_the_hubs_kueue_does_not_reach(env):
    for name in WORKERS:
        await renew_once(env.hub, name)
    try:
        async with worker_lost_timeout(env.world, "5s"), env.heart(drain_poll=1.0), no_pods_yet(env) as let_pods_start:
            await env.connected(*WORKERS)
            await env.submit("job", annotations={LOST_WORKER: FENCE}, grace=1)
            assert await env.running_on("job") == "cluster1"
            await env.world.fleet.cut("cluster1")

            cause = await is_caused(env, "WaitsForFence", within=SLOW)
            await env.world.fleet.heal("cluster1")
            let_pods_start()
            await is_caused(env, "Admitted", within=SLOW)

            assert cause.step.startswith("look whether cluster1 is up and reachable from the hub")
            assert env.witness.most[f"{env.name}/job"] == 1
    finally:
        for name in WORKERS:
            await env.hub.delete(Lease.resource, LEASE, name)
