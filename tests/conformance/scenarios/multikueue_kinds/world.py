"""The scenarios of each family of kinds on both fleets: a hub and two workers with Kueue on each."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.external_frameworks import ExternalAdapter
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kueue import CONFIG_KEY, CONFIG_MAP, read_config
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.arranged_objects import resource_of
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, LastChange, RealHub, lived_in, make_room  # noqa: TID252 - the rooms share them
from ..multikueue.doing import run  # noqa: TID252
from ..multikueue.form import SYSTEM, WORKERS  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes  # noqa: TID252
from .doing import Actor
from .end_state import end_state
from .families import FAMILIES, Family
from .form import SENT, connections

HERE = Path(__file__).parent
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, kueue.MultiKueueCluster, kueue.AdmissionCheck)


async def run_on_ours(family: Family, described: Sequence[Described] = (), *, is_checked: bool = True) -> Ends:
    async with EmbeddedFleet.open(workers=len(WORKERS)) as fleet:
        for cluster in fleet.clusters.values():
            of_systems = [one for system in ("kueue", *family.systems) for one in crds(system)]
            for definition in [*of_systems, *family.definitions]:
                await cluster.client().create(CustomResourceDefinition.resource, definition)
            await cluster.client().create(Namespace.resource, Namespace.manifest(SYSTEM))
        await advance(60)  # the garbage collector looks for new kinds every half minute
        async with lived_in(fleet, lambda: _managers(fleet, family), is_checked=is_checked):
            await advance(2)  # until its webhooks have their say
            sites = {name: EmbeddedHub(cluster.client(), settling=6) for name, cluster in fleet.clusters.items()}
            kubeconfigs = {name: cluster.kubeconfig for name, cluster in fleet.clusters.items()}
            return await _run(sites, kubeconfigs, family, described or family.described)


async def run_on_real(family: Family, folder: Path) -> Ends:
    async with RealFleet(folder, workers=len(WORKERS), ocm="none", frameworks=family.frameworks) as fleet:
        if family.external:
            await together(*(_configure(fleet, name, family) for name in fleet.clusters))
        kubeconfigs = {name: cluster.kubeconfig.read_text() for name, cluster in fleet.clusters.items()}
        async with _sites(fleet, family) as sites:
            return await _run(sites, kubeconfigs, family, family.described)


async def _configure(fleet: RealFleet, name: str, family: Family) -> None:
    """Let every cluster serve the kinds of somebody else, and the hub's Kueue send them."""
    async with fleet.clusters[name].api() as api:
        await api.ensure_all(family.definitions)
        await api.wait_served(family.definitions)
        if name != HUB:
            return
        config = await read_config(api)
        external = {"externalFrameworks": [{"name": each} for each in family.external]}
        config["multiKueue"] = {**(config.get("multiKueue") or {}), **external}
        text = yaml.safe_dump(config, sort_keys=False)
        await api.ensure(ConfigMap.manifest(CONFIG_MAP, SYSTEM, data={CONFIG_KEY: text}))
    await fleet.kueue(fleet.clusters[name]).restart()


@asynccontextmanager
async def _managers(fleet: EmbeddedFleet, family: Family) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for cluster in fleet.clusters.values():
            await stack.enter_async_context(running(_manager(fleet, cluster, family).run()))
        yield


def _manager(fleet: EmbeddedFleet, cluster: InProcessCluster, family: Family) -> KueueManager:
    view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
    install = partial(cluster.server.webhooks.install, "kueue")
    remote = MultiKueueSettings(frameworks=family.frameworks, external_frameworks=tuple(family.external))
    external = [ExternalAdapter(name, kind) for name, kind in family.external.items()]
    is_hub = cluster is fleet.hub
    more = partial(wiring.controllers, view, metrics, remote, dial=fleet.dial, external=external) if is_hub else tuple
    settings = KueueSettings(frameworks=family.frameworks)
    return KueueManager(view, metrics, settings, find=cluster.server.find, install=install, more=more)


@asynccontextmanager
async def _sites(fleet: RealFleet, family: Family) -> AsyncIterator[Mapping[str, Hub]]:
    """Follow all clusters together: what ends on one of them begins on another."""
    followed = (*FOLLOWED, *(SENT[word] for word in family.words))
    last_change = LastChange()
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(
                RealHub.open(cluster, followed, quiet=4.0, patience=180.0, last_change=last_change)
            )
            for name, cluster in fleet.clusters.items()
        }


async def _run(
    sites: Mapping[str, Hub], kubeconfigs: dict[str, str], family: Family, described: Sequence[Described]
) -> Ends:
    for site in sites.values():
        await make_room(site.client)
    for manifest in connections(kubeconfigs):
        await sites[HUB].client.create(resource_of(manifest), manifest)
    names = prefixes(family.described, family.name[0])
    actors = [Actor(sites, each, family.words, names[each["name"]]) for each in described]
    await run(sites, actors)
    return {actor.said["name"]: await end_state(actor) for actor in actors}


WORLDS = tuple(
    World(
        HERE / family.name,
        family.described,
        partial(run_on_ours, family),
        partial(run_on_real, family),
        time_limit=900.0,
    )
    for family in FAMILIES
)
