"""What may happen to the fleet: each is one small function, chosen and filled in by chance, and says what it did."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node, Pod, Secret, ServiceAccount
from fleetqueue.api.fence import FENCE, LOST_WORKER, RERUN, WAIT
from fleetqueue.api.kueue_pods import group_name
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.usage_scores import GPU
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.fleets.systems.kueue import JOBSET
from fleetqueue.fleets.systems.operators import OPERATORS
from fleetqueue.manifests import objects
from fleetqueue.rules.run_times import RUN_FOR
from fleetqueue.rules.workload_slices import is_elastic
from tests.invariants.job_pods import controller_of
from tests.invariants.reasons import has_ended
from tests.invariants.strangers import NAME
from tests.job_kinds import JobKind

from . import mixed_kinds, node_failures, placed_jobs
from .faulty_server import Unrest
from .fleet_template import LABEL, T4
from .world import World, names

PARTS = (
    "fleetqueue-system",
    "kueue-system",
    "open-cluster-management-hub",
    "open-cluster-management-agent",
    "open-cluster-management-agent-addon",
    "open-cluster-management",
    *(operator.part.namespace for operator in OPERATORS),
    JOBSET.namespace,
)
"""Where the pods of our parts are, on whichever cluster."""
ERRORS = (
    errors.Conflict("the object has been modified"),
    errors.TooManyRequests("too many requests"),
    errors.ServerError("etcdserver: request timed out"),
    errors.Unreachable("connection reset by peer"),
)
CONNECTED = 330.0
"""Seconds after which all are connected that can be: Kueue's attempts are up to 320 s apart."""
Happening = Callable[[World], Awaitable[str]]


# Jobs


async def create_job(world: World) -> str:
    number = next_number(world)
    queue, seconds = world.chance.choice(["demo1", "demo2", "demo2"]), world.chance.choice([5, 20, 60, 180])
    (job,) = objects(f"job-{queue}.yaml")
    job["metadata"] |= {"name": f"job-{number:02}"}
    job["metadata"].pop("generateName")
    policy = world.chance.choice([RERUN, WAIT, FENCE, FENCE])
    job["spec"]["template"]["metadata"] = {"annotations": {RUN_FOR: f"{seconds}s", LOST_WORKER: policy}}
    if policy != RERUN:
        world.careful.add(job["metadata"]["name"])
    said = f"somebody creates job-{number:02} of {seconds} s for {queue}, {policy} if its worker is lost"
    try:
        await world.hub.create(Job.resource, job)
    except errors.ServerError as error:
        return f"{said}, and is refused: {error}"
    return said


async def create_other_job(world: World) -> str:
    """Create a job of another kind than Job, or one that grows and shrinks."""
    kind = world.chance.choice(mixed_kinds.KINDS)
    queues = [mixed_kinds.QUEUE, *(() if kind in mixed_kinds.UNPLACED else placed_jobs.QUEUES)]
    return await create_job_of(world, kind, world.chance.choice(queues))


async def create_placed_job(world: World) -> str:
    """Create a job whose pods are placed on nodes by topology."""
    number, seconds = next_number(world), world.chance.choice([5, 20, 60, 180])
    job = placed_jobs.some_job(f"job-{number:02}", seconds, world.chance)
    queue, pods = job["metadata"]["labels"][kueue.QUEUE_LABEL], job["spec"]["parallelism"]
    said = f"somebody creates job-{number:02} of {seconds} s for {queue}, {pods} pods that are placed"
    try:
        await world.hub.create(Job.resource, job)
    except errors.ServerError as error:
        return f"{said}, and is refused: {error}"
    return said


async def create_job_of(world: World, kind: JobKind, queue: str = mixed_kinds.QUEUE) -> str:
    """Create a job of a kind, which is run again if its worker is lost."""
    number, seconds = next_number(world), world.chance.choice([5, 20, 60, 180])
    length = "that serves" if kind in mixed_kinds.SERVING else f"of {seconds} s"
    made = mixed_kinds.manifests(kind, f"job-{number:02}", seconds, queue)
    said = f"somebody creates job-{number:02} {length} for {queue}: {kind.resource.kind} {', '.join(names(made))}"
    for one in made:
        try:
            await world.hub.create(kind.resource, one)
        except errors.ServerError as error:
            await delete_all(world, kind.resource, made)  # a group without one of its pods would wait for it
            return f"{said}, and is refused: {error}"
    return said


def next_number(world: World) -> int:
    return sum(1 for line in world.diary if " creates " in line)


async def delete_job(world: World) -> str:
    found = one_job(world)
    if found is None:
        return ""
    resource, raw = found
    group = group_name(raw["metadata"])
    if not group:
        await delete_all(world, resource, [raw])
        return f"somebody deletes {resource.kind} {raw['metadata']['name']}"
    await delete_all(world, resource, [pod for _, pod in our_jobs(world) if group_name(pod["metadata"]) == group])
    with suppress(errors.NotFound):
        await world.hub.delete(kueue.Workload.resource, group, "default")  # it would wait for other pods
    return f"somebody deletes the pods of {group} and their Workload"


async def delete_all(world: World, resource: Resource, objects: Sequence[Manifest]) -> None:
    for name in names(objects):
        with suppress(errors.NotFound):
            await world.hub.delete(resource, name, "default")


async def deactivate(world: World) -> str:
    waiting = [raw for raw in world.objects("hub", kueue.Workload) if not is_finished(raw) and not is_strange(raw)]
    if not waiting:
        return ""
    raw = world.chance.choice(waiting)
    active = not raw["spec"].get("active", True)
    await merge(world, "hub", kueue.Workload, raw["metadata"]["name"], "default", {"spec": {"active": active}})
    return f"somebody sets active to {active} of {raw['metadata']['name']}"


async def suspend(world: World) -> str:
    found = one_job(world, mixed_kinds.can_be_suspended)
    if found is None:
        return ""
    resource, name = found[0], found[1]["metadata"]["name"]
    with suppress(errors.ApiError):
        await world.hub.merge(resource, name, "default", mixed_kinds.suspension(resource))
    return f"somebody suspends {resource.kind} {name}"


async def resize(world: World) -> str:
    """Let an elastic job grow or shrink."""
    jobs = [raw for kind, raw in our_jobs(world) if kind == Job.resource and is_elastic(raw) and not has_ended(raw)]
    if not jobs:
        return ""
    name, pods = world.chance.choice(jobs)["metadata"]["name"], world.chance.choice([1, 2, 3, 5])
    await merge(world, "hub", Job, name, "default", {"spec": {"parallelism": pods}})
    return f"somebody sets the parallelism of Job {name} to {pods}"


def one_job(world: World, is_meant: Callable[[Resource], bool] = lambda kind: True) -> tuple[Resource, Manifest] | None:
    """Choose a job that has not ended, of a kind that is meant."""
    jobs = [(kind, raw) for kind, raw in our_jobs(world) if is_meant(kind) and not has_ended(raw)]
    return world.chance.choice(jobs) if jobs else None


def our_jobs(world: World) -> list[tuple[Resource, Manifest]]:
    """Return what was submitted on the hub, of all kinds."""
    return [(kind, raw) for kind, raw in parts_of_jobs(world, "hub") if controller_of(raw) is None]


def parts_of_jobs(world: World, where: str) -> list[tuple[Resource, Manifest]]:
    """Return what a cluster has of jobs, of all their kinds."""
    kinds = (Job.resource, *mixed_kinds.resources())
    found = [(kind, raw) for kind in kinds for raw in world.objects(where, kind, "default")]
    return [(kind, raw) for kind, raw in found if is_ours(raw)]


def is_ours(raw: dict) -> bool:
    return raw["metadata"]["name"].startswith("job-")


def is_strange(raw: dict) -> bool:
    return NAME in raw["metadata"]["name"]


def is_finished(raw: dict) -> bool:
    return kueue.Workload.view(raw).is_finished


async def merge(world: World, where: str, kind: type, name: str, namespace: str, patch: dict, **more: str) -> None:
    with suppress(errors.ApiError):
        await world.client(where).merge(kind.resource, name, namespace, patch, **more)


# The selection moves


async def label(world: World) -> str:
    worker = world.chance.choice(world.workers)
    value = world.chance.choice([T4, None])
    await merge(world, "hub", cluster.ManagedCluster, worker, "", {"metadata": {"labels": {LABEL: value}}})
    return f"label of {worker} becomes {value}"


async def place(world: World) -> str:
    file = world.chance.choice(["placement-demo2-1.yaml", "placement-demo2-2.yaml"])
    (wanted,) = objects(file)
    spec = {"numberOfClusters": None, "prioritizerPolicy": None, **wanted["spec"]}
    await merge(world, "hub", cluster.Placement, "placement-demo2", "kueue-system", {"spec": spec})
    return f"Placement becomes {file}"


async def score(world: World) -> str:
    worker, gpus = world.chance.choice(world.workers), world.chance.choice(["0", "1", "3", "8"])
    amount = {"status": {"capacity": {GPU: gpus}, "allocatable": {GPU: gpus}}}
    await merge(world, worker, Node, f"{worker}-control-plane", "", amount, subresource="status")
    return f"{worker} has {gpus} GPUs"


async def lose_node(world: World) -> str:
    """Take a node from those on which pods are placed, in one of the ways in which nodes are lost."""
    way = world.chance.choice([*node_failures.WAYS])
    there = [(worker, name) for worker in world.workers for name in _placed_nodes(world, worker)]
    if not there:
        return ""
    worker, name = world.chance.choice(there)
    await node_failures.lose(world.client(worker), name, way)
    return f"node {name} is {way}"


def _placed_nodes(world: World, worker: str) -> list[str]:
    """Return the nodes for placed pods that are there; those alone on which some run, if any do."""
    there = {raw["metadata"]["name"] for raw in world.objects(worker, Node)}
    nodes = [name for name in names([*placed_jobs.nodes(worker)]) if name in there]
    used = {pod.spec.node_name for pod in map(Pod.view, world.objects(worker, Pod, "default")) if pod.is_active}
    return [name for name in nodes if name in used] or nodes


async def restore_nodes(world: World) -> str:
    for worker in world.workers:
        for node in placed_jobs.nodes(worker):
            await node_failures.restore(world.client(worker), node)
    return "all nodes are there again"


# The network and the API servers


async def cut(world: World) -> str:
    name, silently = world.chance.choice(world.names), world.chance.random() < 0.5
    ways = world.chance.choice(["to", "from", "to and from"])
    cut_ways(world, name, ways, silently=silently)
    return f"the way {ways} {name} is cut{' silently' if silently else ''}"


def cut_ways(world: World, name: str, ways: str, *, silently: bool) -> None:
    """Cut the way to a cluster, the way from it, or both."""
    cluster = world.cluster(name)
    if "to" in ways:
        cluster.way.cut(silently=silently)
        world.leaves(name)
    if "from" in ways:
        cluster.way_out.cut(silently=silently)


async def lose(world: World) -> str:
    """Cut a worker off for longer than Kueue waits for it; alone, since two would excuse each other's jobs."""
    await heal(world)
    await asyncio.sleep(CONNECTED)  # else it would have been away for longer than is known here
    name, ways = world.chance.choice(world.workers), world.chance.choice(["to", "to and from", "to and from"])
    cut_ways(world, name, ways, silently=world.chance.random() < 0.5)
    world.note(f"{name} is lost: the way {ways} it is cut")
    await asyncio.sleep(17 * 60)
    recover(world, name)
    return f"{name} is back"


async def slow(world: World) -> str:
    name, seconds = world.chance.choice(world.names), world.chance.choice([0.5, 2.0, 8.0])
    world.cluster(name).way.slow = seconds
    return f"every request to {name} takes {seconds} s longer"


async def heal(world: World) -> str:
    for name in world.names:
        recover(world, name)
    return "all ways and servers are well again"


def recover(world: World, name: str) -> None:
    world.cluster(name).way.heal()
    world.cluster(name).way_out.heal()
    world.faults(name).end()
    world.returns(name)


async def trouble(world: World) -> str:
    name, share = world.chance.choice(world.names), world.chance.choice([0.1, 0.3, 0.8])
    happens, reads = world.chance.random() < 0.4, world.chance.random() < 0.3
    world.faults(name).unrest = Unrest(world.chance, share, ERRORS, happens, reads)
    what = "answers are lost" if happens else "requests fail"
    return f"{share:.0%} of {'all' if reads else 'writing'} {what} on {name}"


async def forget(world: World) -> str:
    name = world.chance.choice(world.names)
    storage = world.cluster(name).server.storage
    await storage.compact(storage.revision)
    world.faults(name).break_streams()
    return f"{name} forgets its history and breaks off all watches (410)"


async def restart_api(world: World) -> str:
    name, seconds = world.chance.choice(world.names), world.chance.choice([1, 5, 30])
    faults = world.faults(name)
    faults.is_down = True
    faults.break_streams()
    world.cluster(name).way.break_streams()
    asyncio.get_running_loop().call_later(seconds, setattr, faults, "is_down", False)
    return f"the API of {name} is down for {seconds} s"


# Processes


async def kill(world: World) -> str:
    where, raw = one_pod(world)
    name, namespace = raw["metadata"]["name"], raw["metadata"]["namespace"]
    with suppress(errors.NotFound):
        await world.client(where).delete(Pod.resource, name, namespace)
    return f"pod {name} on {where} is deleted"


async def freeze(world: World) -> str:
    where, raw = one_pod(world)
    return freeze_pod(world, f"{raw['metadata']['namespace']}/{raw['metadata']['name']}", where)


async def freeze_leader(world: World) -> str:
    leader = leading_pod(world)
    is_there = leader in [Pod.view(raw).key for raw in world.objects("hub", Pod)]
    return freeze_pod(world, leader, "hub, the leader") if is_there else ""


def leading_pod(world: World) -> str:
    """Return the pod that leads our controller's replicas, as its Lease tells it."""
    leases = {one.key: one for one in map(Lease.view, world.objects("hub", Lease))}
    lease = leases["fleetqueue-system/fleetqueue-controller"]
    return f"{lease.namespace}/{lease.spec.holder_identity.partition('_')[0]}"


def freeze_pod(world: World, pod: str, where: str, seconds: float = 0) -> str:
    seconds, thawed = seconds or world.chance.choice([3, 12, 25, 50]), asyncio.Event()

    def thaw() -> None:
        for name in world.names:
            world.faults(name).frozen.pop(pod, None)
        thawed.set()

    for name in world.names:
        world.faults(name).frozen[pod] = thawed
    asyncio.get_running_loop().call_later(seconds, thaw)
    return f"pod {pod} on {where} is frozen for {seconds} s"


async def suspend_machine(world: World) -> str:
    """Let everything on a worker stand still for a while; its clocks go on."""
    name, seconds = world.chance.choice(world.workers), world.chance.choice([12, 25, 50])
    for raw in world.objects(name, Pod):
        if raw["metadata"]["namespace"] in PARTS:
            freeze_pod(world, Pod.view(raw).key, name, seconds)
    return f"the machine of {name} is suspended for {seconds} s"


def one_pod(world: World) -> tuple[str, dict]:
    found = [(n, raw) for n in world.names for raw in world.objects(n, Pod) if raw["metadata"]["namespace"] in PARTS]
    return world.chance.choice(found)


# Credentials, and hands in what is ours


async def revoke(world: World) -> str:
    worker = world.chance.choice(world.workers)
    for raw in world.objects(worker, ServiceAccount):
        if raw["metadata"]["name"].startswith("kueue-admin") and not is_strange(raw):
            with suppress(errors.NotFound):
                await world.client(worker).delete(
                    ServiceAccount.resource, raw["metadata"]["name"], raw["metadata"]["namespace"]
                )
    return f"the account of Kueue on {worker} is deleted, and with it its tokens"


async def lose_secret(world: World) -> str:
    name = f"kueue-admin-{world.chance.choice(world.workers)}-kubeconfig"
    with suppress(errors.NotFound):
        await world.hub.delete(Secret.resource, name, "kueue-system")
    return f"secret {name} is deleted"


async def meddle(world: World) -> str:
    kind = world.chance.choice([kueue.MultiKueueConfig, kueue.MultiKueueCluster, ManifestWork])
    found = [raw for raw in world.objects("hub", kind) if not is_strange(raw)]
    ours = [raw["metadata"] for raw in found if "demo1" not in raw["metadata"]["name"]]
    if not ours:
        return ""
    metadata = world.chance.choice(ours)
    with suppress(errors.NotFound):
        await world.hub.delete(kind.resource, metadata["name"], metadata.get("namespace", ""))
    return f"somebody deletes {kind.resource.kind} {metadata['name']}"


WEIGHTS: dict[Happening, int] = {
    create_job: 12,
    create_other_job: 12,
    create_placed_job: 8,
    delete_job: 2,
    deactivate: 2,
    suspend: 1,
    resize: 4,
    label: 5,
    place: 2,
    score: 2,
    lose_node: 6,
    restore_nodes: 2,
    cut: 4,
    lose: 1,
    slow: 2,
    heal: 5,
    trouble: 4,
    forget: 1,
    restart_api: 2,
    kill: 6,
    freeze: 3,
    freeze_leader: 2,
    suspend_machine: 2,
    revoke: 1,
    lose_secret: 1,
    meddle: 1,
}


async def strike(world: World) -> None:
    """Let something happen."""
    happening = world.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    said = await happening(world)
    if said:
        world.note(said)
