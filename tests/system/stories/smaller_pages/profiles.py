"""Other ways to the workers: OCM's proxy in front of them, and ClusterProfiles with an exec plugin."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.demo.story1 import is_connected as is_well_connected
from fleetqueue.demo.story2 import conditions, members
from fleetqueue.demo.story_run import LIMIT, StoryRun
from fleetqueue.fleets.systems.add_ons import PERMISSIONS
from fleetqueue.fleets.systems.ocm import REGISTRATION
from fleetqueue.fleets.systems.parts import SystemPart
from fleetqueue.lab.cluster_names import HUB

from .credentials import agent_away, look_at
from .placed import CHOSEN, account_of, connection, everything_is_active, is_connected, said_of_check
from .proxy import URL

IDS = ("C-7", "P-1", "C-8")
MEMBER = "worker1-cluster"
SETTINGS = "settings.yaml"
BY_HAND = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {{name: {MEMBER}}}
spec: {{clusterSource: {{clusterProfileRef: {{name: cluster1}}}}}}
"""
PROVIDER = {
    "name": "fleetqueue",
    "execConfig": {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "/plugins/kubeconfig-secretreader",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    },
}


async def tell(run: StoryRun) -> None:
    await change_kueue(run)
    await change_controller(run)
    await through_the_proxy(run)
    await by_hand(run)
    await by_the_controller(run)
    await lose_a_profile(run, "cluster3")
    await lose_a_token(run, "cluster3")
    await lose_a_permission(run, "cluster3")


async def change_kueue(run: StoryRun) -> None:
    """Turn the gate on and name the provider, as Kueue's page does."""
    found = await config_map(run, CONFIG_MAP, KUEUE_NAMESPACE)
    config = yaml.safe_load(found["data"][CONFIG_KEY])
    config["featureGates"] = {"MultiKueueClusterProfile": True}
    config["multiKueue"]["clusterProfile"] = {"credentialsProviders": [PROVIDER]}
    await change(run, found, CONFIG_KEY, config)
    await run.do(f"kubectl delete pods -l control-plane=controller-manager -n {KUEUE_NAMESPACE} --context kind-hub")


async def change_controller(run: StoryRun) -> None:
    """Tell our controller to use a proxy, and profiles."""
    found = await config_map(run, "fleetqueue-controller", NAMESPACE)
    settings = yaml.safe_load(found["data"][SETTINGS])
    settings["credentials"] = {"cluster_proxy_url": URL}
    settings["placement_admission"]["access"] = "profile"
    await change(run, found, SETTINGS, settings)
    await run.do(f"kubectl delete pods -l app.kubernetes.io/component=controller -n {NAMESPACE} --context kind-hub")


async def config_map(run: StoryRun, name: str, namespace: str) -> dict[str, Any]:
    found = json.loads(await run.do(f"kubectl get configmap {name} -n {namespace} -o json --context kind-hub"))
    return {**found, "metadata": {"name": name, "namespace": namespace}}


async def change(run: StoryRun, found: dict[str, Any], key: str, content: dict[str, Any]) -> None:
    changed = {**found, "data": {key: yaml.safe_dump(content)}}
    await run.do("kubectl apply -f - --context kind-hub", stdin=yaml.safe_dump(changed))


async def through_the_proxy(run: StoryRun) -> None:
    raw = await run.clients[HUB].get(ConfigMap.resource, "kube-root-ca.crt", KUEUE_NAMESPACE)
    ca = ConfigMap.view(raw).data["ca.crt"].encode().strip()
    wanted = {name: (f"{URL}/{name}", ca) for name in run.fleet.workers}
    await run.expect(
        "C-7",
        lambda: {name: told_by_secret(run, name) for name in wanted} == wanted,
        part="every kubeconfig has the proxy's URL for its cluster, and the hub's authority",
        why_not=lambda: str([told_by_secret(run, name) for name in wanted]),
    )
    await run.expect(
        "C-7",
        lambda: all(told_by_profile(run, name) == [wanted[name][0]] for name in wanted),
        part="and so have the profiles",
        why_not=lambda: str([told_by_profile(run, name) for name in wanted]),
    )


def told_by_secret(run: StoryRun, name: str) -> tuple[str, bytes]:
    found = connection(run, name)
    return (found.server, (found.ca or b"").strip()) if found else ("", b"")


def told_by_profile(run: StoryRun, name: str) -> list[str]:
    profile = run.hub.get(ClusterProfile, name, KUEUE_NAMESPACE)
    return [provider["cluster"]["server"] for provider in profile.status.access_providers] if profile else []


async def by_hand(run: StoryRun) -> None:
    await run.do("kubectl apply -f - --context manager-cluster", stdin=BY_HAND)
    await run.expect(
        "P-1",
        lambda: is_well_connected(run, MEMBER),
        part="with gate, provider and clusterProfileRef a cluster is Connected",
        why_not=lambda: conditions(run, [MEMBER]),
    )
    await run.do(f"kubectl delete multikueuecluster {MEMBER} --context manager-cluster")


async def by_the_controller(run: StoryRun) -> None:
    await run.expect(
        "C-8",
        lambda: profiles_of_members(run) == list(CHOSEN),
        part="the members of a Placement refer to the profiles of their clusters",
        why_not=lambda: str(profiles_of_members(run)),
    )
    await everything_is_active(run, "C-8", "and are Connected")
    await everything_is_active(run, "C-7", "through the proxy")


async def lose_a_profile(run: StoryRun, name: str) -> None:
    """Delete a profile while OCM, which would make it again at once, is away."""
    async with away(run, REGISTRATION):
        await run.do(f"kubectl delete clusterprofile {name} -n {KUEUE_NAMESPACE} --context kind-hub")
        await is_told_of(run, name, f"no ClusterProfile {name}", part="a member whose profile is lost is told of")
        await run.expect(
            "C-8",
            lambda: not is_connected(run, members(name)[0]),
            part="and is cut off",
            why_not=lambda: conditions(run, members(name)),
        )
    await everything_is_active(run, "C-8", "with the profile the connection comes back")


async def lose_a_token(run: StoryRun, name: str) -> None:
    """Delete a token while the agent, which would bring another at once, is away."""
    async with agent_away(run, name):
        await run.do(f"kubectl delete secret {account_of(name)} -n {name} --context kind-hub")
        await look_at(run, name)
        await is_told_of(run, name, lost_secret(name), part="so is one whose secret is lost")
    await everything_is_active(run, "C-8", "and comes back with it")


async def lose_a_permission(run: StoryRun, name: str) -> None:
    """Delete a permission while nobody brings the one to its worker that our controller makes again at once."""
    async with away(run, PERMISSIONS):
        await run.do(f"kubectl delete clusterpermission {account_of(name)} -n {name} --context kind-hub")
        await is_told_of(run, name, lost_secret(name), part="and one whose permission is lost, since its secret goes")
    await everything_is_active(run, "C-8", "and comes back with that")


def lost_secret(name: str) -> str:
    return f"no secret {credentials_secret(name)} yet"


async def is_told_of(run: StoryRun, name: str, why: str, *, part: str) -> None:
    """Expect the check to say what a member lacks, and the member to stay, since jobs may run there."""
    (member,) = members(name)
    await run.expect(
        "C-8",
        lambda: f"unusable now: {member} ({why})" in said_of_check(run),
        part=part,
        why_not=lambda: conditions(run, [member]),
    )
    run.judge("C-8", profiles_of_members(run) == list(CHOSEN), str(profiles_of_members(run)), part="and stays")


@asynccontextmanager
async def away(run: StoryRun, part: SystemPart) -> AsyncIterator[None]:
    """Let a part of the hub be away."""
    run.seen.follow(HUB, Pod)
    await run.seen.synced()
    scale = f"kubectl scale deployment {part.name} -n {part.namespace} --context kind-hub --replicas="
    await run.do(f"{scale}0")
    await run.seen.until(lambda: not pods(run, part), limit=LIMIT, what=f"{part.name} is away")
    try:
        yield
    finally:
        await run.do(f"{scale}1")


def pods(run: StoryRun, part: SystemPart) -> list[Pod]:
    return [pod for pod in run.hub.list(Pod, part.namespace) if pod.name.startswith(part.name)]


def profiles_of_members(run: StoryRun) -> list[str]:
    found = [run.hub.get(kueue.MultiKueueCluster, name) for name in members(*CHOSEN)]
    sources = [member.spec.cluster_source for member in found if member is not None]
    return [one.cluster_profile_ref.name for one in sources if one.cluster_profile_ref and not one.kube_config]
