"""A real Kueue goes on with the configuration that it was started with, whatever its ConfigMap says by now."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import yaml

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP, with_dispatcher
from fleetqueue.api.kueue_installation import KueueDeployment, KueuePod
from fleetqueue.testing.builders import kueue_deployment, kueue_pod

KUEUE = "kueue-system"


@asynccontextmanager
async def shown_as_a_pod(env) -> AsyncIterator[None]:
    """Let the hub show Kueue, which is a process here, as the pod of a Deployment that starts now."""
    hub, deployment, pod = env.hub, kueue_deployment(), kueue_pod()
    status = {"status": pod.pop("status")}
    try:
        await hub.create(KueueDeployment.resource, deployment)
        made = KueuePod.view(await hub.create(KueuePod.resource, pod))
        await hub.merge(KueuePod.resource, made.name, KUEUE, status, subresource="status")
        await env.eventually(lambda: _is_older(made), "the pod is a second older than what comes next")
        yield
    finally:
        for kind, manifest in ((KueuePod, pod), (KueueDeployment, deployment)):
            with suppress(errors.NotFound):
                await hub.delete(kind.resource, manifest["metadata"]["name"], KUEUE, grace=0)


async def _is_older(pod) -> bool:
    """Objects have whole seconds: what happens in one second cannot be told apart."""
    return (clock.now() - pod.metadata.creation_timestamp).total_seconds() > 1.0


@asynccontextmanager
async def reverted(hub) -> AsyncIterator[None]:
    """Let somebody take our dispatcher out of the ConfigMap, and restart nothing."""
    before = (await hub.get(ConfigMap.resource, CONFIG_MAP, KUEUE))["data"][CONFIG_KEY]
    assert "dispatcherName" in yaml.safe_load(before)["multiKueue"]
    await hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE, {"data": {CONFIG_KEY: with_dispatcher(before, None)}})
    try:
        yield
    finally:
        await hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE, {"data": {CONFIG_KEY: before}})


async def test_jobs_flow_after_the_dispatcher_was_reverted_without_a_restart(env):
    async with shown_as_a_pod(env), env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")
        async with reverted(env.hub):
            said = await env.says("Dispatching", "True", "KueueRestartNeeded")
            await env.submit("job")

            assert await env.running_on("job")
            assert "multiKueue.dispatcherName is not in force yet" in said.message


async def test_who_begins_in_the_gap_nominates_in_doubt(env):
    async with shown_as_a_pod(env):
        async with env.heart():
            await env.connected("cluster1", "cluster2", "cluster3")
        async with reverted(env.hub), env.heart():
            said = await env.says("Dispatching", "True", "KueueRestartNeeded")
            await env.submit("job")

            assert await env.running_on("job")
            assert "what it runs with is not known" in said.message
