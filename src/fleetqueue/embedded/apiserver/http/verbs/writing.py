"""Create, update and patch."""

from collections.abc import Callable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.requests import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.exchange import Answer, Question
from fleetqueue.embedded.apiserver.http.forms import Forms
from fleetqueue.embedded.apiserver.http.request_info import is_true
from fleetqueue.embedded.apiserver.http.verbs.reading import place
from fleetqueue.embedded.apiserver.kinds.causes import forbidden, invalid, not_supported, required
from fleetqueue.embedded.apiserver.kinds.go_text import json_text, text
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.apply import apply
from fleetqueue.embedded.apiserver.patching.json_patch import apply_json_patch
from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch
from fleetqueue.embedded.apiserver.patching.strategic_merge import apply_strategic_merge
from fleetqueue.embedded.apiserver.registry.expected_kind import check_kind
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.shaping import check_named
from fleetqueue.embedded.apiserver.registry.store import Change, Store, reset_by
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage import keys, refusals
from fleetqueue.embedded.apiserver.validation.metadata import manager_faults

STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
PATCHES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
CUSTOM_PATCHES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""Custom kinds have no rules for a strategic merge."""


class WritingVerbs:
    def __init__(self, store: Store, forms: Forms) -> None:
        self.store = store
        self.forms = forms

    async def create(self, served: Served, question: Question) -> Answer:
        write = write_of(served, question, "CreateOptions")
        body = _object(served, question)
        entry = await self.store.create(served, question.info.namespace, body, write)
        return Answer(201, self.forms.one(served, entry, question), write.warnings)

    async def update(self, served: Served, question: Question) -> Answer:
        write = write_of(served, question, "UpdateOptions")
        body = _object(served, question)
        check_named(body, question.info.name)

        def change(live: Manifest | None) -> Manifest:
            if live is None and not served.strategy.creates_on_update:
                raise _missing(served, question)
            return body

        return await self._change(served, question, change, write)

    async def patch(self, served: Served, question: Question) -> Answer:
        write = write_of(served, question, "PatchOptions")
        change = self._patch(served, question, write)
        return await self._change(served, question, change, write)

    async def _change(self, served: Served, question: Question, change: Change, write: Write) -> Answer:
        namespace, name = place(served, question)
        entry, is_new = await self.store.update(served, namespace, name, change, write)
        return Answer(201 if is_new else 200, self.forms.one(served, entry, question), write.warnings)

    def _patch(self, served: Served, question: Question, write: Write) -> Change:
        kind = question.content_type
        if served.is_custom and kind not in CUSTOM_PATCHES:
            raise unsupported(CUSTOM_PATCHES)
        if kind not in PATCHES:
            raise errors.ApiError("415: Unsupported Media Type", reason="UnsupportedMediaType", code=415)
        if kind == APPLY_PATCH:
            return _apply(served, question, write)
        patched = patcher(question, served.schema)
        write.patch, write.is_strategic = shown_patch(question)

        def change(live: Manifest | None) -> Manifest:
            if live is None:
                raise _missing(served, question)
            return patched(live)

        return change


def shown_patch(question: Question) -> tuple[Callable[[Manifest], str], bool]:
    """Return how a refusal shows a patch, given what it made of an object; and whether it is a strategic one."""
    if question.content_type == STRATEGIC_MERGE_PATCH:
        return (lambda made: text(question.body)), True
    return json_text, False


def patcher(question: Question, schema: Schema) -> Callable[[Manifest], Manifest]:
    """Return what a patch makes of an object; any sort but an apply."""
    kind, body = question.content_type, question.body
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


def _apply(served: Served, question: Question, write: Write) -> Change:
    """Return the change that a server-side apply makes; it also creates."""
    if not question.query.get("fieldManager"):
        raise invalid("PatchOptions", "meta.k8s.io", "", [required("fieldManager", "is required for apply patch")])
    force = is_true(question.query.get("force"))
    write.is_apply = True

    def change(live: Manifest | None) -> Manifest:
        if live is None and write.subresource:
            raise _missing(served, question)
        return apply(
            live,
            question.body,
            served.schema,
            write.manager,
            served.resource.api_version,
            write.subresource,
            timestamp(clock.now()),
            kind=served.resource.kind,
            force=force,
            reset=reset_by(served, write.subresource),
            faces=served.faces,
        )

    return change


def _object(served: Served, question: Question) -> Manifest:
    """Return the body, if it is an object of this kind."""
    body, resource = question.body, served.resource
    if not isinstance(body, dict):
        kind = resource.kind
        raise errors.BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind",
            reason="BadRequest",
        )
    check_kind(resource, body, is_custom=served.is_custom)
    return body


def write_of(served: Served, question: Question, options: str) -> Write:
    query = question.query
    if served.deprecation and served.deprecation not in question.warnings:
        question.warnings.append(served.deprecation)
    dry_run = query.get("dryRun")
    faults = []
    if dry_run is not None and {*dry_run.split(",")} != {"All"}:
        faults.append(not_supported("dryRun", dry_run.split(","), ["All"]))
    faults += manager_faults(query.get("fieldManager", ""), "fieldManager")
    if query.get("force") and question.content_type != APPLY_PATCH and options == "PatchOptions":
        faults.append(forbidden("force", "may not be specified for non-apply patch"))
    validation = query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        faults.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
    if faults:
        raise invalid(options, "meta.k8s.io", "", faults)
    manager = query.get("fieldManager") or question.agent.partition("/")[0]
    warnings = question.warnings
    return Write(
        question.user,
        manager,
        question.info.subresource,
        bool(dry_run),
        warnings=warnings,
        validation=validation,
        mistakes=question.mistakes,
        path_name=question.info.name,
    )


def unsupported(known: tuple[str, ...]) -> errors.ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(known)
    return errors.ApiError(message, reason="UnsupportedMediaType", code=415)


def _missing(served: Served, question: Question) -> errors.NotFound:
    resource = served.resource
    return refusals.not_found(keys.key_of(resource.group, resource.plural, "", question.info.name))
