"""A job of any kind on the real fleet: where it is, and how it ends."""

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod


async def submit(env, kind, labels=None):
    for manifest in kind.manifests(env.name):
        manifest["metadata"]["labels"] |= labels or {}
        await env.hub.create(kind.resource, manifest)


async def found(client, kind, namespace):
    """Return the objects of a job that a cluster has."""
    objects = []
    for manifest in kind.manifests(namespace):
        try:
            objects.append(await client.get(kind.resource, manifest["metadata"]["name"], namespace))
        except errors.NotFound:
            continue
    return objects


async def workloads(env, kind):
    uids = {raw["metadata"]["uid"] for raw in await found(env.hub, kind, env.name)}
    page = await env.hub.list(kueue.Workload.resource, env.name)
    return [
        kueue.Workload.view(raw)
        for raw in page.items
        if uids & {owner["uid"] for owner in raw["metadata"].get("ownerReferences", ())}
    ]


async def placed(env, kind):
    """Wait until a job runs on one worker and nowhere else; return the worker."""
    whole = len(kind.manifests(env.name))

    async def is_placed():
        its = await workloads(env, kind)
        names = {workload.status.cluster_name for workload in its if workload.is_true(kueue.ADMITTED)}
        held = {name: len(await found(client, kind, env.name)) for name, client in env.workers.items()}
        where = [name for name, count in held.items() if count]
        if len(its) and names == {f"{env.name}-{name}" for name in where} and sum(held.values()) == whole:
            return where[0]
        return ""

    return await of(env, kind, is_placed, "is on one worker")


async def running_pods(client, kind, namespace):
    """Return the pods of a job that run on nodes of a cluster; on the hub those of a copy may say that they run."""
    pods = (await client.list(Pod.resource, namespace)).items
    return {
        raw["metadata"]["uid"]
        for raw in pods
        if kind.has_pod(raw["metadata"]["name"]) and raw["spec"].get("nodeName") and raw["status"]["phase"] == "Running"
    }


async def write_status(env, kind, worker, status):
    for raw in await found(env.workers[worker], kind, env.name):
        name = raw["metadata"]["name"]
        await env.workers[worker].merge(kind.resource, name, env.name, {"status": status}, subresource="status")


async def delete(env, kind):
    """Delete a job on the hub, and wait until nobody has anything of it."""
    for manifest in kind.manifests(env.name):
        await env.hub.delete(kind.resource, manifest["metadata"]["name"], env.name)

    async def is_gone():
        return not await found(env.hub, kind, env.name)

    await of(env, kind, is_gone, "is gone from the hub")
    await gone_from_workers(env, kind)


async def gone_from_workers(env, kind):
    async def is_gone():
        return not any([await found(client, kind, env.name) for client in env.workers.values()])

    await of(env, kind, is_gone, "is gone from all workers")


async def of(env, kind, question, what):
    """Wait for something of a job; where it does not come, say how the job stands."""
    try:
        return await env.eventually(question, f"{kind.name} {what}")
    except AssertionError as error:
        its = [(workload.name, workload.status) for workload in await workloads(env, kind)]
        held = {name: await found(client, kind, env.name) for name, client in env.workers.items()}
        raise AssertionError(f"{error}; {its}; on the workers: {held}") from None
