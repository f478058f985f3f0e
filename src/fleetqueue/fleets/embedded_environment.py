"""The walkthroughs' environment on embedded clusters: their systems as pods, the workers joined, queues and GPUs.

It is what the walkthroughs' set-up script leaves behind, made in the same order. Doing it again on a fleet that has it
changes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from fleetqueue.admin import cluster_sets
from fleetqueue.admin.creation import ensure_namespace
from fleetqueue.admin.waiting import Observed
from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token, token_request
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.fleetqueue import CREDENTIALS_ANNOTATION, DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import with_dispatcher
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import render
from fleetqueue.embedded.ocm.cluster_profiles.seed_credentials import with_credentials
from fleetqueue.embedded.ocm.registration.accepting import accept
from fleetqueue.fleets.embedded_cluster import EmbeddedCluster
from fleetqueue.fleets.embedded_settings import Report
from fleetqueue.fleets.real_environment import (
    CLUSTER_SET,
    REPLICA_SETS,
    WITHOUT_GPUS,
    add_gpus,
    queues_for_all,
    wait_until_whole,
)
from fleetqueue.fleets.systems import add_ons, kueue, kueue_roles, ocm
from fleetqueue.fleets.systems.operators import operators
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests import objects, shipped
from fleetqueue.manifests.custom_kinds import crds

HUB_KINDS: Final = ("kueue", "jobset", "ocm-hub", "managed-serviceaccount", "cluster-permission")
WORKER_KINDS: Final = ("kueue", "jobset", "ocm-agent", "about")
BOOTSTRAP_SECONDS: Final = 24 * 3600
"""How long a worker may take to begin; as `clusteradm` gives it."""
JOIN_SECONDS: Final = 60.0
"""All take a second together; a machine that does something else meanwhile may need many times that."""

SETTINGS: Final = """\
placement_admission:
  linger: 1.5
silent_agents:
  margin: 2
"""
"""What our controller is told: all clusters are near, so that it need not wait long."""
UNSCORED: Final = "not scored: the score add-on was removed"
QUICK_SCORES: Final = (
    "--set=scores.publish_interval=0.5",
    "--set=scores.refresh=1",
    "--set=scores.margin=2",
    "--set=scores.validity=12",
)
"""What the score agents are told, so that one can watch them: the hub then notices in 10 seconds that one is silent."""


async def set_up(
    hub: EmbeddedCluster, workers: Sequence[EmbeddedCluster], report: Report, *, agent_settings: Sequence[str] = ()
) -> None:
    """Make the environment and wait until it is whole; `agent_settings` are further arguments of the agents."""
    clients = {worker.name: worker.client() for worker in workers}
    await together(install_hub(hub.client()), *(install_worker(client) for client in clients.values()))
    report("Kueue, JobSet and Open Cluster Management run on every cluster")
    await together(*(join(hub, worker) for worker in workers))
    report("the workers have joined the hub")
    are_scored = await prepare_hub(hub.client(), agent_settings)
    await wait_until_whole(hub.client(), clients, are_scored=are_scored)
    report(f"the workers are reachable for Kueue, and {'scored' if are_scored else UNSCORED}")


async def install_hub(hub: Client) -> None:
    await install_kinds(hub, *HUB_KINDS)
    await create_all(hub, (with_credentials(definition) for definition in crds("cluster-inventory")))
    await create_all(hub, ocm.bootstrap_rights())
    await install(hub, *ocm.HUB_PARTS, *add_ons.HUB_PARTS)
    await install_kueue(hub, with_dispatcher(kueue.CONFIG, DISPATCHER_NAME))
    await create_all(hub, controller_manifests())


async def install_worker(worker: Client) -> None:
    await install_kinds(worker, *WORKER_KINDS)
    await install_kueue(worker, kueue.CONFIG)


async def install_kueue(cluster: Client, config: str) -> None:
    needed = operators(config)
    await kueue.mend(cluster)
    await install_kinds(cluster, *(operator.system for operator in needed))
    await create_all(cluster, kueue.before(config))
    await create_all(cluster, kueue_roles.roles())
    await install(cluster, kueue.KUEUE, kueue.JOBSET, *(operator.part for operator in needed))


def controller_manifests() -> Iterable[Manifest]:
    """Return our controller as it is shipped, with some settings for this environment.

    The agent's role on the hub comes with the add-on, which has another name here.
    """
    (kustomization,) = shipped("kustomize/kustomization.yaml")
    files = [file for file in kustomization["resources"] if file != add_ons.HUB_ROLE]
    for manifest in (one for file in files for one in shipped(f"kustomize/{file}")):
        if manifest["kind"] == "ConfigMap":
            manifest["data"]["settings.yaml"] += SETTINGS
        yield manifest


async def join(hub: EmbeddedCluster, worker: EmbeddedCluster) -> None:
    """Do what `clusteradm join` and `clusteradm accept` do, put the worker into its set, and give it GPUs."""
    client = hub.client()
    await create_all(worker.client(), ocm.klusterlet(worker.name, worker.url, await bootstrap_kubeconfig(hub)))
    if worker.name not in WITHOUT_GPUS:
        await add_gpus(worker.client(), worker.name)
    async with Observed({HUB: client}) as seen:
        seen.follow(HUB, ManagedCluster)
        await seen.until(
            lambda: seen[HUB].get(ManagedCluster, worker.name),
            limit=JOIN_SECONDS,
            what=f"the agent of {worker.name} has not introduced it",
        )
    await accept(client, worker.name)
    await ensure_namespace(client, worker.name)
    await create_all(client, for_cluster(worker.name))
    marks = {"labels": {CLUSTER_SET_LABEL: CLUSTER_SET}, "annotations": {CREDENTIALS_ANNOTATION: "true"}}
    await client.merge(ManagedCluster.resource, worker.name, "", {"metadata": marks})


def for_cluster(name: str) -> list[Manifest]:
    """Return what lets our controller read the one secret in which a worker's token comes."""
    text = orjson.dumps(shipped("kustomize/rbac/controller_role_cluster_namespace.yaml")).decode()
    return list(orjson.loads(text.replace("CLUSTER", name)))


async def bootstrap_kubeconfig(hub: EmbeddedCluster) -> str:
    """Write the kubeconfig with which an agent begins."""
    account = token_request(ocm.BOOTSTRAP_ACCOUNT, ocm.BOOTSTRAP_NAMESPACE, BOOTSTRAP_SECONDS)
    token = issued_token(await hub.client().create(ServiceAccount.resource, account, SUBRESOURCE)).token
    return render(hub.name, server=hub.url, ca=hub.ca, token=token, user="bootstrap")


async def prepare_hub(hub: Client, agent_settings: Sequence[str]) -> bool:
    """Bring sets, add-ons and queues to the workers; tell whether they are scored."""
    await cluster_sets.create_set(hub, CLUSTER_SET)
    await cluster_sets.bind(hub, CLUSTER_SET, "default")
    await create_all(hub, objects("placement-spoke.yaml"))
    await create_all(hub, add_ons.accounts_add_on())
    are_scored = await add_ons.install_scores(hub, *QUICK_SCORES, *agent_settings)
    await hub.apply(REPLICA_SETS, queues_for_all())
    return are_scored
