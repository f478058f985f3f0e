"""Two MultiKueueClusters that lead to one worker, on Kueue alone; docs/en/reference/differences.md tells of ours."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, credentials_secret

pytestmark = pytest.mark.long

KUEUE = "kueue-system"
WORKER = "cluster1"
FIRST, SECOND = "first", "second"
"""The names by which the hub knows it."""


async def let_both_lead_there(env, *listed):
    """Connect the worker by both names, and list some of them for the queue."""
    await env.world.set_dispatcher(None)
    await env.hub.create(kueue.MultiKueueConfig.resource, config(env.name, env, *listed))
    for name in (FIRST, SECOND):
        await create_secret(env, name)
        source = {"kubeConfig": {"locationType": "Secret", "location": f"{env.name}-{name}"}}
        member = kueue.MultiKueueCluster.manifest(f"{env.name}-{name}", spec={"clusterSource": source})
        await env.hub.create(kueue.MultiKueueCluster.resource, member)
    checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": f"{env.name}-mk"}]}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": checks})
    await env.connected(FIRST, SECOND)


async def create_secret(env, name):
    """Give one of the names a Secret of its own, with the credential of the worker."""
    credential = await env.get(Secret, credentials_secret(WORKER), KUEUE)
    await env.hub.create(Secret.resource, Secret.manifest(f"{env.name}-{name}", KUEUE, data=credential.data))


async def change_secret(env, name):
    """Let Kueue connect anew by one of the names, with a kubeconfig of other bytes."""
    secret = await env.get(Secret, f"{env.name}-{name}", KUEUE)
    changed = {"stringData": {KUBECONFIG_KEY: secret.text(KUBECONFIG_KEY) + "\n"}}
    await env.hub.merge(Secret.resource, secret.name, KUEUE, changed)


def config(name, env, *listed):
    return kueue.MultiKueueConfig.manifest(name, spec={"clusters": [f"{env.name}-{one}" for one in listed]})


async def run_of(env):
    """Return which run of the job is on the worker; nothing where none is."""
    job = await env.get(Job, "job", env.name, env.workers[WORKER])
    return job.uid if job is not None and not job.spec.suspend else ""


async def test_where_one_config_lists_both_the_copy_is_removed_and_made_again(env):
    await let_both_lead_there(env, FIRST, SECOND)
    copies = set()

    async def is_made_again():
        copy = await env.workload("job", env.workers[WORKER])
        copies.update({copy.uid} if copy is not None else ())
        return len(copies) > 1

    await env.submit("job")

    await env.eventually(is_made_again, "its copy is made again")


async def run_with_a_config_each(env):
    """Let a job run on the worker, whose names have a config each; return which run it is."""
    await let_both_lead_there(env, FIRST)
    others = f"{env.name}-others"
    await env.hub.create(kueue.MultiKueueConfig.resource, config(others, env, SECOND))
    parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": others}
    spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": parameters}
    await env.hub.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest(others, spec=spec))
    await env.submit("job")
    return await env.eventually(lambda: run_of(env), "the job runs")


async def test_where_each_has_a_config_of_its_own_a_running_job_runs_on_after_a_restart(env):
    run = await run_with_a_config_each(env)

    await env.world.fleet.restart("hub/kueue")
    await env.connected(FIRST, SECOND)
    await another_job_ends(env)

    assert await run_of(env) == run


@pytest.mark.parametrize("name", [FIRST, SECOND])
async def test_where_each_has_a_config_of_its_own_a_running_job_runs_on_when_a_secret_changes(env, name):
    run = await run_with_a_config_each(env)

    await change_secret(env, name)
    await another_job_ends(env)

    assert await run_of(env) == run


async def another_job_ends(env):
    """Kueue has looked at the worker since: it has sent another job there, and brought its end back."""
    await env.submit("next", run_for="1s")
    await env.finished("next")
