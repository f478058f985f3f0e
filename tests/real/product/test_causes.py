"""Why a job waits, on real Kueue and real OCM: the same codes and sentences as on embedded clusters.

What is broken is mended by the step that is told, and then the job runs.
"""

import pytest

from fleetqueue.admin import cluster_draining, cluster_sets, explain
from fleetqueue.admin.hub_state import look
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Node, Secret, ServiceAccount
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, credentials_secret, is_refused
from fleetqueue.client.kubeconfig import parse
from fleetqueue.client.transport import connect
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.runtime.cluster import LABELLED_OURS
from tests.job_kinds import KUBEFLOW
from tests.real.engine_versions import has_kueue

from .conftest import WORKERS
from .explained_jobs import (
    FULL,
    GO,
    KUEUE,
    LARGEST,
    REFUSAL,
    SLOW,
    STOP,
    is_caused,
    is_said,
    no_quota_is_reserved,
    patch_placement,
    patch_queue,
    queue_is_inactive,
    runs,
    submit_again,
    with_checks,
    with_flavor,
)
from .paused_managers import no_pods_yet

TAINT = {"key": "maintenance", "effect": "NoSelect"}


async def test_a_job_that_runs_and_one_that_has_ended(env):
    async with env.heart():
        await env.submit("job", run_for="1s")
        await env.submit("other")

        await is_caused(env, "Succeeded")
        await runs(env, "other")


async def test_a_queue_that_there_is_not(env):
    await env.hub.delete(kueue.LocalQueue.resource, "queue", env.name)
    async with env.heart():
        await env.submit("job", is_sent=False)

        await is_caused(env, "LocalQueueMissing")
        await env.hub.create(kueue.LocalQueue.resource, env.local_queue())
        await submit_again(env)
        await runs(env)


async def test_a_job_that_was_created_before_its_queue(env):
    await env.hub.delete(kueue.LocalQueue.resource, "queue", env.name)
    async with env.heart():
        await env.says("Active", "True")
        await env.submit("job", is_sent=False)
        await env.hub.create(kueue.LocalQueue.resource, env.local_queue())

        await is_caused(env, "CheckRejected")
        await submit_again(env)
        await runs(env)


async def test_a_queue_that_leads_nowhere(env):
    await env.hub.delete(kueue.ClusterQueue.resource, env.name)
    async with env.heart():
        await env.submit("job", is_sent=False)

        await is_caused(env, "ClusterQueueMissing")
        await env.hub.create(kueue.ClusterQueue.resource, env.queue(FULL, [env.name, f"{env.name}-mk"]))
        await submit_again(env)
        await runs(env)


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
        await env.hub.merge(kind.resource, name or env.name, env.name if namespaced else "", STOP)

        await is_caused(env, code)
        await env.hub.merge(kind.resource, name or env.name, env.name if namespaced else "", GO)
        await is_caused(env, "ExceedsQuota", needs=FULL + 1, has=FULL)


async def test_a_queue_whose_flavor_is_missing(env):
    async with env.heart():
        await env.says("Active", "True")
        await patch_queue(env, with_flavor(env, "absent"))
        await env.submit("job")

        await is_caused(env, "FlavorMissing")
        await patch_queue(env, with_flavor(env, env.name))
        await runs(env)


async def test_a_queue_that_takes_no_jobs_of_the_namespace(env):
    async with env.heart():
        await env.says("Active", "True")
        await patch_queue(env, {"namespaceSelector": {"matchLabels": {"team": "other"}}})
        await env.submit("job")

        await is_caused(env, "NamespaceNotAllowed")
        await patch_queue(env, {"namespaceSelector": {"matchLabels": None}})
        await runs(env)


async def test_a_queue_whose_check_is_missing(env):
    async with env.heart():
        await env.says("Active", "True")
        await patch_queue(env, with_checks(env.name, f"{env.name}-mk", "absent"))
        await env.submit("job")

        await is_caused(env, "CheckMissing")
        await patch_queue(env, with_checks(env.name, f"{env.name}-mk"))
        await runs(env)


async def test_a_job_that_asks_for_other_nodes_than_its_flavor_has(env):
    labels = {"metadata": {"labels": {"disk": "slow"}}}
    for name, worker in env.workers.items():
        await worker.merge(Node.resource, f"{name}-control-plane", "", labels)
    fast = kueue.ResourceFlavor.manifest("fast", spec={"nodeLabels": {"disk": "fast"}})
    await env.hub.create(kueue.ResourceFlavor.resource, fast)
    try:
        async with env.heart():
            await env.says("Active", "True")
            await patch_queue(env, with_flavor(env, "fast"))
            await env.submit("job", pod={"nodeSelector": {"disk": "slow"}})

            await is_caused(env, "NoFlavorFits")
            await patch_queue(env, with_flavor(env, env.name))
            await runs(env)
    finally:
        await env.hub.delete(kueue.ResourceFlavor.resource, "fast")


async def test_quota_that_is_short_and_quota_that_never_suffices(env):
    async with env.heart():
        await env.submit("first", gpus=15)
        await env.submit("second", gpus=FULL - 15)
        for job in ("first", "second"):  # of jobs of one second anyone may be the first in its queue
            await env.eventually(lambda job=job: has_quota(env, job), f"{job} has quota")
        await env.submit("short", gpus=10)
        await env.submit("large", gpus=FULL + 1)

        await is_caused(env, "QuotaShort", "short", short=10)
        await is_caused(env, "ExceedsQuota", "large", needs=FULL + 1, has=FULL)
        await is_caused(env, "WorkerQuotaTooSmall", "second", needs=FULL - 15, has=LARGEST)


async def has_quota(env, job):
    workload = await env.workload(job)
    return workload is not None and workload.has_quota


async def test_a_deactivated_job(env):
    async with env.heart():
        await env.submit("job", gpus=LARGEST + 1)
        await is_caused(env, "WorkerQuotaTooSmall", needs=LARGEST + 1, has=LARGEST)
        await env.set_active("job", False)

        cause = await is_caused(env, "Deactivated")

        await env.set_active("job", True)
        await is_caused(env, "WorkerQuotaTooSmall", needs=LARGEST + 1, has=LARGEST)
        workload = await env.workload("job")
        assert cause.step == (
            f'kubectl -n {env.name} patch workload {workload.name} --type merge -p \'{{"spec":{{"active":true}}}}\''
        )


async def test_a_job_that_runs_on_the_hub_for_want_of_a_check(env):
    async with env.heart():
        await env.says("Active", "True")
        await patch_queue(env, with_checks(env.name))
        await env.submit("job", is_sent=False)

        await is_caused(env, "RunsOnHub")
        await patch_queue(env, with_checks(env.name, f"{env.name}-mk"))
        await submit_again(env)
        await runs(env)


async def test_a_check_whose_config_is_missing(env):
    check = f"{env.name}-mk"

    async def name_config(name):
        await env.hub.merge(kueue.AdmissionCheck.resource, check, "", {"spec": {"parameters": {"name": name}}})

    async with env.heart():
        await env.says("Active", "True")
        await name_config("absent")
        await no_quota_is_reserved(env)
        await env.submit("job")

        await is_caused(env, "ConfigMissing")
        await name_config(env.name)
        await runs(env)


async def test_a_job_for_a_cluster_that_there_is_not(env):
    async with env.heart():
        await env.submit("job", annotations={ALLOWED_CLUSTERS: "cluster9"})

        await is_caused(env, "PinnedToNobody")
        await submit_again(env, annotations={ALLOWED_CLUSTERS: "cluster1"})
        await runs(env)


async def test_a_placement_that_chooses_nothing(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.select()
        await queue_is_inactive(env)
        await env.submit("job")

        await is_caused(env, "NoClusterMatches")
        await env.select("cluster1")
        await runs(env)


async def test_a_placement_that_chooses_no_number(env):
    async with env.heart():
        await env.says("Active", "True")
        await patch_placement(env, numberOfClusters=0)
        await queue_is_inactive(env)
        await env.submit("job")

        await is_caused(env, "NumberIsZero")
        await patch_placement(env, numberOfClusters=1)
        await runs(env)


async def test_a_placement_that_does_not_tolerate_a_taint(env):
    await env.select("cluster3")
    try:
        await env.hub.merge(cluster.ManagedCluster.resource, "cluster3", "", {"spec": {"taints": [TAINT]}})
        async with env.heart():
            await queue_is_inactive(env)
            await env.submit("job")

            await is_caused(env, "TaintNotTolerated")
            await env.hub.merge(cluster.ManagedCluster.resource, "cluster3", "", {"spec": {"taints": None}})
            await runs(env)
    finally:
        await env.hub.merge(cluster.ManagedCluster.resource, "cluster3", "", {"spec": {"taints": None}})


async def test_a_placement_whose_set_is_not_bound_and_the_step_that_is_told(env):
    await env.hub.create(cluster.ManagedClusterSet.resource, cluster.ManagedClusterSet.manifest(env.name, spec={}))
    await patch_placement(env, clusterSets=[env.name])
    async with env.heart():
        await queue_is_inactive(env)
        await env.submit("job")

        cause = await is_caused(env, "SetNotBound")
        await cluster_sets.bind(env.hub, env.name, KUEUE)
        await is_caused(env, "SetEmpty")
        await patch_placement(env, clusterSets=["fleet"])
        await runs(env)

        assert cause.step == f"fleetqueue clusterset bind {env.name} --namespace {KUEUE}"


async def test_a_placement_that_is_gone(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.hub.delete(cluster.Placement.resource, env.name, KUEUE)
        await env.says("Active", "False")
        await env.submit("job")

        await is_caused(env, "PlacementMissing")
        await env.hub.create(cluster.Placement.resource, env.placement())
        await runs(env)


@pytest.mark.parametrize(
    "lacking",
    [
        pytest.param((kueue.LocalQueue, "queue"), id="LocalQueue"),
        pytest.param((Namespace, ""), id="namespace"),
    ],
)
async def test_workers_without_the_queue_of_a_job(env, lacking):
    kind, name = lacking
    for worker in env.workers.values():
        await worker.delete(kind.resource, name or env.name, env.name if name else "")
    for worker in env.workers.values():
        await env.eventually(lambda worker=worker: is_gone(env, worker, *lacking), "it is gone", within=SLOW)
    async with env.heart():
        await env.submit("job")

        await is_caused(env, "WorkerQueueMissing")
        for worker in env.workers.values():
            await env.world.ensure(worker, Namespace.manifest(env.name), Namespace)
            await worker.create(kueue.LocalQueue.resource, env.local_queue())
        await runs(env)


async def is_gone(env, worker, kind, name):
    return await env.get(kind, name or env.name, env.name if name else "", worker) is None


async def test_workers_whose_queues_are_stopped(env):
    for worker in env.workers.values():
        await worker.merge(kueue.ClusterQueue.resource, env.name, "", STOP)
    async with env.heart():
        await env.submit("job")

        await is_caused(env, "WorkerQueueStopped")
        for worker in env.workers.values():
            await worker.merge(kueue.ClusterQueue.resource, env.name, "", GO)
        await runs(env)


async def test_a_worker_that_has_no_room_now(env):
    await env.select("cluster1")
    async with env.heart():
        await env.submit("first", gpus=LARGEST - 5)
        await env.running_on("first")
        await env.submit("job", gpus=10)

        await is_caused(env, "WorkerQuotaShort")
        await env.hub.delete(Job.resource, "first", env.name)
        await runs(env)


async def test_a_job_for_a_cluster_that_is_being_drained(env):
    only_first = {ALLOWED_CLUSTERS: "cluster1"}
    async with env.heart():
        await env.submit("first", annotations=only_first)
        await env.running_on("first")
        await cluster_draining.drain(env.hub, "cluster1")
        await env.says("Draining", "True")
        await env.submit("job", annotations=only_first)

        await is_caused(env, "ClusterDraining")
        await cluster_draining.undrain(env.hub, "cluster1")
        await runs(env)


async def test_a_job_whose_pods_do_not_come(env):
    async with env.heart(), no_pods_yet(env) as let_pods_start:
        await env.submit("job")

        await is_caused(env, "PodsNotReady")
        let_pods_start()
        await runs(env)


async def test_a_worker_that_is_lost_and_a_job_that_is_stopped_meanwhile(env):
    await env.select("cluster3")
    async with env.heart():
        await env.submit("job")
        await env.counts_its_pod("job")
        await env.world.fleet.cut("cluster3")

        await is_caused(env, "WorkerLost", within=SLOW, refusal=REFUSAL)
        await env.submit("next")
        await is_caused(env, "ClusterNotConnected", "next", within=SLOW, refusal=REFUSAL)
        await env.set_active("job", False)
        await is_caused(env, "Evicted")
        await env.world.fleet.heal("cluster3")
        await is_caused(env, "Deactivated", within=SLOW)
        await env.set_active("job", True)
        await runs(env)
        await runs(env, "next")


async def test_a_worker_that_refuses_its_credential(env):
    await env.select("cluster1")
    async with env.heart():
        await env.connected("cluster1")
    old, worker = await credential(env), env.workers["cluster1"]
    for account in (await worker.list(ServiceAccount.resource, KUEUE, labels=LABELLED_OURS)).items:
        await worker.delete(ServiceAccount.resource, account["metadata"]["name"], KUEUE)
    try:
        await env.eventually(lambda: refuses(old), "the worker has forgotten the token, too")
        async with env.heart(nomination_timeout=1.0):
            await env.submit("first")
            await env.eventually(lambda: is_known_as_refused(env), "its worker has refused to tell of it")
            await env.submit("job")
            await is_caused(env, "CredentialRefused")
    finally:
        await replaced(env, old)
    async with env.heart():
        await runs(env)


async def credential(env):
    """Return the kubeconfig with which Kueue, and we, reach cluster1."""
    secret = await env.get(Secret, credentials_secret("cluster1"), KUEUE)
    return secret.text(KUBECONFIG_KEY)


async def is_known_as_refused(env):
    return is_refused(await env.get(Secret, credentials_secret("cluster1"), KUEUE))


async def refuses(kubeconfig):
    client = connect(parse(kubeconfig))
    try:
        await client.read("/version")
    except errors.Unauthorized:
        return True
    finally:
        await client.close()
    return False


async def replaced(env, old):
    """Let a controller with all of its rooms, as it is deployed, make another credential."""
    replica = await env.replica("credentials")

    async def is_another():
        return await credential(env) != old

    try:
        await env.eventually(is_another, "the credential is replaced", within=SLOW)
    finally:
        await replica.stop()


@pytest.mark.skipif(not has_kueue("0.19"), reason="older Kueues are shipped with this kind in their list")
async def test_a_job_of_a_kind_that_kueue_is_not_configured_for(env):
    kind, *_ = KUBEFLOW
    (job,) = kind.manifests(env.name)
    await env.hub.create(kind.resource, job)

    found = await explain.job(env.hub, job["metadata"]["name"], env.name, kueue_namespace=KUEUE)

    assert is_said(env, found.cause)
    assert found.cause.code == "NoWorkload"


async def test_nobody_nominates_without_a_controller(env):
    async with env.heart():
        await env.says("Active", "True")
        await env.connected(*WORKERS)
    await env.submit("job")

    async def question():
        workload = await env.workload("job")
        cause = cause_of(workload, await look(env.hub, env.name)) if workload is not None else None
        return cause is not None and cause.code == "ControllerSilent" and is_said(env, cause, silence="*")

    await env.eventually(question, "nobody answers")
    async with env.heart():
        await runs(env)
