"""What the verbs do to the objects in memory."""

from collections.abc import Mapping

from fleetqueue.api import errors
from fleetqueue.api.meta import key_of
from fleetqueue.api.requests import JSON, MERGE_PATCH, Request
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.memory_patches import Owners, apply, merge_patch, note_update
from fleetqueue.testing.memory_paths import Target, selects
from fleetqueue.testing.memory_store import MemoryStore, check_identity


class MemoryVerbs:
    """Bodies that come in are the verbs' own; objects that go out are the store's and must be copied."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._owners: dict[str, Owners] = {}
        self._pages: dict[str, tuple[list[Manifest], int]] = {}

    def do(self, target: Target, request: Request, body: Manifest) -> Manifest:
        manager = request.query.get("fieldManager", "")
        match target.verb, request.content_type:
            case "get", _:
                return self.store.get(target.collection, target.key)
            case "list", _:
                return self._list(target, request.query)
            case "create", _:
                return self._create(target, body, manager)
            case "apply", _:
                return self._apply(target, body, manager, force=request.query.get("force") == "true")
            case "patch", kind if kind == MERGE_PATCH:
                return self._merge(target, body, manager)
            case "delete", kind if kind == JSON:
                return self.store.delete(target.collection, target.key, (body or {}).get("preconditions") or {})
        raise errors.ApiError(f"{request} ({request.content_type}) is not supported here", code=415)

    def put(self, collection: str, wanted: Manifest, manager: str) -> Manifest:
        """Store an object as it is, whatever it was, and remember whose its fields are."""
        key = key_of(wanted["metadata"].get("namespace", ""), wanted["metadata"].get("name", ""))
        live = self.store.find(collection, key)
        stored = self.store.update(collection, key, wanted) if live else self.store.create(collection, wanted)
        note_update(live or {}, stored, self.owners(stored), manager)
        return stored

    def owners(self, obj: Manifest) -> Owners:
        return self._owners.setdefault(obj["metadata"]["uid"], {})

    def forget_pages(self) -> None:
        self._pages.clear()

    def _list(self, target: Target, query: Mapping[str, str]) -> Manifest:
        token = query.get("continue", "")
        if token and token not in self._pages:
            raise errors.Gone("The provided continue parameter is too old", reason="Expired")
        matches = selects(target, query)
        chosen = [obj for obj in self.store.all(target.collection) if matches(obj)]
        items, revision = self._pages[token] if token else (chosen, self.store.revision)
        limit = int(query.get("limit") or 0) or len(items)
        metadata: Manifest = {"resourceVersion": str(revision)}
        if len(items) > limit:
            metadata["continue"] = f"{revision}.{len(self._pages)}"
            self._pages[metadata["continue"]] = (items[limit:], revision)
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": _listed(target, items[:limit])}

    def _create(self, target: Target, body: Manifest, manager: str) -> Manifest:
        if target.subresource:
            raise errors.NotFound(f"nothing answers {target}; a test puts it into `answers`")
        metadata = body.setdefault("metadata", {})
        if metadata.pop("namespace", target.namespace) != target.namespace:
            raise errors.BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if target.namespace:
            metadata["namespace"] = target.namespace
        if metadata.pop("resourceVersion", ""):
            raise errors.ServerError("resourceVersion should not be set on objects to be created")
        for field in ("uid", "creationTimestamp", "deletionTimestamp", "generation"):
            metadata.pop(field, None)
        body.pop("status", None)
        stored = self.store.create(target.collection, body)
        note_update({}, stored, self.owners(stored), f"{manager} update")
        return stored

    def _merge(self, target: Target, body: Manifest, manager: str) -> Manifest:
        live = self.store.get(target.collection, target.key)
        check_identity(target.collection, live, body.get("metadata") or {})
        wanted = _part(live, merge_patch(live, body), target.subresource)
        return self.put(target.collection, wanted, f"{manager} update {target.subresource}")

    def _apply(self, target: Target, body: Manifest, manager: str, *, force: bool) -> Manifest:
        if not manager:
            raise errors.BadRequest("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        metadata = body.setdefault("metadata", {})
        live = self.store.find(target.collection, target.key)
        if live is None:
            return self._apply_first(target, body, manager)
        check_identity(target.collection, live, metadata)
        wanted = {"status": body.get("status", {})} if target.subresource == "status" else _without_status(body)
        owner = f"{manager} apply {target.subresource}"
        merged = apply(live, _applicable(wanted), self.owners(live), owner, force=force)
        return self.store.update(target.collection, target.key, merged)

    def _apply_first(self, target: Target, body: Manifest, manager: str) -> Manifest:
        if target.subresource:
            raise errors.NotFound(f'{target.collection} "{target.name}" not found')
        uid = body["metadata"].get("uid")
        if uid:
            raise errors.Conflict(f"uid mismatch: the object specified uid {uid}, and no existing object was found")
        stored = self._create(target, body, manager)
        self.owners(stored).clear()
        apply(stored, _applicable(body), self.owners(stored), f"{manager} apply ", force=True)
        return stored


def _part(live: Manifest, wanted: Manifest, subresource: str) -> Manifest:
    """Take only what a path may change: the status, or all but the status."""
    kept, taken = (live, wanted) if subresource == "status" else (wanted, live)
    return {**_without_status(kept), **({"status": taken["status"]} if "status" in taken else {})}


def _without_status(manifest: Manifest) -> Manifest:
    return {field: value for field, value in manifest.items() if field != "status"}


def _applicable(manifest: Manifest) -> Manifest:
    """Leave out what names the object instead of wishing something."""
    metadata = manifest.get("metadata") or {}
    named = ("name", "namespace", "uid", "resourceVersion")
    wished = {field: value for field, value in metadata.items() if field not in named}
    rest = {field: value for field, value in manifest.items() if field not in ("metadata", "apiVersion", "kind")}
    return {**rest, "metadata": wished} if wished else rest


def _listed(target: Target, items: list[Manifest]) -> list[Manifest]:
    """Built-in kinds come without kind and apiVersion in a list, as from a real server."""
    if not target.is_built_in:
        return items
    return [{field: value for field, value in obj.items() if field not in ("apiVersion", "kind")} for obj in items]
