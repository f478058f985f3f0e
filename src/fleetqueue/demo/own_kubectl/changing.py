"""`kubectl label`, `annotate`, `patch` and `scale`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.requests import JSON_PATCH, MERGE_PATCH, Request
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.client import REQUEST_SECONDS, STRATEGIC_PATCH
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import KubectlProblem
from fleetqueue.demo.own_kubectl.targets import KubectlCluster, NamedObject, named
from fleetqueue.embedded.apiserver.http.yaml_documents import load
from fleetqueue.embedded.apiserver.http.yaml_error import YamlError

PATCHES: Final = {"strategic": STRATEGIC_PATCH, "merge": MERGE_PATCH, "json": JSON_PATCH}


async def label(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    words, changes = _split(line.words)
    output = []
    for target in await named(cluster, line, words):
        before = await _labels(cluster, target)
        output += [f'label "{key}" not found.' for key, value in changes.items() if value is None and key not in before]
        _refuse_overwriting(before, changes, line)
        await _merge(cluster, target, {"labels": changes}, "kubectl-label")
        output.append(f"{target} {_outcome(before, changes)}")
    return "".join(f"{one}\n" for one in output)


async def annotate(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    words, changes = _split(line.words)
    targets = await named(cluster, line, words)
    for target in targets:
        await _merge(cluster, target, {"annotations": changes}, "kubectl-annotate")
    return "".join(f"{target} annotated\n" for target in targets)


async def patch(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    content_type = PATCHES.get(line.flag("--type", "strategic"))
    if content_type is None:
        raise KubectlProblem(f'error: --type must be one of [{" ".join(sorted(PATCHES))}], not "{line.flag("--type")}"')
    body = _read_patch(line.flag("--patch"))
    output = []
    for target in await named(cluster, line, line.words):
        part = line.flag("--subresource")
        before = await cluster.client.get(target.kind.resource, target.name, target.namespace, part)
        after = await send(cluster, target, body, content_type, part=part, manager="kubectl-patch")
        output.append(f"{target} patched{' (no change)' if before == after else ''}\n")
    return "".join(output)


async def scale(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    if not line.flag("--replicas").isdigit():
        raise KubectlProblem(
            "error: The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0"
        )
    targets = await named(cluster, line, line.words)
    body = {"spec": {"replicas": int(line.flag("--replicas"))}}
    for target in targets:
        await send(cluster, target, body, MERGE_PATCH, part="scale", manager="kubectl-scale")
    return "".join(f"{target} scaled\n" for target in targets)


async def send(
    cluster: KubectlCluster, target: NamedObject, body: Any, content_type: str, *, part: str = "", manager: str
) -> Manifest:
    """Send a patch of any type; raises ApiError."""
    path = target.kind.resource.path(target.namespace, target.name, part)
    request = Request("PATCH", path, {"fieldManager": manager}, body, content_type)
    response = await cluster.client.door.request(request, timeout=REQUEST_SECONDS)
    if response.status == 415:
        kind = f"{target.kind.resource.api_version}, Kind={target.kind.resource.kind}"
        raise KubectlProblem(f"error: {content_type} is not supported by {kind}: {response.body['message']}")
    if response.status >= 400:
        raise errors.from_status(response.status, response.body)
    patched: Manifest = response.body
    return patched


async def _merge(cluster: KubectlCluster, target: NamedObject, metadata: Manifest, manager: str) -> None:
    await send(cluster, target, {"metadata": metadata}, MERGE_PATCH, manager=manager)


async def _labels(cluster: KubectlCluster, target: NamedObject) -> Mapping[str, str]:
    obj = await cluster.client.get(target.kind.resource, target.name, target.namespace)
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _split(words: Sequence[str]) -> tuple[list[str], dict[str, str | None]]:
    """Tell what is changed from the changes: `key=value`, or `key-` to take it away."""
    is_change = [("=" in word or word.endswith("-")) for word in words]
    changes = [word for word, is_one in zip(words, is_change, strict=True) if is_one]
    if not changes:
        raise KubectlProblem("error: at least one label update is required")
    pairs = (word.partition("=") for word in changes)
    split = {key if equals else key[:-1]: value if equals else None for key, equals, value in pairs}
    return [word for word, is_one in zip(words, is_change, strict=True) if not is_one], split


def _refuse_overwriting(before: Mapping[str, str], changes: Mapping[str, str | None], line: Line) -> None:
    if line.is_on("--overwrite"):
        return
    for key, value in changes.items():
        if value is not None and before.get(key, value) != value:
            raise KubectlProblem(f"error: '{key}' already has a value ({before[key]}), and --overwrite is false")


def _outcome(before: Mapping[str, str], changes: Mapping[str, str | None]) -> str:
    added = any(value is not None and before.get(key) != value for key, value in changes.items())
    removed = any(value is None and key in before for key, value in changes.items())
    if added and removed:
        return "modified"
    return "labeled" if added else "unlabeled" if removed else "not labeled"


def _read_patch(text: str) -> Any:
    if not text:
        raise KubectlProblem("error: must specify --patch or --patch-file containing the contents of the patch")
    try:
        return load(text.encode())[0]
    except YamlError as error:
        raise KubectlProblem(f'error: unable to parse "{text}": {error}') from None
