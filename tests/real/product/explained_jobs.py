"""Ask why a job of a test's own corner waits, in the words that embedded clusters say it in, and change its objects."""

from dataclasses import replace

from fleetqueue.admin.hub_state import look
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import is_true
from tests.cause_sentences import says

KUEUE = "kueue-system"
STOP, GO = ({"spec": {"stopPolicy": policy}} for policy in ("Hold", "None"))
FULL = 100
"""GPUs of the hub's queue."""
LARGEST = 20
"""GPUs of each worker's."""
REFUSAL = (
    'failed to get server groups: Get "https://127.0.0.1:*/api": dial tcp 127.0.0.1:*: connect: connection refused'
)
"""What Kueue says of a worker whose port nobody listens at."""
SLOW = 90.0
"""Seconds until Kueue has noticed that a worker is away, or there again."""


async def queue_is_inactive(env):
    """Wait until the check lets nobody in and the hub's queue reserves no quota: what comes after is another cause."""
    await env.says("Active", "False")
    await no_quota_is_reserved(env)


async def no_quota_is_reserved(env):
    async def question():
        queue = kueue.ClusterQueue.view(await env.hub.get(kueue.ClusterQueue.resource, env.name))
        return not is_true(queue.status.conditions, kueue.ACTIVE)

    await env.eventually(question, "the ClusterQueue is inactive")


async def is_caused(env, code, job="job", *, how="", within=45.0, **words):
    """Wait until a job has a cause, which says what it says on embedded clusters; `how` where it says it otherwise."""
    seen = []

    async def question():
        workload = await env.workload(job)
        if workload is None:
            return False
        # The controllers of these tests hold no Lease.
        cause = cause_of(workload, replace(await look(env.hub, env.name), silence=""))
        seen[:] = [cause]
        return cause.code == code and is_said(env, cause, how, **words)

    try:
        await env.eventually(question, f"the cause is {code} in its words", within=within)
    except AssertionError as error:
        raise AssertionError(f"{error}; it is {seen}") from None
    return seen[0]


def is_said(env, cause, how="", **words):
    own = {"name": env.name, "set": env.name, "label": env.label, "queue": "queue", "resource": "nvidia.com/gpu"}
    return says(cause, how, **own | words)


async def runs(env, job="job"):
    """Wait until nothing keeps a job any more."""
    await is_caused(env, "Admitted", job)


async def patch_queue(env, spec):
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": spec})


async def patch_placement(env, **spec):
    await env.hub.merge(cluster.Placement.resource, env.name, KUEUE, {"spec": spec})


def with_flavor(env, name):
    """Let a queue have its quota in another flavor."""
    (group,) = env.queue(FULL)["spec"]["resourceGroups"]
    return {"resourceGroups": [{**group, "flavors": [{**group["flavors"][0], "name": name}]}]}


def with_checks(*names):
    return {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}


async def submit_again(env, **how):
    """Do what the steps about a job itself say."""
    await env.hub.delete(Job.resource, "job", env.name)

    async def is_gone():
        return await env.workload("job") is None

    await env.eventually(is_gone, "the job is gone")
    await env.submit("job", **how)
