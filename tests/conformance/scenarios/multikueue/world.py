"""MultiKueue scenarios on both fleets: a hub and two workers with Kueue on each.

Some need a Kueue that is configured for more than the shipped one: for JobSets and ClusterProfiles. They have a fleet
of their own.
"""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.jobset import wiring as job_sets
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.pods.exec_plugins import plugin_runner
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kueue import CONFIG_KEY, CONFIG_MAP
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, RealHub, lived_in, make_room  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor, run
from .end_state import end_state
from .form import PROVIDER, SYSTEM, WORKERS

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "m")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, kueue.MultiKueueCluster, kueue.AdmissionCheck)
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
HUB = "hub"


async def run_on_ours() -> Ends:
    return await _ours(is_configured=False) | await _ours(is_configured=True)


async def run_on_real(folder: Path) -> Ends:
    return await _real(folder / "shipped", is_configured=False) | await _real(folder / "configured", is_configured=True)


def _scenarios(*, is_configured: bool) -> list[Described]:
    return [each for each in DESCRIBED if each.get("configured", False) is is_configured]


# Ours


async def _ours(*, is_configured: bool) -> Ends:
    async with EmbeddedFleet.open(workers=len(WORKERS)) as fleet:
        for cluster in fleet.clusters.values():
            await _install_kinds(cluster.client(), "kueue", *_more_kinds(cluster.name, is_configured=is_configured))
            await cluster.client().create(Namespace.resource, Namespace.manifest(SYSTEM))
        await advance(60)  # the garbage collector looks for new kinds every half minute
        async with lived_in(fleet, lambda: _managers(fleet, is_configured=is_configured)):
            await advance(2)  # until its webhooks have their say
            sites = {name: EmbeddedHub(cluster.client(), settling=6) for name, cluster in fleet.clusters.items()}
            kubeconfigs = {name: cluster.kubeconfig for name, cluster in fleet.clusters.items()}
            return await _run(sites, kubeconfigs, _scenarios(is_configured=is_configured))


@asynccontextmanager
async def _managers(fleet: EmbeddedFleet, *, is_configured: bool) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for cluster in fleet.clusters.values():
            manager = _manager(fleet, cluster, is_configured=is_configured)
            await stack.enter_async_context(running(manager.run()))
            if is_configured:
                await stack.enter_async_context(running(run_job_sets(cluster.name, cluster.client())))
        yield


def _manager(fleet: EmbeddedFleet, cluster: InProcessCluster, *, is_configured: bool) -> KueueManager:
    view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
    install = partial(cluster.server.webhooks.install, "kueue")
    settings, remote = KueueSettings(), MultiKueueSettings()
    if is_configured:
        settings = KueueSettings(frameworks=FRAMEWORKS)
        providers = (_provider("fleetqueue", "secret-reader"),)
        remote = MultiKueueSettings(frameworks=FRAMEWORKS, serves_profiles=True, access_providers=providers)
    plugin = plugin_runner(cluster.client(), SYSTEM)
    is_hub = cluster is fleet.hub
    more = partial(wiring.controllers, view, metrics, remote, dial=fleet.dial, run_plugin=plugin) if is_hub else tuple
    return KueueManager(view, metrics, settings, find=cluster.server.find, install=install, more=more)


# The real ones


async def _real(folder: Path, *, is_configured: bool) -> Ends:
    frameworks = FRAMEWORKS if is_configured else ("batch/job",)
    async with (
        RealFleet(folder, workers=len(WORKERS), ocm="placement", frameworks=frameworks) as fleet,
        AsyncExitStack() as stack,
    ):
        followed: tuple[type[Object], ...] = FOLLOWED
        if is_configured:
            followed = (*FOLLOWED, JobSet)
            await together(*(_configure(fleet, name) for name in fleet.clusters))
        sites = await stack.enter_async_context(_sites(fleet, followed))
        if is_configured:
            for name, site in sites.items():
                await stack.enter_async_context(running(run_job_sets(name, site.client)))
        kubeconfigs = {name: cluster.kubeconfig.read_text() for name, cluster in fleet.clusters.items()}
        return await _run(sites, kubeconfigs, _scenarios(is_configured=is_configured))


async def _configure(fleet: RealFleet, name: str) -> None:
    """Let the Kueue of a cluster know JobSets, and that of the hub ClusterProfiles."""
    cluster = fleet.clusters[name]
    async with cluster.api() as api:
        definitions = list(crds("jobset"))
        await api.ensure_all(definitions)
        await api.wait_served(definitions)
    if name == HUB:
        await _configure_profiles(fleet)
    await fleet.kueue(cluster).restart()


async def _configure_profiles(fleet: RealFleet) -> None:
    kubeconfig = fleet.clusters[HUB].kubeconfig
    provider = _provider(sys.executable, "-m", "fleetqueue", "secret-reader", f"--kubeconfig={kubeconfig}")
    async with fleet.clusters[HUB].api() as api:
        path = ConfigMap.resource.path(SYSTEM, CONFIG_MAP)
        found = await api.get(path)
        assert found is not None
        config = yaml.safe_load(found["data"][CONFIG_KEY])
        config["featureGates"] = {**(config.get("featureGates") or {}), "MultiKueueClusterProfile": True}
        config["multiKueue"] = {**(config.get("multiKueue") or {}), "clusterProfile": {"accessProviders": [provider]}}
        text = yaml.safe_dump(config, sort_keys=False)
        await api.ensure(ConfigMap.manifest(CONFIG_MAP, SYSTEM, data={CONFIG_KEY: text}))


@asynccontextmanager
async def _sites(fleet: RealFleet, followed: tuple[type[Object], ...]) -> AsyncIterator[Mapping[str, Hub]]:
    async with AsyncExitStack() as stack:
        found: dict[str, Hub] = {}
        for name, cluster in fleet.clusters.items():
            opened = RealHub.open(cluster, followed, quiet=3.5, patience=180.0)
            found[name] = await stack.enter_async_context(opened)
        yield found


# Both


def _provider(command: str, *args: str) -> Manifest:
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": command,
        "args": list(args),
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    return {"name": PROVIDER, "execConfig": run}


def _more_kinds(name: str, *, is_configured: bool) -> tuple[str, ...]:
    if not is_configured:
        return ()
    return ("jobset", "cluster-inventory") if name == HUB else ("jobset",)


async def _install_kinds(client: Client, *systems: str) -> None:
    for system in systems:
        for definition in crds(system):
            await client.create(CustomResourceDefinition.resource, definition)


async def run_job_sets(name: str, client: Client) -> None:
    """Run our stand-in for JobSet's controller."""
    cluster = Cluster(name, client)
    await Manager(cluster, job_sets.controllers(cluster, Metrics())).run()


async def _run(sites: Mapping[str, Hub], kubeconfigs: dict[str, str], scenarios: list[Described]) -> Ends:
    for site in sites.values():
        await make_room(site.client)
    actors = [Actor(sites, kubeconfigs, described, PREFIXES[described["name"]]) for described in scenarios]
    await run(sites, actors)
    return {actor.said["name"]: await end_state(actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=600.0)
