"""What must be true when the faults are over: every job has ended once, nothing is left, and nobody writes any more."""

from collections.abc import Callable, Mapping
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.usage_scores import GPU
from fleetqueue.fleets.real_environment import GPUS, WITHOUT_GPUS
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.testing.virtual_time import advance
from tests import job_kinds
from tests.invariants.job_pods import JobName, controller_of
from tests.invariants.reasons import has_ended

from . import happenings, mixed_kinds
from .fleet_template import LABEL, T4
from .world import World, names

PATIENCE = 60
"""So many times half a minute the fleet may take until it is well."""
CALM = 330.0
"""Seconds in which what was under way comes to its end; a watch that fell silent is noticed after five minutes."""
QUIET = 600.0


async def make_well(world: World) -> None:
    """End all faults, and let there be room for every job."""
    await happenings.heal(world)
    await happenings.restore_nodes(world)
    for worker in world.workers:
        value = None if worker in WITHOUT_GPUS else T4
        gpus = {"status": {"capacity": {GPU: GPUS}, "allocatable": {GPU: GPUS}}}  # a job may wait for one anywhere
        await happenings.merge(world, worker, Node, f"{worker}-control-plane", "", gpus, subresource="status")
        patch = {"metadata": {"labels": {LABEL: value}}}
        await happenings.merge(world, "hub", ManagedCluster, worker, "", patch)
    world.note("the faults are over")


async def activate(world: World) -> None:
    """Let every Workload of ours go on; while Kueue itself starts, its webhook refuses that."""
    for raw in world.objects("hub", kueue.Workload):
        if not (raw["spec"].get("active", True) or happenings.is_finished(raw) or happenings.is_strange(raw)):
            name = raw["metadata"]["name"]
            await happenings.merge(world, "hub", kueue.Workload, name, "default", {"spec": {"active": True}})


async def converge(world: World) -> None:
    """Wait until every job has ended or serves, delete those that serve, and wait until nothing is left."""
    await until_there_is_no(unfinished, world)
    for kind, raw in happenings.our_jobs(world):
        if mixed_kinds.pods_of(kind):
            await happenings.delete_all(world, kind, [raw])
    await until_there_is_no(leftovers, world)


async def until_there_is_no(what: Callable[[World], list[str]], world: World) -> None:
    for _ in range(PATIENCE):
        await activate(world)
        await advance(30)
        await world.check()
        if not what(world):
            return
    assert not what(world), "\n".join(what(world))


def unfinished(world: World) -> list[str]:
    """Say of every job on the hub that has not ended, and does not serve, where it is."""
    return [
        f"{kind.kind} {raw['metadata']['name']} {why}: {where(world, raw)}"
        for kind, raw in happenings.our_jobs(world)
        if (why := why_not_well(world, kind, raw))
    ]


def why_not_well(world: World, kind: Resource, job: Manifest) -> str:
    """Say what is missing to a job: its end, or that all its pods are ready on one worker."""
    pods = mixed_kinds.pods_of(kind)
    if not pods:
        return "" if has_ended(job) else "has not ended"
    runs = [world.witness.pods.places(one) for one in runs_as(world, kind, job)]
    there = [(cluster, pod) for places in runs for cluster, found in places.items() for pod in found]
    ready = [pod for cluster, pod in there if is_ready(world, cluster, pod)]
    is_once = all(len(places) == 1 and HUB not in places for places in runs)
    return "" if is_once and len(ready) == pods else f"has {len(ready)} of {pods} pods ready, in {runs}"


def runs_as(world: World, kind: Resource, job: Manifest) -> list[JobName]:
    """Return what MultiKueue sends of a job that serves: all of it, or each of its pods."""
    name = job["metadata"]["name"]
    if kind != job_kinds.DEPLOYMENT.resource:
        return [JobName(kind.kind, "default", name)]
    made = [raw for raw in world.objects("hub", Pod, "default") if raw["metadata"]["labels"].get("app") == name]
    return [world.witness.pods.job_of(raw) for raw in made]


def is_ready(world: World, cluster: str, pod: str) -> bool:
    found = [raw for raw in world.objects(cluster, Pod, "default") if raw["metadata"]["name"] == pod]
    return any(Pod.view(raw).is_ready for raw in found)


def where(world: World, job: dict) -> str:
    """Tell what is known of a job, on the hub and on the workers."""
    uid = job["metadata"]["uid"]
    owned = [
        raw
        for raw in world.objects("hub", kueue.Workload)
        if any(owner["uid"] == uid for owner in raw["metadata"].get("ownerReferences", ()))
    ]
    told = [f"suspend is {job['spec'].get('suspend')}, status is {job.get('status')}"]
    told += [f"hub: {state(raw)}" for raw in owned]
    for worker in world.workers:
        for raw in world.objects(worker, kueue.Workload):
            if raw["metadata"]["name"] in names(owned):
                told.append(f"{worker}: {state(raw)}")
    return "\n    ".join(told)


def state(raw: dict) -> str:
    status = raw.get("status", {})
    parts = [f"{c['type']}={c['status']} {c['reason']} {c['message']!r}" for c in status.get("conditions", ())]
    parts += [f"{c['name']} {c['state']} {c['message']!r}" for c in status.get("admissionChecks", ())]
    parts += [f"{key} {status[key]}" for key in ("clusterName", "nominatedClusterNames") if key in status]
    return f"{raw['metadata']['name']}: {'; '.join(parts)}"


def leftovers(world: World) -> list[str]:
    """Name what is still on workers, and what the hub still has that was made for jobs."""
    workloads = [
        (worker, kueue.Workload.resource, raw)
        for worker in world.workers
        for raw in world.objects(worker, kueue.Workload)
        if not happenings.is_strange(raw)
    ]
    parts = [(worker, kind, raw) for worker in world.workers for kind, raw in happenings.parts_of_jobs(world, worker)]
    made = [(HUB, kind, raw) for kind, raw in happenings.parts_of_jobs(world, HUB) if controller_of(raw) is not None]
    left = (*workloads, *parts, *made)
    return [f"{kind.kind} {raw['metadata']['name']} is left on {cluster}" for cluster, kind, raw in left]


def check_ends(world: World) -> None:
    """Every job ended once, as a copy of it did: only a worker that was lost may have had a second one."""
    for kind, raw in happenings.our_jobs(world):
        name, status = raw["metadata"]["name"], raw["status"]
        assert world.witness.finishes[raw["metadata"]["uid"]] == 1, f"{kind.kind} {name} did not end once"
        if kind == Job.resource:
            ends = [outcome(end) for end in world.witness.ends[name]]
            assert outcome(status) in ends, (name, status, ends)


def outcome(status: Mapping[str, Any]) -> tuple[Any, Any]:
    return status.get("succeeded"), status.get("completionTime")


async def check_quiet(world: World) -> None:
    await advance(CALM)
    world.witness.writes.clear()

    await advance(QUIET)

    assert not world.witness.writes, "it is not quiet:\n" + "\n".join(world.witness.writes[:40])
