"""Create, update, patch and delete."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.requests import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.http.verbs.reading import place
from fleetqueue.embedded.apiserver.kinds.causes import forbidden, invalid, not_supported, required
from fleetqueue.embedded.apiserver.kinds.go_text import json_text, text
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.apply import apply
from fleetqueue.embedded.apiserver.patching.json_patch import apply_json_patch
from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch
from fleetqueue.embedded.apiserver.patching.strategic_merge import apply_strategic_merge
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions, delete_options
from fleetqueue.embedded.apiserver.registry.list_options import flag, list_options
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import check_has_name
from fleetqueue.embedded.apiserver.registry.store import Change, RegistryStore, reset_by
from fleetqueue.embedded.apiserver.registry.writes import Write, check_kind
from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry
from fleetqueue.embedded.apiserver.validation.metadata import manager_faults

STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
PATCHES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
CUSTOM_PATCHES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""Custom kinds have no rules for a strategic merge."""


class WritingVerbs:
    def __init__(self, store: RegistryStore, forms: Forms) -> None:
        self.store = store
        self.forms = forms

    async def create(self, served: Served, context: RequestContext) -> ServerResponse:
        write = write_of(served, context, "CreateOptions")
        body = _object(served, context)
        entry = await self.store.create(served, context.info.namespace, body, write)
        return ServerResponse(201, self.forms.one(served, entry, context), write.warnings)

    async def update(self, served: Served, context: RequestContext) -> ServerResponse:
        write = write_of(served, context, "UpdateOptions")
        body = _object(served, context)
        check_has_name(body, context.info.name)

        def change(live: Manifest | None) -> Manifest:
            if live is None and not served.strategy.update.creates:
                raise _missing(served, context)
            return body

        return await self._change(served, context, change, write)

    async def patch(self, served: Served, context: RequestContext) -> ServerResponse:
        write = write_of(served, context, "PatchOptions")
        change = self._patch(served, context, write)
        return await self._change(served, context, change, write)

    async def _change(self, served: Served, context: RequestContext, change: Change, write: Write) -> ServerResponse:
        namespace, name = place(served, context)
        entry, is_new = await self.store.update(served, namespace, name, change, write)
        return ServerResponse(201 if is_new else 200, self.forms.one(served, entry, context), write.warnings)

    def _patch(self, served: Served, context: RequestContext, write: Write) -> Change:
        kind = context.content_type
        if served.is_custom and kind not in CUSTOM_PATCHES:
            raise unsupported(CUSTOM_PATCHES)
        if kind not in PATCHES:
            raise errors.ApiError("415: Unsupported Media Type", reason="UnsupportedMediaType", code=415)
        if kind == APPLY_PATCH:
            return _apply(served, context, write)
        patched = patcher(context, served.schema)
        write.patch, write.is_strategic = shown_patch(context)

        def change(live: Manifest | None) -> Manifest:
            if live is None:
                raise _missing(served, context)
            return patched(live)

        return change


def shown_patch(context: RequestContext) -> tuple[Callable[[Manifest], str], bool]:
    """Return how a refusal shows a patch, given what it made of an object; and whether it is a strategic one."""
    if context.content_type == STRATEGIC_MERGE_PATCH:
        return (lambda made: text(context.body)), True
    return json_text, False


def patcher(context: RequestContext, schema: Schema) -> Callable[[Manifest], Manifest]:
    """Return what a patch makes of an object; any sort but an apply."""
    kind, body = context.content_type, context.body
    patching: dict[str, Callable[[Manifest], Any]] = {
        JSON_PATCH: lambda live: apply_json_patch(live, body),
        MERGE_PATCH: lambda live: apply_merge_patch(live, body),
        STRATEGIC_MERGE_PATCH: lambda live: apply_strategic_merge(live, body, schema),
    }
    if kind not in patching:
        raise unsupported(tuple(patching))

    def patched(live: Manifest) -> Manifest:
        after = patching[kind](live)
        if not isinstance(after, dict):
            raise errors.BadRequest("the patch leaves no object", reason="BadRequest")
        return after

    return patched


def _apply(served: Served, context: RequestContext, write: Write) -> Change:
    """Return the change that a server-side apply makes; it also creates."""
    if not context.query.get("fieldManager"):
        raise invalid("PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")])
    force = flag(context.query.get("force"))
    write.is_apply = True

    def change(live: Manifest | None) -> Manifest:
        if live is None and write.subresource:
            raise _missing(served, context)
        return apply(
            live,
            context.body,
            served.schema,
            write.manager,
            served.resource.api_version,
            write.subresource,
            timestamp(clock.now()),
            kind=served.resource.kind,
            force=force,
            reset=reset_by(served, write.subresource),
            other_versions=served.other_versions,
        )

    return change


def _object(served: Served, context: RequestContext) -> Manifest:
    """Return the body, if it is an object of this kind."""
    body, resource = context.body, served.resource
    if not isinstance(body, dict):
        kind = resource.kind
        raise errors.BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind",
            reason="BadRequest",
        )
    check_kind(resource, body, is_custom=served.is_custom)
    return body


def write_of(served: Served, context: RequestContext, options: str) -> Write:
    query = context.query
    if served.deprecation and served.deprecation not in context.warnings:
        context.warnings.append(served.deprecation)
    dry_run = query.get("dryRun")
    faults = []
    if dry_run is not None and {*dry_run.split(",")} != {"All"}:
        faults.append(not_supported("dryRun", dry_run.split(","), ["All"]))
    faults += manager_faults(query.get("fieldManager", ""), "fieldManager")
    if query.get("force") and context.content_type != APPLY_PATCH and options == "PatchOptions":
        faults.append(forbidden("force", "may not be specified for non-apply patch"))
    validation = query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        faults.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
    if faults:
        raise invalid(options, "meta.k8s.io", "", faults)
    manager = query.get("fieldManager") or context.agent.partition("/")[0]
    warnings = context.warnings
    return Write(
        context.user,
        manager,
        context.info.subresource,
        bool(dry_run),
        warnings=warnings,
        validation=validation,
        mistakes=context.mistakes,
        path_name=context.info.name,
    )


def unsupported(known: tuple[str, ...]) -> errors.ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(known)
    return errors.ApiError(message, reason="UnsupportedMediaType", code=415)


def _missing(served: Served, context: RequestContext) -> errors.NotFound:
    resource = served.resource
    return refusals.not_found(keys.key_of(resource.group, resource.plural, "", context.info.name))


class DeletingVerbs:
    def __init__(self, store: RegistryStore, reading: Reading, forms: Forms) -> None:
        self.store = store
        self.reading = reading
        self.forms = forms

    async def delete(self, served: Served, context: RequestContext) -> ServerResponse:
        options = delete_options(context.body, context.query)
        namespace, name = place(served, context)
        write = Write(context.user, dry_run=options.dry_run, warnings=_deletion_warnings(served, context, options))
        entry, is_gone = await self.store.delete(served, namespace, name, options, write)
        if is_gone and not served.strategy.deletion.returns_object:
            return ServerResponse(200, _deleted(served, entry), write.warnings)
        return ServerResponse(200, self.forms.one(served, entry, context), write.warnings)

    async def delete_collection(self, served: Served, context: RequestContext) -> ServerResponse:
        """Delete all that is selected; answers them as they were before."""
        options = delete_options(context.body, context.query)
        namespace, _ = place(served, context)
        listed = await self.reading.list(served, namespace, list_options(served, context.query))
        write = Write(context.user, dry_run=options.dry_run, warnings=_deletion_warnings(served, context, options))
        for entry in listed.entries:
            metadata = entry.object["metadata"]
            with suppress(errors.NotFound):  # another client was faster
                await self.store.delete(served, metadata.get("namespace", ""), metadata["name"], options, write)
        return ServerResponse(200, self.forms.many(served, listed, context), write.warnings)


def _deletion_warnings(served: Served, context: RequestContext, options: DeleteOptions) -> list[str]:
    if served.deprecation:
        context.warnings.append(served.deprecation)
    if served.strategy.deletion.warning and not options.says_what_follows:
        context.warnings.append(served.strategy.deletion.warning)
    return context.warnings


def _deleted(served: Served, entry: StorageEntry) -> Manifest:
    resource, metadata = served.resource, entry.object["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural, "uid": metadata["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
