"""Two or three things are wrong at a time on real Kueue and real OCM: the first to mend is named, and then the next.

Each is mended by the command that its step begins with; by hand where the step is a sentence.
"""

import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from fleetqueue.admin import cluster_draining, cluster_sets
from fleetqueue.admin.step_commands import CONTEXT, commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS

from .conftest import WORKERS
from .explained_jobs import (
    FULL,
    KUEUE,
    LARGEST,
    is_caused,
    no_quota_is_reserved,
    patch_placement,
    patch_queue,
    runs,
    submit_again,
    with_checks,
    with_flavor,
)
from .shells import Shell

SEED = 299
"""One of those that draw most of the causes."""
PAIRS, TRIPLES = 3, 3
NEEDS = 2
"""GPUs of the job; a queue that is too small has one less."""
WORDS = {"needs": NEEDS, "has": NEEDS - 1}
Act = Callable[[Any], Awaitable[Any]]


class Fault(NamedTuple):
    code: str
    touches: str
    """Which fields it changes, by a word for each: two faults that change the same cannot be together."""
    breaks: Act
    mends: Act | None = None
    """What its step says; None where that is a command alone."""
    is_typed: bool = False
    """Whether its step has a command, which is typed; what `mends` does then is the same for further clusters."""
    of_job: bool = False
    """Whether the job has to be created again, as its step says."""
    how: str = ""
    """By which of its sentences it is told, where its code has several."""
    seen: str = ""
    """Where it shows before a job comes: at the check, which is `Inactive`, or at the `queue` alone."""


def queue_quota(gpus: int) -> Act:
    return lambda env: patch_queue(env, {"resourceGroups": env.queue(gpus)["spec"]["resourceGroups"]})


def on_workers(act: Callable[[Any, str], Awaitable[Any]]) -> Act:
    async def all_of_them(env: Any) -> None:
        for name in env.workers:
            await act(env, name)

    return all_of_them


def worker_queue(spec: Callable[[Any], dict[str, Any]]) -> Act:
    """Change the ClusterQueue of every worker."""
    return on_workers(
        lambda env, name: env.workers[name].merge(kueue.ClusterQueue.resource, env.name, "", {"spec": spec(env)})
    )


def worker_quota(gpus: int) -> Act:
    return worker_queue(lambda env: {"resourceGroups": env.queue(gpus)["spec"]["resourceGroups"]})


def config(name: str) -> Act:
    """Let the MultiKueue check lead to a config; to its own where none is named."""
    patch = {"spec": {"parameters": {"name": name}}}
    return lambda env: env.hub.merge(
        kueue.AdmissionCheck.resource, f"{env.name}-mk", "", patch if name else own_config(env)
    )


def own_config(env: Any) -> dict[str, Any]:
    return {"spec": {"parameters": {"name": env.name}}}


async def choose_from_empty_set(env: Any) -> None:
    await env.hub.create(cluster.ManagedClusterSet.resource, cluster.ManagedClusterSet.manifest(env.name, spec={}))
    await cluster_sets.bind(env.hub, env.name, KUEUE)
    await patch_placement(env, clusterSets=[env.name])


async def choose_from_unbound_set(env: Any) -> None:
    """Move the clusters' set out of the way: the one of the fleet is that of all tests."""
    labels = {"matchLabels": {env.label: "yes"}}
    selector = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": labels}}
    made = cluster.ManagedClusterSet.manifest(env.name, spec=selector)
    await env.hub.create(cluster.ManagedClusterSet.resource, made)
    await patch_placement(env, clusterSets=[env.name])


async def pin(env: Any) -> None:
    env.annotations = {ALLOWED_CLUSTERS: "cluster9"}


async def pin_no_more(env: Any) -> None:
    env.annotations = {}


FAULTS = (
    Fault(
        "LocalQueueMissing",
        "local",
        lambda env: env.hub.delete(kueue.LocalQueue.resource, "queue", env.name),
        lambda env: env.hub.create(kueue.LocalQueue.resource, env.local_queue()),
        of_job=True,
    ),
    Fault(
        "LocalQueueStopped",
        "local",
        lambda env: env.hub.merge(kueue.LocalQueue.resource, "queue", env.name, {"spec": {"stopPolicy": "Hold"}}),
        is_typed=True,
        of_job=True,
    ),
    Fault(
        "ClusterQueueMissing",
        "stop quota checks",
        lambda env: env.hub.delete(kueue.ClusterQueue.resource, env.name),
        lambda env: env.hub.create(kueue.ClusterQueue.resource, env.queue(FULL, [env.name, f"{env.name}-mk"])),
        of_job=True,
    ),
    Fault(
        "ClusterQueueStopped", "stop", lambda env: patch_queue(env, {"stopPolicy": "Hold"}), is_typed=True, seen="queue"
    ),
    Fault(
        "FlavorMissing", "quota", lambda env: patch_queue(env, with_flavor(env, "absent")), is_typed=True, seen="queue"
    ),
    Fault(
        "PlacementMissing",
        "sets predicates number",
        lambda env: env.hub.delete(cluster.Placement.resource, env.name, KUEUE),
        lambda env: env.hub.create(cluster.Placement.resource, env.placement()),
        seen="Inactive",
    ),
    Fault("SetNotBound", "sets labels", choose_from_unbound_set, is_typed=True, seen="Inactive"),
    Fault(
        "SetEmpty",
        "sets",
        choose_from_empty_set,
        lambda env: patch_placement(env, clusterSets=["fleet"]),
        seen="Inactive",
    ),
    Fault(
        "NumberIsZero", "number", lambda env: patch_placement(env, numberOfClusters=0), is_typed=True, seen="Inactive"
    ),
    Fault(
        "NoClusterMatches",
        "predicates labels",
        lambda env: env.select(),
        lambda env: env.select(*WORKERS),
        is_typed=True,
        seen="Inactive",
    ),
    Fault(
        "ClusterDraining",
        "taints",
        on_workers(lambda env, name: cluster_draining.drain(env.hub, name)),
        on_workers(lambda env, name: cluster_draining.undrain(env.hub, name)),
        is_typed=True,
        how=", and nobody else",
        seen="Inactive",
    ),
    Fault(
        "CheckMissing",
        "checks",
        lambda env: patch_queue(env, with_checks(env.name, f"{env.name}-mk", "absent")),
        is_typed=True,
        seen="queue",
    ),
    Fault("ConfigMissing", "config", config("absent"), config(""), seen="queue"),
    Fault("ExceedsQuota", "quota", queue_quota(NEEDS - 1), queue_quota(FULL)),
    Fault("PinnedToNobody", "job", pin, pin_no_more, of_job=True),
    Fault(
        "WorkerQueueMissing",
        "worker-local",
        on_workers(lambda env, name: env.workers[name].delete(kueue.LocalQueue.resource, "queue", env.name)),
        on_workers(lambda env, name: env.workers[name].create(kueue.LocalQueue.resource, env.local_queue())),
    ),
    Fault("WorkerQueueStopped", "worker-stop", worker_queue(lambda env: {"stopPolicy": "Hold"}), is_typed=True),
    Fault("WorkerQuotaTooSmall", "worker-quota", worker_quota(NEEDS - 1), worker_quota(LARGEST)),
)
"""In the order in which a job meets them, which is the order in which they are to be named."""
LEADING_NOWHERE = ("LocalQueueMissing", "LocalQueueStopped", "ClusterQueueMissing")
"""Of these Kueue does not know that a job is MultiKueue's when it is created."""


def can_be_together(faults: tuple[Fault, ...]) -> bool:
    words = [word for fault in faults for word in fault.touches.split()]
    return len(words) == len(set(words))


def drawn() -> list[tuple[Fault, ...]]:
    """Return pairs and triples by chance, always the same ones."""
    chance, groups = random.Random(SEED), []
    for size, count in ((2, PAIRS), (3, TRIPLES)):
        possible = [group for group in itertools.combinations(FAULTS, size) if can_be_together(group)]
        groups += chance.sample(possible, count)
    return groups


async def plant(env, faults):
    """Break all in another order than the one in which they are named, and wait until all of it shows."""
    for fault in random.Random(SEED).sample(faults, len(faults)):
        await fault.breaks(env)
    shown = {fault.seen for fault in faults}
    if "Inactive" in shown:
        await env.says("Active", "False")
    if shown != {""} and not any("ClusterQueueMissing" == fault.code for fault in faults):
        await no_quota_is_reserved(env)


async def mend(env, shell, fault, step):
    """Do what a step says."""
    if fault.is_typed:
        command, *_ = commands_of(step)
        _, _, contexts = step.partition("with your context of ")
        await shell.run(*(command.replace(CONTEXT, name) for name in contexts.split(" or ")))
    if fault.mends is not None:
        await fault.mends(env)


async def clean_up(env):
    """Give back what is not of the test alone."""
    for name in WORKERS:
        await cluster_draining.undrain(env.hub, name)
    for kind, name, namespace in (
        (cluster.ManagedClusterSetBinding, env.name, KUEUE),
        (cluster.ManagedClusterSet, env.name, ""),
        (kueue.ResourceFlavor, "absent", ""),
    ):
        if await env.get(kind, name, namespace) is not None:
            await env.hub.delete(kind.resource, name, namespace)


@pytest.mark.parametrize("group", [pytest.param(one, id="-".join(fault.code for fault in one)) for one in drawn()])
async def test_the_first_to_mend_is_named_first(env, engine, group):
    shell = Shell(env.world.fleet.kubeconfig, engine)
    env.annotations = {}
    of_workers = [fault for fault in group if fault.touches.startswith("worker-")]
    for fault in of_workers:  # before a controller looks at their queues
        await fault.breaks(env)
    try:
        async with env.heart():
            await env.says("Active", "True")
            await env.connected(*WORKERS)
            await plant(env, [fault for fault in group if fault not in of_workers])
            leads = not any(fault.code in LEADING_NOWHERE for fault in group)
            await env.submit("job", gpus=NEEDS, annotations=env.annotations, is_sent=leads)
            for fault in group:
                cause = await is_caused(env, fault.code, how=fault.how, **WORDS)
                await mend(env, shell, fault, cause.step)
                if fault.of_job:
                    await submit_again(env, gpus=NEEDS, annotations=env.annotations)
            await runs(env)
    finally:
        await clean_up(env)
