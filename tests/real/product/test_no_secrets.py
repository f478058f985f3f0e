"""No token, key or secret of a real fleet stands in the logs of our own processes, even where they say all they can.

The finder is that of the embedded fleet; each log is that of a controller or an agent with the shipped roles.
"""

from contextlib import asynccontextmanager

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret, ServiceAccount, secret
from fleetqueue.api.fence import LEASE
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, credentials_secret
from fleetqueue.runtime.cluster import LABELLED_OURS
from tests.secret_values import findable, names_of_those_with, of_kubeconfig, of_secrets

from .conftest import WORKERS
from .fence_agents import Agent

KUEUE = "kueue-system"
SLOW = 90.0
LOUD = {"logs.level": "debug", "placement_admission.drain_poll": 0.5, "credentials.linger": 1.0}


async def secrets_of(env):
    """Return what opens the fleet now: Secrets of all clusters, kubeconfigs, and private keys in its folder."""
    found = [await client.list(Secret.resource) for client in (env.hub, *env.workers.values())]
    values = {value for page in found for value in of_secrets(page.items)}
    folder = env.world.fleet.data_dir
    for path in (path for path in folder.rglob("*") if path.is_file()):
        if "kubeconfig" in path.name:
            values.update(of_kubeconfig(path.read_text()))
        elif path.suffix == ".key":
            values.add(path.read_text())
    return findable(values)


def own_logs(env):
    """Return the logs of our own processes: those of real parts stand in folders of clusters."""
    folder = env.world.fleet.data_dir
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.log") if is_own(path)}


def is_own(path):
    return path.parent.name != "logs" or path.name == "forwarder.log"


async def kubeconfig(env):
    found = await env.get(Secret, credentials_secret("cluster1"), KUEUE)
    return found.text(KUBECONFIG_KEY) or ""


async def spoil(env, text):
    data = secret("", KUEUE, {KUBECONFIG_KEY: text})["data"]
    await env.hub.merge(Secret.resource, credentials_secret("cluster1"), KUEUE, {"data": data})


async def is_another(env, old):
    """Tell whether a controller has written a kubeconfig that is neither the old one nor what was put in its place."""
    now = await kubeconfig(env)
    return now.startswith("apiVersion") and now not in (old, half(old))


def half(text):
    """Return a kubeconfig that ends in the middle of its token: no YAML any more, and secret all the same."""
    return text.replace("token: ", 'token: "')


@asynccontextmanager
async def loud_controller(env, name):
    """Run a controller process that logs all that it can."""
    replica = await env.replica(name, **LOUD)
    try:
        await replica.works()
        yield
    finally:
        await replica.stop()


async def send_and_lose(env, agent):
    """Use credentials, find one broken, which is replaced, and lose a worker."""
    await env.lists(*WORKERS)
    await env.submit("job", run_for="5s")
    await env.finished("job")
    old = await kubeconfig(env)
    await spoil(env, half(old))
    await env.eventually(lambda: is_another(env, old), "a broken kubeconfig is replaced", within=SLOW)
    await env.world.fleet.cut(agent.name)
    await agent.way.cut()
    await env.eventually(lambda: is_cut(env, agent.name), "a worker is lost", within=SLOW)
    await env.world.fleet.heal(agent.name)
    await agent.way.heal()


async def forget_credential(env):
    """Let a worker refuse the credential that the hub has for it; who runs already does not ask again soon."""
    worker = env.workers["cluster1"]
    for account in (await worker.list(ServiceAccount.resource, KUEUE, labels=LABELLED_OURS)).items:
        await worker.delete(ServiceAccount.resource, account["metadata"]["name"], KUEUE)


async def is_cut(env, name):
    return not (await env.get(kueue.MultiKueueCluster, f"{env.name}-{name}")).is_connected


async def test_logs_of_controllers_and_agents_keep_no_secret(env):
    agent = Agent(env.world, "cluster2")
    await agent.set_up()
    await agent.start(**{"logs.level": "debug"})
    try:
        async with loud_controller(env, "first"):
            secrets = await secrets_of(env)
            await send_and_lose(env, agent)
        secrets |= await secrets_of(env)
        old = await kubeconfig(env)
        await forget_credential(env)
        async with loud_controller(env, "second"):
            await env.eventually(lambda: is_another(env, old), "a refused kubeconfig is replaced", within=SLOW)
        secrets |= await secrets_of(env)
    finally:
        await agent.close()
        await env.hub.delete(Lease.resource, LEASE, agent.name)

    logs = own_logs(env)
    assert logs[f"agent-{agent.name}/agent.log"]
    assert "the kubeconfig is not YAML" in logs[f"{env.name}-first.log"]
    assert "manager: working" in logs[f"{env.name}-second.log"]
    assert len(secrets) > 100
    assert names_of_those_with(secrets, {"itself": max(secrets)}) == ["itself"]
    assert names_of_those_with(secrets, logs) == []
