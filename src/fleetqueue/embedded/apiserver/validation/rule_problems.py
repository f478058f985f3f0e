"""Validation rules must compile against their schema: one that does not is refused, never skipped."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import Cause, internal, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.go_text import json_text
from fleetqueue.embedded.apiserver.validation import rules
from fleetqueue.embedded.apiserver.validation.cel.types import Type, optional_of
from fleetqueue.embedded.apiserver.validation.rule_types import type_of
from fleetqueue.embedded.apiserver.validation.structural_schema import shape

Openapi = Mapping[str, Any]
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def form_problems(openapi: Openapi, path: str) -> Iterator[Cause]:
    """Return what is wrong with the rules of one node before any is compiled."""
    for position, rule in enumerate(openapi.get("x-kubernetes-validations") or ()):
        yield from _form_of(rule, openapi, f"{path}.x-kubernetes-validations[{position}]")


def _form_of(rule: Openapi, openapi: Openapi, at: str) -> Iterator[Cause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not text:
        yield required(f"{at}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{at}.message", message, "must be non-empty if specified")
    elif _has_newlines(message.strip()):
        yield invalid_value(f"{at}.message", message, "must not contain line breaks")
    elif _has_newlines(text) and not message:
        yield required(f"{at}.message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in REASONS:
        yield not_supported(f"{at}.reason", rule["reason"], list(REASONS))
    if rule.get("fieldPath"):
        yield from _of_path(rule["fieldPath"], openapi, f"{at}.fieldPath")


def _of_path(path: str, openapi: Openapi, at: str) -> Iterator[Cause]:
    if not path.strip():
        yield invalid_value(at, path, "must be non-empty if specified")
    if _has_newlines(path):
        yield invalid_value(at, path, "must not contain line breaks")
    try:
        rules.normalized_path(path, shape(openapi))
    except rules.BadFieldPath:
        yield invalid_value(at, path, "must be a valid path")


def _has_newlines(text: str) -> bool:
    return "\n" in text or "\r" in text


def compile_problems(openapi: Openapi, path: str, uncorrelatable: str, *, is_object: bool) -> Iterator[Cause]:
    """Compile the rules of one node; `uncorrelatable` is where the old value gets lost, if it does."""
    written: Sequence[Openapi] = openapi.get("x-kubernetes-validations") or ()
    described = type_of(shape({**openapi, "x-kubernetes-validations": None}), is_object=is_object) if written else None
    for position, rule in enumerate(written):
        at = f"{path}.x-kubernetes-validations[{position}]"
        if described is None:
            message = "failed to convert to declType for CEL validation rules"
            yield internal(f"{path}.x-kubernetes-validations", message)
            return
        yield from _compile_one(rule, described, at, uncorrelatable)


def _compile_one(rule: Openapi, described: Type, at: str, uncorrelatable: str) -> Iterator[Cause]:
    old = optional_of(described) if rule.get("optionalOldSelf") else described
    variables = {"self": described, "oldSelf": old}
    try:
        program = rules.compiled_rule(rule["rule"], variables)
    except rules.BadRule as error:
        yield _refused(f"{at}.rule", rule, str(error))
        return
    if rule.get("messageExpression"):
        try:
            rules.compiled_message(rule["messageExpression"], variables)
        except rules.BadRule as error:
            yield _refused(f"{at}.messageExpression", rule, str(error))
    if "oldSelf" in program.names and uncorrelatable:
        message = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        yield invalid_value(f"{at}.rule", rule["rule"], message)
    elif "oldSelf" not in program.names and rule.get("optionalOldSelf") is not None:
        message = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{at}.optionalOldSelf", rule["optionalOldSelf"], message)


def _refused(at: str, rule: Openapi, message: str) -> Cause:
    """Show the rule as the real server does: with the names of its own fields, in their order."""
    names = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    words = [
        f'"{name[0].upper()}{name[1:]}":{json_text(rule.get(name, None if name in _POINTERS else ""))}'
        for name in names
    ]
    return Cause("FieldValueInvalid", f"Invalid value: {{{','.join(words)}}}: {message}", at)


_POINTERS = frozenset({"reason", "optionalOldSelf"})
