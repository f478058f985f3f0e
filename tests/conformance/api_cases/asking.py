"""From a step of a case to a request: the path, the body, the headers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import yaml

from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch
from tests.conformance.api_cases.cases import HERE, Case, Step

AGENT = "cases"
"""The program that asks: the field manager where a step names none."""
BASES = yaml.safe_load((HERE / "bases.yaml").read_text())
METHODS = {
    "create": ("POST", "application/json"),
    "update": ("PUT", "application/json"),
    "replace": ("PUT", "application/json"),
    "merge": ("PATCH", "application/merge-patch+json"),
    "json": ("PATCH", "application/json-patch+json"),
    "strategic": ("PATCH", "application/strategic-merge-patch+json"),
    "apply": ("PATCH", "application/apply-patch+yaml"),
    "get": ("GET", "application/json"),
    "list": ("GET", "application/json"),
    "watch": ("GET", "application/json"),
    "delete": ("DELETE", "application/json"),
    "clear": ("DELETE", "application/json"),
}
OF_COLLECTIONS = ("create", "list", "watch", "clear")
WITHOUT_BODY = ("get", "list", "watch")
REFERENCE = re.compile(r"\$(g?\d+)((?:\.[A-Za-z0-9]+)+)")


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: str = ""
    body: Any = None
    text: bytes | None = None
    """The bytes of a body that is none, or must be just so; instead of `body`."""
    content_type: str = "application/json"
    accept: str = "application/json"
    user: str | None = None
    """As whom, by impersonation; None is the administrator."""
    groups: Sequence[str] = ()
    token: str | None = None
    """A bearer token instead of the administrator's certificate; an empty one is none at all."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def content(self) -> bytes | None:
        if self.text is not None or self.body is None:
            return self.text
        return orjson.dumps(self.body)


def verb_of(step: Step) -> str:
    return next(verb for verb in (*METHODS, "ask") if verb in step)


def asked(case: Case, step: Step, known: dict[str, Any]) -> Asked:
    """Build the request of a step; what earlier answers say is filled in."""
    step, verb, namespace = filled(step, known), verb_of(step), known["NAMESPACE"]
    if verb == "ask":
        method, _, target = step["ask"].partition(" ")
        path, _, query = target.partition("?")
        media_type, body = "application/json", step.get("body")
    else:
        method, media_type = METHODS[verb]
        path, query = _path(case, step, verb, namespace), ""
        body = filled(_body(case, step, verb), known)
    user = step.get("as") or {}
    user = user if isinstance(user, dict) else {"user": user}
    text = step.get("text")
    return Asked(
        method,
        path,
        "&".join(filter(None, [query, _query(step)])),
        body,
        text.encode() if isinstance(text, str) else text,
        step.get("type", media_type),
        step.get("accept", "application/json"),
        user.get("user"),
        user.get("groups", ()),
        step.get("token"),
        step.get("headers", {}),
    )


def _query(step: Step) -> str:
    given = step.get("query", "")
    asked_for = urlencode(given, quote_via=quote) if isinstance(given, dict) else given
    manager = f"fieldManager={step['by']}" if "by" in step else ""
    watch = "watch=true" if "watch" in step else ""
    force = "force=true" if step.get("force") else ""
    return "&".join(filter(None, [watch, manager, force, asked_for]))


def _path(case: Case, step: Step, verb: str, namespace: str) -> str:
    collection = collection_path(step.get("of", case.of), step.get("in", namespace))
    if verb in OF_COLLECTIONS and "sub" not in step:
        return collection
    return f"{collection}/{step.get('name', 'x')}" + (f"/{step['sub']}" if "sub" in step else "")


def collection_path(resource: str, namespace: str) -> str:
    group_version, _, plural = resource.rpartition("/")
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    is_inside = bool(namespace) and scope_of(resource)
    return f"{root}/namespaces/{namespace}/{plural}" if is_inside else f"{root}/{plural}"


def _body(case: Case, step: Step, verb: str) -> Any:
    body = step[verb]
    if verb in WITHOUT_BODY:
        return None
    if verb not in ("create", "apply", "replace") or not isinstance(body, dict):
        return body
    resource = step.get("of", case.of)
    base = step.get("base") or case.base or resource.rpartition("/")[2]
    named = {} if "sub" in step and verb == "create" else {"metadata": {"name": step.get("name", "x")}}
    return apply_merge_patch({**_type(resource, verb), **named, **BASES.get(base, {})}, body)


def _type(resource: str, verb: str) -> dict[str, str]:
    """Say what an object is, where it must: built-in kinds are known from the path, unless they are applied."""
    kind = _kinds().get(resource)
    if kind is not None and verb != "apply":
        return {}
    api_version = resource.rpartition("/")[0]
    return {"apiVersion": api_version, "kind": kind or custom_kind(resource)}


def custom_kind(resource: str) -> str:
    plural = resource.rpartition("/")[2]
    return plural.removesuffix("s").capitalize()


def scope_of(resource: str) -> bool:
    """Tell whether a resource is namespaced; custom ones are unless their name says otherwise."""
    return _scopes().get(resource, not resource.rpartition("/")[2].startswith("cluster"))


@cache
def _scopes() -> dict[str, bool]:
    return {f"{kind.group}/{kind.version}/{kind.plural}".strip("/"): kind.namespaced for kind in facts.kinds()}


@cache
def _kinds() -> dict[str, str]:
    return {f"{kind.group}/{kind.version}/{kind.plural}".strip("/"): kind.kind for kind in facts.kinds()}


def filled(value: Any, known: dict[str, Any]) -> Any:
    """Fill in what a case cannot know: its namespace, and values of earlier answers (`$1.metadata.uid`)."""
    if isinstance(value, dict):
        return {filled(key, known): filled(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, known) for item in value]
    if not isinstance(value, str):
        return value
    value = value.replace("NAMESPACE", known["NAMESPACE"]).replace("REQUEST", REQUEST)
    return REFERENCE.sub(lambda found: _referred(known, found[1], found[2]), value)


REQUEST = (HERE / "request.txt").read_text().strip()
"""A certificate request, as it stands in a CertificateSigningRequest."""


def _referred(known: dict[str, Any], step: str, path: str) -> str:
    value = known[step]
    for part in path.strip(".").split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return str(value)
