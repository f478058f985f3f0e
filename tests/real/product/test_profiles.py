"""Kueue itself reaches the workers through ClusterProfiles, with an access plugin that reads our secrets.

The plugin here is a stand-in of a few lines for kubeconfig-secretreader of the cluster-inventory-api: it is told which
secret, reads it on the hub, and prints the token. The `fleetqueue controller` runs as shipped.
"""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP

KUEUE = "kueue-system"
WORKERS = ("cluster1", "cluster2", "cluster3")
PROFILE_MODE = {
    "placement_admission.access": "profile",
    "placement_admission.drain_poll": 0.5,
    "placement_admission.linger": 0.5,
}
PLUGIN = """#!{python}
import base64, json, os, subprocess, yaml

secret = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]["config"]
read = ["{kubectl}", "--kubeconfig={hub}", "-n", secret["namespace"], "get", "secret", secret["name"], "-o", "json"]
data = json.loads(subprocess.check_output(read))["data"]
kubeconfig = yaml.safe_load(base64.b64decode(data[secret["key"]]))
with open("{asked}", "a") as asked:
    print(secret["name"], file=asked)
status = {{"token": kubeconfig["users"][0]["user"]["token"]}}
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""


class Plugin:
    """An executable that hands out tokens, and remembers for which secrets."""

    def __init__(self, folder: Path, *, kubectl: Path, hub: Path) -> None:
        self.path = folder / "access-plugin"
        self.log = folder / "asked"
        self.path.write_text(PLUGIN.format(python=sys.executable, kubectl=kubectl, hub=hub, asked=self.log))
        self.path.chmod(0o755)

    def asked_for(self):
        return set(self.log.read_text().split())


def with_profiles(text, plugin):
    """Return Kueue's configuration as docs/en/guides/credentials.md has it, with this plugin."""
    config = yaml.safe_load(text)
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin.path),
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    gates = {**(config.get("featureGates") or {}), "MultiKueueClusterProfile": True}
    profiles = {"accessProviders": [{"name": "fleetqueue", "execConfig": run}]}
    multikueue = {**(config.get("multiKueue") or {}), "clusterProfile": profiles}
    return yaml.safe_dump({**config, "featureGates": gates, "multiKueue": multikueue}, sort_keys=False)


async def configure(world, text):
    await world.hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE, {"data": {CONFIG_KEY: text}})
    await world.fleet.restart("hub/kueue")


def profile(name):
    labels = {MANAGER_LABEL: OCM_MANAGER, OCM_CLUSTER_LABEL: name}
    spec = {"displayName": name, "clusterManager": {"name": OCM_MANAGER}}
    return ClusterProfile.manifest(name, KUEUE, labels=labels, spec=spec)


@pytest_asyncio.fixture(loop_scope="session")
async def plugin(env, engine, tmp_path):
    """Let the hub's Kueue follow ClusterProfiles through the plugin, and give every worker a profile, as OCM would."""
    world = env.world
    plugin = Plugin(tmp_path, kubectl=engine.binary("kubectl"), hub=world.fleet.clusters["hub"].kubeconfig)
    before = (await world.hub.get(ConfigMap.resource, CONFIG_MAP, KUEUE))["data"][CONFIG_KEY]
    for name in WORKERS:
        await world.ensure(world.hub, profile(name), ClusterProfile)
    try:
        await configure(world, with_profiles(before, plugin))
        yield plugin
    finally:
        for name in WORKERS:
            with suppress(errors.NotFound):
                await world.hub.delete(ClusterProfile.resource, name, KUEUE)
        await configure(world, before)


async def member_says(env, name, reason):
    """Wait until Kueue says of a member what is expected; return its words."""

    async def said():
        member = await env.get(kueue.MultiKueueCluster, f"{env.name}-{name}")
        found = conditions.find(member.status.conditions, "Active") if member else None
        return found if found is not None and found.reason == reason else None

    return await env.eventually(said, f"Kueue says {reason} of {name}")


async def check_message(env, part):
    async def said():
        active = conditions.find((await env.check()).status.conditions, "Active")
        return active if active is not None and part in active.message else None

    return await env.eventually(said, f"the check says {part!r}")


@pytest.mark.checklist("P-1")
@pytest.mark.checklist("C-8")
async def test_kueue_connects_through_profiles_runs_a_job_there_and_the_check_tells_of_a_lost_one(env, plugin):
    replica = await env.replica("profiles", **PROFILE_MODE)
    try:
        await replica.works()
        await env.lists(*WORKERS)
        for name in WORKERS:
            raw = await env.hub.get(kueue.MultiKueueCluster.resource, f"{env.name}-{name}")
            assert raw["spec"]["clusterSource"] == {"clusterProfileRef": {"name": name}}
            assert (await member_says(env, name, "Active")).message == "Connected"
        assert plugin.asked_for() == {f"kueue-admin-{name}-kubeconfig" for name in WORKERS}

        await env.submit("job", run_for="5s")
        place = await env.running_on("job")
        await env.finished("job")

        await env.hub.delete(ClusterProfile.resource, place, KUEUE)
        active = await check_message(env, f"unusable now: {env.name}-{place} (no ClusterProfile {place})")
        assert active.status == "True"
        await member_says(env, place, "BadClusterProfile")
        await env.lists(*WORKERS)
        await env.submit("elsewhere", run_for="5s")
        assert await env.running_on("elsewhere") != place

        await env.hub.create(ClusterProfile.resource, profile(place))
        await member_says(env, place, "Active")
        await env.finished("elsewhere")
    finally:
        await replica.stop()
