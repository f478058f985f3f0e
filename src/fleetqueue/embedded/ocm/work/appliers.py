"""Bring one object on a worker to what its manifest says, in one of four ways.

`Update` creates or changes it; `CreateOnly` only creates it; `ServerSideApply` leaves the merging to the API server;
`ReadOnly` writes nothing. In all but the last the owner is kept right.

Mirrors: OCM work/spoke/apply
"""

import copy
import hashlib
from typing import Any, Final

import orjson

from fleetqueue.api import errors, json_paths
from fleetqueue.api import work_v1 as work
from fleetqueue.api.meta import precondition_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.work import merging

FIELD_MANAGER: Final = "work-agent"
ATTEMPTS: Final = 4
"""How often a change is tried that somebody else came before."""
_SECRETS: Final = "secrets"


ObjectKey = tuple[str, str, str]
"""Resource, namespace and name of an object."""


class FieldsOwned(Exception):
    """Somebody else manages fields of the object, and the work does not say to take them: only a change helps."""


class Appliers:
    def __init__(self, client: Client) -> None:
        self._client = Client(client.door, timeout=client.timeout, manager=FIELD_MANAGER)
        self._client.observe = client.observe
        self._seen: dict[ObjectKey, tuple[str, str]] = {}
        """Which manifest was applied last, and which version came of it: then there is nothing to do."""

    async def apply(
        self, resource: Resource, manifest: Manifest, owner: Manifest, strategy: work.UpdateStrategy
    ) -> Manifest:
        """Apply a manifest and return the object; raises what the worker answers, ValueError or FieldsOwned."""
        if strategy.type == work.READ_ONLY:
            return manifest
        if resource.namespaced and not manifest["metadata"].get("namespace"):
            raise errors.ApiError("the server does not allow this method on the requested resource", code=405)
        if strategy.type == work.SERVER_SIDE_APPLY:
            return await self._apply(resource, manifest, owner, strategy.server_side_apply)
        if strategy.type == work.CREATE_ONLY:
            return await self._create_once(resource, manifest, owner)
        return await self._until_settled(resource, merging.required(manifest, owner))

    # Update

    async def _until_settled(self, resource: Resource, wanted: Manifest) -> Manifest:
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._update(resource, wanted)
            except errors.Conflict:
                continue
        return await self._update(resource, wanted)

    async def _update(self, resource: Resource, wanted: Manifest) -> Manifest:
        existing = await self._get(resource, wanted)
        if existing is None:
            return self._note(resource, wanted, await self._client.create(resource, merging.new(wanted)))
        if self._seen.get(_key(resource, wanted)) == (_hash(wanted), existing["metadata"]["resourceVersion"]):
            return existing
        target = merging.merged(existing, wanted)
        if target == existing:
            return self._note(resource, wanted, existing)
        if resource.plural == _SECRETS and target.get("type") != existing.get("type"):
            return self._note(resource, wanted, await self._replace(resource, target))
        return self._note(resource, wanted, await self._client.update(resource, target))

    async def _replace(self, resource: Resource, target: Manifest) -> Manifest:
        """Make a Secret anew: its type cannot be changed."""
        metadata = target["metadata"]
        await self._client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        chosen = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
        kept = {name: metadata[name] for name in chosen if name in metadata}
        return await self._client.create(resource, {**target, "metadata": kept})

    def _note(self, resource: Resource, wanted: Manifest, live: Manifest) -> Manifest:
        self._seen[_key(resource, wanted)] = (_hash(wanted), live["metadata"]["resourceVersion"])
        return live

    # The other ways

    async def _create_once(self, resource: Resource, manifest: Manifest, owner: Manifest) -> Manifest:
        live = await self._get(resource, manifest)
        if live is None:
            metadata = {name: value for name, value in manifest["metadata"].items() if name != "uid"}
            wanted = {**manifest, "metadata": {**metadata, "ownerReferences": [owner]}}
            live = await self._client.create(resource, merging.new(wanted))
        await self.set_owner(resource, live, owner)
        return live

    async def _apply(
        self, resource: Resource, manifest: Manifest, owner: Manifest, config: work.ServerSideApply
    ) -> Manifest:
        document = without_creation_times(manifest)
        document["metadata"].pop("uid", None)
        if config.ignore_fields:
            document, live = await self._unless_applied(resource, document, config)
            if live is not None:
                await self.set_owner(resource, live, owner)
                return live
        manager = config.field_manager or FIELD_MANAGER
        try:
            live = await self._client.apply(resource, document, manager=manager, force=config.force)
        except errors.Conflict as error:
            raise FieldsOwned(str(error)) from error
        await self.set_owner(resource, live, owner)
        return live

    async def _unless_applied(
        self, resource: Resource, whole: Manifest, config: work.ServerSideApply
    ) -> tuple[Manifest, Manifest | None]:
        """Return what to apply where fields are left to the worker, and the object where that was already done."""
        document = copy.deepcopy(whole)
        for field in config.ignore_fields:
            for path in field.json_paths if field.condition != "OnSpokeChange" else ():
                remove_field(path, document)
        digest = hashlib.md5(f"&{{{go_text(document)}}}".encode(), usedforsecurity=False).hexdigest()
        annotations = {**(whole["metadata"].get("annotations") or {}), work.CONFIG_SPEC_HASH: digest}
        live = await self._get(resource, whole)
        if live is None:
            return {**whole, "metadata": {**whole["metadata"], "annotations": annotations}}, None
        if (live["metadata"].get("annotations") or {}).get(work.CONFIG_SPEC_HASH) == digest:
            return document, live
        return {**document, "metadata": {**document["metadata"], "annotations": annotations}}, None

    async def set_owner(self, resource: Resource, live: Manifest, owner: Manifest) -> None:
        """Bring the owners of an object to what is wanted, and touch nothing else."""
        metadata = live["metadata"]
        have = metadata.get("ownerReferences") or []
        owners = merging.merged_owners(have, [owner])
        if owners != have:
            patch = {**precondition_of(metadata), "ownerReferences": owners}
            namespace = metadata.get("namespace", "")
            await self._client.merge(resource, metadata["name"], namespace, {"metadata": patch})

    def forget(self, resource: Resource, live: Manifest) -> None:
        """Let go what is known of an object that goes."""
        self._seen.pop(_key(resource, live), None)

    async def _get(self, resource: Resource, manifest: Manifest) -> Manifest | None:
        metadata = manifest["metadata"]
        return await self._client.find(resource, metadata["name"], metadata.get("namespace", ""))


def without_creation_times(value: Any) -> Any:
    """Return a document in which no metadata says that it was created never, as Go writes it."""
    if isinstance(value, list):
        return [without_creation_times(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {name: without_creation_times(item) for name, item in value.items()}
    metadata = result.get("metadata")
    if isinstance(metadata, dict) and metadata.get("creationTimestamp", "") is None:
        del metadata["creationTimestamp"]
    return result


def remove_field(path: str, document: Manifest) -> None:
    """Take away the field that a path ends in, wherever the rest of it leads; what cannot be read leads nowhere."""
    parent, _, field = path.rpartition(".")
    try:
        holders = json_paths.find(parent, document)
    except json_paths.BadPath:
        return
    for holder in holders:
        if isinstance(holder, dict):
            holder.pop(field, None)


def go_text(value: Any) -> str:
    """Write a document as Go's `%v` does, of which a hash is kept on the object."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _key(resource: Resource, manifest: Manifest) -> ObjectKey:
    metadata = manifest["metadata"]
    return str(resource), metadata.get("namespace", ""), metadata["name"]


def _hash(manifest: Manifest) -> str:
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()
