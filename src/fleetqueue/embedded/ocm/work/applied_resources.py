"""What an agent put on a worker and answers for: the record of it, and its removal.

Mirrors: OCM work/helper/helpers.go (DeleteAppliedResources)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work import merging
from fleetqueue.embedded.ocm.work.appliers import Appliers
from fleetqueue.embedded.ocm.work.manifest_status import Result
from fleetqueue.runtime.logs import Log

LOOK_AGAIN: Final = 1.0
"""Seconds after which objects are looked for again that were deleted, but wait for somebody."""

log = Log("work")


@dataclass(slots=True)
class PendingFinalization:
    """What is not gone yet."""

    resources: list[work.AppliedResource] = field(default_factory=list)
    error: errors.ApiError | errors.Unreachable | None = None
    """Why, where it is not only a matter of time."""


def owner_of(applied: work.AppliedManifestWork) -> Manifest:
    """Say that an object goes with its AppliedManifestWork."""
    resource = applied.resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": applied.name,
        "uid": applied.uid,
    }


async def record(client: Client, results: Iterable[Result]) -> list[work.AppliedResource]:
    """Return which objects are there now; raises BadRequest for one of a kind that the worker does not serve."""
    resources = []
    for result in results:
        uid = await _uid(client, result)
        if uid:
            meta = result.meta
            resources.append(
                work.AppliedResource(
                    group=meta.group,
                    version=meta.version,
                    resource=meta.resource,
                    namespace=meta.namespace,
                    name=meta.name,
                    uid=uid,
                )
            )
    return resources


def status_of(resources: Iterable[work.AppliedResource]) -> Manifest:
    """Return the record as it is written; an empty one is none."""
    written = [resource.written() for resource in resources]
    return {"appliedResources": written} if written else {}


def in_order(resources: Iterable[work.AppliedResource]) -> list[work.AppliedResource]:
    return sorted(
        resources,
        key=lambda resource: (resource.group, resource.version, resource.resource, resource.namespace, resource.name),
    )


def no_longer_wanted(
    known: Iterable[work.AppliedResource], wanted: Iterable[work.AppliedResource]
) -> list[work.AppliedResource]:
    kept = {resource.identity for resource in wanted}
    return [resource for resource in known if resource.identity not in kept]


async def delete(
    client: Client, appliers: Appliers, resources: Sequence[work.AppliedResource], owner: Manifest
) -> PendingFinalization:
    """Delete what is ours alone, and leave to its other owners what is not.

    What another has made anew under the same name, or taken over, is not touched. One object that cannot be deleted
    does not keep the others.
    """
    left = PendingFinalization()
    for resource in resources:
        try:
            if await _delete(client, appliers, resource, owner):
                left.resources.append(resource)
        except (errors.ApiError, errors.Unreachable) as error:
            left.resources.append(resource)
            left.error = left.error or error
    return left


async def _delete(client: Client, appliers: Appliers, applied_resource: work.AppliedResource, owner: Manifest) -> bool:
    """Return whether the object is still going."""
    resource = resource_of(applied_resource)
    try:
        live = await client.get(resource, applied_resource.name, applied_resource.namespace)
    except errors.NotFound:
        return False
    metadata = live["metadata"]
    owners = metadata.get("ownerReferences") or ()
    if all(one["uid"] != owner["uid"] for one in owners):
        return False
    if any(_is_applied_work(one) and one["uid"] != owner["uid"] for one in owners):
        await appliers.set_owner(resource, live, merging.removing(owner))
        return False
    if metadata["uid"] != applied_resource.uid:
        return False
    appliers.forget(resource, live)
    if metadata.get("deletionTimestamp"):
        return True
    try:
        await client.delete(resource, applied_resource.name, applied_resource.namespace, uid=applied_resource.uid)
    except (errors.NotFound, errors.Conflict):
        return False
    log.info("object deleted", resource=resource, namespace=applied_resource.namespace, name=applied_resource.name)
    return True


def resource_of(meta: work.AppliedResource | work.ResourceMeta) -> Resource:
    """Return where an object is found; of its kind nothing more is needed."""
    return Resource(meta.group, meta.version, "", meta.resource, namespaced=bool(meta.namespace))


async def _uid(client: Client, result: Result) -> str:
    """Return the uid of an object, empty where there is none."""
    if not result.error and result.live is not None and result.live["metadata"].get("uid"):
        return str(result.live["metadata"]["uid"])
    meta = result.meta
    if not (meta.resource and meta.version and meta.name):
        raise errors.BadRequest(f"resource with key {meta.namespace}/{meta.name} not found")
    live = await client.find(resource_of(meta), meta.name, meta.namespace)
    return str(live["metadata"]["uid"]) if live is not None else ""


def _is_applied_work(owner: Manifest) -> bool:
    kind = work.AppliedManifestWork.resource
    return (owner["apiVersion"], owner["kind"]) == (kind.api_version, kind.kind)
