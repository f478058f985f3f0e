"""What a user types at a hub all day, against real clusters: explain, get jobs, logs, drain and the dashboard."""

import json
import re

import aiohttp
import pytest_asyncio

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from tests.cause_sentences import SENTENCES

from .shells import Shell

NOTHING, NO_PODS = 0, 3
LINK = re.compile(r"(http://127\.0\.0\.1:\d+/)#token=(\S+)")


@pytest_asyncio.fixture(loop_scope="session")
async def shell(env, engine):
    """Somebody who types while a controller works, which holds its Lease."""
    replica = await env.replica("typed")
    try:
        await replica.works()
        yield Shell(env.world.fleet.kubeconfig, engine)
    finally:
        await replica.stop()


async def explained(env, shell, code):
    """Type `explain job` until it has a cause; return what it says for programs."""

    async def question():
        found, text = await shell.type(f"fleetqueue explain job job -n {env.name} -o json")
        (document,) = json.loads(text) if found == NOTHING else ({},)
        return document if document.get("cause") == code else None

    return await env.eventually(question, f"explain says {code}", within=90.0)


async def test_a_job_is_explained_while_it_waits_and_when_it_runs(env, shell):
    await env.submit("job", annotations={ALLOWED_CLUSTERS: "cluster9"})
    waiting = await explained(env, shell, "PinnedToNobody")
    for_people = unwrapped(await shell.run(f"fleetqueue explain job job -n {env.name}"))

    await env.hub.delete(Job.resource, "job", env.name)
    await env.submit("other")
    await env.running_on("other")
    running = await shell.run(f"fleetqueue explain job other -n {env.name}")

    assert waiting["sentence"] == SENTENCES["PinnedToNobody"].format(name=env.name)
    assert f"N{waiting['sentence'][1:]}. To do: {waiting['step']}" in for_people
    assert SENTENCES["Admitted"] in running


def unwrapped(text):
    return " ".join(text.split())


async def test_a_job_that_is_watched_tells_how_far_it_is(env, shell):
    await stop_queue(env, "Hold")
    await env.submit("job", run_for="2s")
    async with shell.typed(f"fleetqueue get jobs job -n {env.name} --watch -o json") as watching:
        rows = []
        async for line in watching.stdout:
            rows.append(json.loads(line))
            if len(rows) == 1:
                await stop_queue(env, "None")
            if rows[-1]["state"] == "Finished":
                break

    states = list(dict.fromkeys(row["state"] for row in rows))
    assert states[-2:] == ["Admitted", "Finished"]
    assert all(row["cause"] and row["why"] for row in rows)
    assert rows[-1]["clusters"][0] in env.workers


async def stop_queue(env, policy):
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": {"stopPolicy": policy}})


async def test_the_logs_of_a_job_are_asked_of_the_worker_that_has_its_pods(env, shell):
    """The fleet's own contexts lead past what the hub knows as addresses; the nodes are played, and have no logs."""
    await env.submit("job")
    where = await env.running_on("job")
    (pod,) = await env.eventually(lambda: running_pods(env, where), "its pod runs")
    other = next(name for name in sorted(env.workers) if name != where)

    asked, said = await shell.type(f"fleetqueue logs job -n {env.name} --worker-context {where}")
    unasked, likewise = await shell.type(f"fleetqueue logs job -n {env.name}")
    astray, why = await shell.type(f"fleetqueue logs job -n {env.name} --worker-context {other}")

    assert (asked, unasked, astray) == (NOTHING, NOTHING, NO_PODS)
    assert said.startswith(f"{pod}  ")
    assert f"/containerLogs/{env.name}/{pod}/main" in said or "is simulated by kwok, which has no logs of pods" in said
    assert likewise == said
    assert f"context {other} leads to {other}" in why


async def running_pods(env, worker):
    found = (await env.workers[worker].list(Pod.resource, env.name)).items
    return [raw["metadata"]["name"] for raw in found if raw["status"]["phase"] == "Running"]


async def test_a_worker_is_drained_and_serves_again(env, shell):
    await env.lists("cluster1", "cluster2", "cluster3")
    try:
        drained = await shell.run("fleetqueue drain cluster1 --wait")
        await env.lists("cluster2", "cluster3")
    finally:
        served = await shell.run("fleetqueue undrain cluster1")
    await env.lists("cluster1", "cluster2", "cluster3")

    assert drained.splitlines()[0] == "cluster1 is drained: nothing of ours is left on it"
    assert served.strip() == "cluster1 may serve again"


async def test_the_dashboard_is_served_to_who_has_its_link(env, shell):
    await env.submit("job")
    await env.running_on("job")
    async with shell.typed(f"fleetqueue dashboard -n {env.name}") as serving, aiohttp.ClientSession() as session:
        async for line in serving.stdout:
            if link := LINK.search(line.decode()):
                break
        address, token = link.groups()
        headers = {"Authorization": f"Bearer {token}"}
        async with session.get(address) as page, session.get(f"{address}api/stream") as refused:
            answers = page.status, refused.status
        async with session.get(f"{address}api/stream", headers=headers) as stream:
            kind = await stream.content.readline()
            async for line in stream.content:
                if b'"job":"Job/job"' in line:  # in the snapshot, or in what came soon after
                    break

    assert answers == (200, 401)
    assert kind == b"event: snapshot\n"
