"""Two MultiKueueClusters that lead to one worker, on Kueue alone; docs/en/reference/differences.md tells of ours."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job

pytestmark = pytest.mark.long

WORKER = "cluster1"
FIRST, SECOND = "first", "second"
"""The names by which the hub knows it."""


async def let_both_lead_there(env, *listed):
    """Connect the worker by both names, and list some of them for the queue."""
    await env.world.set_dispatcher(None)
    await env.hub.create(kueue.MultiKueueConfig.resource, config(env.name, env, *listed))
    for name in (FIRST, SECOND):
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{WORKER}-kubeconfig"}}
        member = kueue.MultiKueueCluster.manifest(f"{env.name}-{name}", spec={"clusterSource": source})
        await env.hub.create(kueue.MultiKueueCluster.resource, member)
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": f"{env.name}-mk"}]}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": checks})
    await env.connected(FIRST, SECOND)


def config(name, env, *listed):
    return kueue.MultiKueueConfig.manifest(name, spec={"clusters": [f"{env.name}-{one}" for one in listed]})


async def run_of(env):
    """Return which run of the job is on the worker; nothing where none is."""
    job = await env.get(Job, "job", env.name, env.workers[WORKER])
    return job.uid if job is not None and not job.spec.suspend else ""


async def test_where_one_config_lists_both_a_running_job_begins_anew(env):
    await let_both_lead_there(env, FIRST, SECOND)
    await env.submit("job")
    first = await env.eventually(lambda: run_of(env), "the job runs")

    async def runs_anew():
        return await run_of(env) not in ("", first)

    await env.eventually(runs_anew, "it begins anew")


async def test_where_each_has_a_config_of_its_own_a_running_job_runs_on(env):
    await let_both_lead_there(env, FIRST)
    others = f"{env.name}-others"
    await env.hub.create(kueue.MultiKueueConfig.resource, config(others, env, SECOND))
    parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": others}
    spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": parameters}
    await env.hub.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest(others, spec=spec))
    await env.submit("job")
    first = await env.eventually(lambda: run_of(env), "the job runs")

    await env.world.fleet.restart("hub/kueue")
    await env.connected(FIRST, SECOND)
    await env.submit("next", run_for="1s")
    await env.finished("next")

    assert await run_of(env) == first
