"""Jobs that are submitted and followed on real Kueue, and their rows."""

from fleetqueue.admin import inventory
from fleetqueue.admin.job_watching import follower
from fleetqueue.admin.queue_positions import GROUP, PENDING_WORKLOADS, VERSIONS
from fleetqueue.admin.submitting import documents, placed, prepare, submit
from fleetqueue.api import kueue_v1beta2 as kueue

from .conftest import eventually

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{generateName: train-}}
spec:
  template:
    metadata: {{annotations: {{fleetqueue.dev/run-for: 3s}}}}
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: example.com/sleep
          resources: {{requests: {{cpu: 10m, nvidia.com/gpu: {gpus}}}, limits: {{nvidia.com/gpu: {gpus}}}}}
"""


async def prepared(env, gpus=1):
    (queue,) = (await env.hub.list(kueue.LocalQueue.resource, env.name)).items
    (document,) = documents(JOB.format(gpus=gpus), "job.yaml")
    job = placed(document, queue=queue["metadata"]["name"], namespace=env.name, default_namespace="default")
    return await prepare(env.hub, [job])


async def test_a_submitted_job_is_followed_to_its_end(env):
    async with env.heart(), follower(env.hub, {env.name}) as following:
        (one,) = [await submit(env.hub, one) for one in await prepared(env)]
        phases = [phase async for phase in following.phases([one])]

    words = [phase.phase for phase in phases]
    assert words[0] == "queued"
    assert {"nominated", "admitted"} & set(words)
    assert words[-1] == "succeeded"
    (row,) = await inventory.jobs(env.hub, env.name, one.job)
    assert row["result"] == "Succeeded"
    assert row["clusters"][0] in ("cluster1", "cluster2", "cluster3")
    assert row["members"] == [f"{env.name}-{row['clusters'][0]}"]


async def queued(env):
    rows = await inventory.jobs(env.hub, env.name)
    return rows if [row["state"] for row in rows] == ["Pending", "Pending"] else None


async def test_a_job_that_waits_has_its_position_where_kueue_tells_it(env):
    async with env.heart():
        for job in [*await prepared(env, gpus=1000), *await prepared(env, gpus=2000)]:
            await submit(env.hub, job)
        rows = await eventually(lambda: queued(env), "both jobs have a Workload")

    is_told = any([f"localqueues/{PENDING_WORKLOADS}" in await env.hub.served(f"{GROUP}/{v}") for v in VERSIONS])
    assert sorted(row["position"] for row in rows if is_told) == ([1, 2] if is_told else [])
