"""Look at a whole fleet: the hub first, then every worker and every credential that the user may read."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final, TypeVar

from fleetqueue import clock
from fleetqueue.admin.checkups.credentials import used_secrets
from fleetqueue.admin.checkups.findings import HUB
from fleetqueue.admin.checkups.kueue_answers import ask_kueue
from fleetqueue.admin.checkups.listings import greet, look, of_hub
from fleetqueue.admin.checkups.reaching import AT_ONCE, WorkerAccess, prove, visit
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects, cluster_of
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster, Placement
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.external_kinds import parsed
from fleetqueue.api.fleetqueue import CLUSTER_UID, KUEUE_NAMESPACE
from fleetqueue.api.kueue_configuration import read
from fleetqueue.api.kueue_installation import KueueConfigMap, KueueDeployment, KueuePod, KueueSource, key_in, source_of
from fleetqueue.api.running_kueue import RunningKueue, Version, managers
from fleetqueue.api.running_kueue import kueue as kueue_as_it_runs
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.worker_rules import JobKind, Rights, rights_for
from fleetqueue.controllers.processes.capabilities import known_identity

Report = Callable[[str], None]
T = TypeVar("T")
SILENT: Final[Report] = lambda line: None  # noqa: E731 - a default to be called


async def survey(
    hub: Client,
    access: WorkerAccess,
    *,
    kueue_namespace: str = KUEUE_NAMESPACE,
    config_map: str = "",
    report: Report = SILENT,
) -> FleetSurvey:
    """See what there is to judge; raises Unauthorized and Unreachable where that is so of the hub."""
    greeting = await greet(hub)
    now = clock.now() + timedelta(seconds=greeting.ahead or 0.0)
    objects, specs, answer = await asyncio.gather(
        look(hub, of_hub(kueue_namespace)), _placement_specs(hub), ask_kueue(hub)
    )
    source = source_of(objects.all(KueueDeployment), config_map)
    kueue_now = running(objects, source, kueue_namespace)
    clusters, secrets = objects.all(ManagedCluster), used_secrets(objects)
    report(f"the hub is read; asking {len(clusters)} clusters and {len(secrets)} credentials")
    rights = await _rights(hub, kueue_now) if kueue_now is not None else None
    uids = {cluster_of(secret): secret.metadata.annotations.get(CLUSTER_UID, "") for secret in objects.all(Secret)}
    workers = await _some_at_once(visit(access, one, uids.get(one.name, ""), kueue_namespace) for one in clusters)
    servers = {o.name: access.servers(o, worker.context) for o, worker in zip(clusters, workers, strict=True)}
    proofs = await _some_at_once(
        prove(access.dial, secret, rights, servers) for secret in secrets if rights is not None
    )
    return FleetSurvey(
        now,
        objects,
        kueue_namespace,
        await known_identity(hub),
        greeting.version,
        greeting.ahead,
        kueue_now,
        f"{kueue_namespace}/{source.config_map}",
        workers,
        specs,
        {proof.secret: proof for proof in proofs},
        answer,
    )


def running(objects: SeenObjects, source: KueueSource, namespace: str) -> RunningKueue | None:
    """Return what Kueue runs with; None where its configuration cannot be seen."""
    config_map = objects.by_key(KueueConfigMap).get(f"{namespace}/{source.config_map}")
    if config_map is None or not objects.sees(KueueDeployment, KueuePod):
        return None
    key = key_in(config_map.data, source.key)
    if not key:
        return None
    version = Version(read(config_map.data[key], source.feature_gates), config_map.changed.get(key))
    pods = managers(source, objects.all(KueuePod))
    return kueue_as_it_runs([version], pods, is_seen=bool(source.deployment))


async def _placement_specs(hub: Client) -> dict[str, Manifest]:
    try:
        page = await hub.list(Placement.resource)
    except (errors.Forbidden, errors.NotFound):
        return {}
    return {Placement.view(raw).key: raw.get("spec") or {} for raw in page.items}


async def _rights(hub: Client, kueue_now: RunningKueue) -> Rights:
    """Return what Kueue needs on workers; kinds of which only the hub knows the names are asked for there."""
    external = {}
    for name in {name for configuration in kueue_now.all for name in configuration.external_frameworks}:
        wanted = parsed(name)
        plural = await hub.plural_of(wanted.api_version, wanted.kind) if wanted else ""
        if wanted and plural:
            external[name] = JobKind(wanted.group, wanted.version, plural)
    return rights_for(kueue_now.all, external)


async def _some_at_once(work: Iterable[Awaitable[T]]) -> list[T]:
    """Do things beside each other, but not all of a large fleet."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def in_turn(one: Awaitable[T]) -> T:
        async with turn:
            return await one

    return list(await asyncio.gather(*map(in_turn, work)))


def kubectl_options(fleet: FleetSurvey, file: tuple[str, ...], context: str) -> dict[str, Sequence[str]]:
    """Say how each cluster is named to kubectl: as the user named the hub, and workers by their contexts."""
    workers = {one.name: (*file, "--context", one.context or one.name) for one in fleet.workers}
    return {HUB: (*file, *(("--context", context) if context else ())), **workers}
