"""What must be true when the faults are over: every job has ended once, nothing is left, and nobody writes any more."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.usage_scores import GPU
from fleetqueue.fleets.real_environment import GPUS, WITHOUT_GPUS
from fleetqueue.testing.virtual_time import advance
from tests.invariants.reasons import has_ended

from . import happenings
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
    for _ in range(PATIENCE):
        await activate(world)
        await advance(30)
        await world.check()
        if not unfinished(world) and not leftovers(world):
            return
    assert not unfinished(world), "\n".join(unfinished(world))
    assert not leftovers(world), "\n".join(leftovers(world))


def unfinished(world: World) -> list[str]:
    """Say of every job on the hub that has not ended where it is."""
    return [
        f"{kind.kind} {raw['metadata']['name']} has not ended: {where(world, raw)}"
        for kind, raw in happenings.our_jobs(world)
        if not has_ended(raw)
    ]


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
    """Name what is still on workers."""
    kinds = (Job.resource, kueue.Workload.resource)
    return [
        f"{kind.kind} {name} is left on {worker}"
        for worker in world.workers
        for kind in kinds
        for name in names([raw for raw in world.objects(worker, kind) if not happenings.is_strange(raw)])
    ] + [
        f"{kind.kind} {raw['metadata']['name']} is left on {worker}"
        for worker in world.workers
        for kind, raw in happenings.our_jobs(world, worker)
        if kind not in kinds
    ]


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
