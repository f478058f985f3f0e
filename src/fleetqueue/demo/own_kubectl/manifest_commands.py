"""`kubectl create`, `kubectl apply` and `kubectl delete`, which waits until what it deletes has gone."""

from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.scheme import Manifest
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import KubectlProblem, several, told
from fleetqueue.demo.own_kubectl.targets import FileObject, KubectlCluster, NamedObject, kinds_and_names, written
from fleetqueue.demo.own_kubectl.texts import as_json, formatted
from fleetqueue.demo.own_kubectl.waiting import A_WEEK, gone, within

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""What kubectl compares with next time; without it, a later apply by a real kubectl would complain."""


async def create(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    if line.words[:1] == ("namespace",):
        return await _create_namespace(cluster, line)
    made = [(one, await _created(cluster, one)) async for one in written(cluster, line, stdin)]
    output = line.flag("--output")
    if output:
        return formatted(output, [(one.kind, _without_managers(obj)) for one, obj in made], as_list=len(made) != 1)
    return "".join(f"{one.kind.name}/{obj['metadata']['name']} created\n" for one, obj in made)


async def apply(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    """Apply the objects of a file, one after the other; what one refuses does not stop the next.

    They are applied by the server, which merges lists as each kind wants it, and noted as kubectl would note them.
    """
    lines, problems = [], []
    async for one in written(cluster, line, stdin):
        try:
            lines.append(f"{one.kind.name}/{one.name} {await _applied(cluster, one)}\n")
        except (errors.ApiError, KubectlProblem) as error:
            problems.append(told(error, f'error when applying "{one.source}": '))
    if problems:
        raise KubectlProblem(several(problems))
    return "".join(lines)


async def _create_namespace(cluster: KubectlCluster, line: Line) -> str:
    if len(line.words) != 2:
        raise KubectlProblem("error: exactly one NAME is required")
    await cluster.acting_as("kubectl-create").create(Namespace.resource, Namespace.manifest(line.words[1]))
    return f"namespace/{line.words[1]} created\n"


async def _created(cluster: KubectlCluster, one: FileObject) -> Manifest:
    try:
        return await cluster.acting_as("kubectl-create").create(one.kind.resource, one.manifest)
    except errors.ApiError as error:
        raise KubectlProblem(told(error, f'error when creating "{one.source}": ')) from None


async def _applied(cluster: KubectlCluster, one: FileObject) -> str:
    if not one.name:
        raise KubectlProblem(
            f"error: from {one.manifest['metadata'].get('generateName')}: cannot use generate name with apply"
        )
    client = cluster.acting_as("kubectl")
    before = await client.find(one.kind.resource, one.name, one.namespace)
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


PROPAGATION: Final = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}


async def delete(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    targets = await _targets(cluster, line, stdin)
    lines, missing, deleted = [], [], []
    for target in targets:
        try:
            deleted.append((target, await _deleted(cluster, target, line)))
        except errors.ApiError as error:
            is_forgiven = isinstance(error, errors.NotFound) and line.is_on("--ignore-not-found")
            missing += [] if is_forgiven else [_told(error, line)]
            continue
        lines.append(_sentence(target, line))
    if missing:
        raise KubectlProblem(several(missing))
    if line.is_on("--wait", default=True):
        limit = line.seconds("--timeout") or A_WEEK
        for target, uid in deleted:
            await within(limit, target, gone(cluster.client, target, uid))
    return "".join(lines) if targets else "No resources found\n"


async def _targets(cluster: KubectlCluster, line: Line, stdin: str) -> list[NamedObject]:
    if line.flag("--filename"):
        return [NamedObject(one.kind, one.name, one.namespace) async for one in written(cluster, line, stdin)]
    kinds, names = await kinds_and_names(cluster, line.words)
    if kinds and not line.is_on("--all") and not line.flag("--selector"):
        raise KubectlProblem("error: resource(s) were provided, but no name was specified")
    targets = [NamedObject(kind, name, line.namespace if kind.resource.namespaced else "") for kind, name in names]
    for kind in kinds:
        page = await cluster.client.list(kind.resource, line.namespace, labels=line.flag("--selector"))
        targets += [
            NamedObject(kind, raw["metadata"]["name"], raw["metadata"].get("namespace", "")) for raw in page.items
        ]
    return targets


async def _deleted(cluster: KubectlCluster, target: NamedObject, line: Line) -> str:
    """Delete an object; return its uid, by which one that comes after it is told from it."""
    resource = target.kind.resource
    uid = str((await cluster.client.get(resource, target.name, target.namespace))["metadata"]["uid"])
    options: dict[str, Any] = {"propagation": PROPAGATION[line.flag("--cascade", "background")]}
    if line.flag("--grace-period"):
        options["grace"] = int(line.flag("--grace-period"))
    await cluster.client.delete(resource, target.name, target.namespace, uid=uid, **options)
    return uid


def _sentence(target: NamedObject, line: Line) -> str:
    how = "force deleted" if line.is_on("--force") and line.flag("--grace-period") == "0" else "deleted"
    where = f" from {target.namespace} namespace" if target.namespace else ""
    return f'{target.kind.name} "{target.name}" {how}{where}\n'


def _told(error: errors.ApiError, line: Line) -> str:
    path = line.flag("--filename")
    source = "STDIN" if path == "-" else path
    return told(error, f'error when deleting "{source}": ' if path else "")
