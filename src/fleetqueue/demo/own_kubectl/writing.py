"""`kubectl create` and `kubectl apply`."""

from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.scheme import Manifest
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import Problem, several, told
from fleetqueue.demo.own_kubectl.targets import Cluster, Written, written
from fleetqueue.demo.own_kubectl.texts import as_json, formatted

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What kubectl compares with next time; without it, a later apply by a real kubectl would complain."""


async def create(cluster: Cluster, line: Line, stdin: str) -> str:
    if line.words[:1] == ("namespace",):
        return await _create_namespace(cluster, line)
    made = [(one, await _created(cluster, one)) async for one in written(cluster, line, stdin)]
    output = line.flag("--output")
    if output:
        return formatted(output, [(one.kind, _without_managers(obj)) for one, obj in made], as_list=len(made) != 1)
    return "".join(f"{one.kind.name}/{obj['metadata']['name']} created\n" for one, obj in made)


async def apply(cluster: Cluster, line: Line, stdin: str) -> str:
    """Apply the objects of a file, one after the other; what one refuses does not stop the next.

    They are applied by the server, which merges lists as each kind wants it, and noted as kubectl would note them.
    """
    lines, problems = [], []
    async for one in written(cluster, line, stdin):
        try:
            lines.append(f"{one.kind.name}/{one.name} {await _applied(cluster, one)}\n")
        except (errors.ApiError, Problem) as error:
            problems.append(told(error, f'error when applying "{one.source}": '))
    if problems:
        raise Problem(several(problems))
    return "".join(lines)


async def _create_namespace(cluster: Cluster, line: Line) -> str:
    if len(line.words) != 2:
        raise Problem("error: exactly one NAME is required")
    await cluster.acting_as("kubectl-create").create(Namespace.resource, Namespace.manifest(line.words[1]))
    return f"namespace/{line.words[1]} created\n"


async def _created(cluster: Cluster, one: Written) -> Manifest:
    try:
        return await cluster.acting_as("kubectl-create").create(one.kind.resource, one.manifest)
    except errors.ApiError as error:
        raise Problem(told(error, f'error when creating "{one.source}": ')) from None


async def _applied(cluster: Cluster, one: Written) -> str:
    if not one.name:
        raise Problem(
            f"error: from {one.manifest['metadata'].get('generateName')}: cannot use generate name with apply"
        )
    client = cluster.acting_as("kubectl")
    try:
        before = await client.get(one.kind.resource, one.name, one.namespace)
    except errors.NotFound:
        before = None
    after = await client.apply(one.kind.resource, _noted(one.manifest))
    if before is None:
        return "created"
    is_same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    return "unchanged" if is_same else "configured"


def _noted(manifest: Manifest) -> Manifest:
    """Note in an object what was applied."""
    metadata = manifest["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    plain = {**manifest, "metadata": {**metadata, "annotations": annotations}}
    annotations = {**annotations, LAST_APPLIED: as_json(plain, indent=None) + "\n"}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _without_managers(obj: Manifest) -> Manifest:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}
