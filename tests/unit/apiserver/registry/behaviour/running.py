"""Do the cases of `cases.yaml` to a server, whichever it is, and keep what does not differ from run to run."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml

from fleetqueue.apiserver.kinds import facts
from fleetqueue.apiserver.patching.merge_patch import apply_merge_patch

HERE = Path(__file__).parent
CASES = yaml.safe_load((HERE / "cases.yaml").read_text())
BASES = yaml.safe_load((HERE / "bases.yaml").read_text())
REQUEST = (HERE / "request.txt").read_text().strip()

Ask = Callable[[str, str, Any, str], Awaitable[tuple[int, Any]]]
"""Makes one request: method, path with query, body, media type; returns the status and the body."""

SCOPES = {kind.plural: kind.namespaced for kind in facts.kinds()}
METHODS = {
    "create": ("POST", "application/json"),
    "update": ("PUT", "application/json"),
    "merge": ("PATCH", "application/merge-patch+json"),
    "json": ("PATCH", "application/json-patch+json"),
    "strategic": ("PATCH", "application/strategic-merge-patch+json"),
    "apply": ("PATCH", "application/apply-patch+yaml"),
    "get": ("GET", "application/json"),
    "delete": ("DELETE", "application/json"),
}
CHANGING = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "token",
    "expirationTimestamp",
}
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOW = re.compile(r"20(2[5-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
ADDRESS = re.compile(r"10\.(0|96)\.[0-9]+\.[0-9]+")
SUFFIX = re.compile(r"^p-[a-z0-9]{5}$")
PATCHED = re.compile(r'Invalid value: "\{.*\}": ')
SHOWN = re.compile(r"Invalid value: \{.*?\}: ")
DIFFERENCE = re.compile(r"\n@@.*", re.DOTALL)
CREDENTIAL = re.compile(r"X509SHA256=[0-9a-f]{64}")
MASKS = (
    (UID, "UID"),
    (NOW, "NOW"),
    (ADDRESS, "ADDRESS"),
    (SUFFIX, "p-SUFFIX"),
    (DIFFERENCE, "\n"),
    (CREDENTIAL, "CREDENTIAL"),
)


async def run(ask: Ask, case: dict[str, Any], namespace: str) -> list[dict[str, Any]]:
    """Do all steps of a case; what was answered."""
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, "application/json")
    return [await step_of(ask, case["of"], namespace, step) for step in case["steps"]]


async def step_of(ask: Ask, resource: str, namespace: str, step: dict[str, Any]) -> dict[str, Any]:
    resource = step.get("of", resource)
    verb = next(verb for verb in METHODS if verb in step)
    method, media_type = METHODS[verb]
    body = placed(body_of(resource, verb, step), namespace)
    path = path_of(resource, placed(step.get("in", namespace), namespace))
    name = placed(step.get("name", "x"), namespace)
    if verb != "create" or "sub" in step:
        path += f"/{name}" + (f"/{step['sub']}" if "sub" in step else "")
    if verb == "update":
        _, live = await ask("GET", path.removesuffix("/finalize"), None, "application/json")
        body = apply_merge_patch(live, body)
    query = f"?{step['query']}" if "query" in step else ""
    code, answer = await ask(method, path + query, None if verb == "get" else body, media_type)
    return {"code": code, "body": lasting(answer, namespace)}


def body_of(resource: str, verb: str, step: dict[str, Any]) -> Any:
    body = step[verb]
    if verb not in ("create", "apply") or not isinstance(body, dict):
        return body
    base = BASES.get(step.get("base", resource.rpartition("/")[2]), {})
    named = {} if "sub" in step else {"metadata": {"name": "x"}}
    return apply_merge_patch({**named, **base}, body)


def placed(value: Any, namespace: str) -> Any:
    """Fill in what a case cannot know."""
    if isinstance(value, dict):
        return {key: placed(item, namespace) for key, item in value.items()}
    if isinstance(value, list):
        return [placed(item, namespace) for item in value]
    return value.replace("NAMESPACE", namespace).replace("REQUEST", REQUEST) if isinstance(value, str) else value


def path_of(resource: str, namespace: str) -> str:
    group_version, _, plural = resource.rpartition("/")
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    return f"{root}/{plural}" if not SCOPES[plural] else f"{root}/namespaces/{namespace}/{plural}"


def lasting(value: Any, namespace: str) -> Any:
    """Leave out, or make equal, what is another in every run."""
    if isinstance(value, dict):
        kept = {key: lasting(item, namespace) for key, item in value.items() if key not in CHANGING}
        return {**kept, "nodePort": "PORT"} if "nodePort" in kept else kept
    if isinstance(value, list):
        return [lasting(item, namespace) for item in value]
    if not isinstance(value, str):
        return value
    for pattern, sign in MASKS:
        value = pattern.sub(sign, value)
    value = PATCHED.sub('Invalid value: "PATCHED": ', value)
    return SHOWN.sub("Invalid value: {VALUE}: ", value).replace(namespace, "NAMESPACE")
