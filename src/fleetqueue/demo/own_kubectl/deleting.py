"""`kubectl delete`: what was named is told to go, and is waited for until it has gone."""

from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import Problem, several, told
from fleetqueue.demo.own_kubectl.targets import Cluster, Target, kinds_and_names, written
from fleetqueue.demo.own_kubectl.waiting import A_WEEK, gone, within

PROPAGATION: Final = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}


async def delete(cluster: Cluster, line: Line, stdin: str) -> str:
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
        raise Problem(several(missing))
    if line.is_on("--wait", default=True):
        limit = line.seconds("--timeout") or A_WEEK
        for target, uid in deleted:
            await within(limit, target, gone(cluster.client, target, uid))
    return "".join(lines) if targets else "No resources found\n"


async def _targets(cluster: Cluster, line: Line, stdin: str) -> list[Target]:
    if line.flag("--filename"):
        return [Target(one.kind, one.name, one.namespace) async for one in written(cluster, line, stdin)]
    kinds, names = await kinds_and_names(cluster, line.words)
    if kinds and not line.is_on("--all") and not line.flag("--selector"):
        raise Problem("error: resource(s) were provided, but no name was specified")
    found = [Target(kind, name, line.namespace if kind.resource.namespaced else "") for kind, name in names]
    for kind in kinds:
        page = await cluster.client.list(kind.resource, line.namespace, labels=line.flag("--selector"))
        found += [Target(kind, raw["metadata"]["name"], raw["metadata"].get("namespace", "")) for raw in page.items]
    return found


async def _deleted(cluster: Cluster, target: Target, line: Line) -> str:
    """Delete an object; return its uid, by which one that comes after it is told from it."""
    resource = target.kind.resource
    uid = str((await cluster.client.get(resource, target.name, target.namespace))["metadata"]["uid"])
    options: dict[str, Any] = {"propagation": PROPAGATION[line.flag("--cascade", "background")]}
    if line.flag("--grace-period"):
        options["grace"] = int(line.flag("--grace-period"))
    await cluster.client.delete(resource, target.name, target.namespace, uid=uid, **options)
    return uid


def _sentence(target: Target, line: Line) -> str:
    how = "force deleted" if line.is_on("--force") and line.flag("--grace-period") == "0" else "deleted"
    where = f" from {target.namespace} namespace" if target.namespace else ""
    return f'{target.kind.name} "{target.name}" {how}{where}\n'


def _told(error: errors.ApiError, line: Line) -> str:
    path = line.flag("--filename")
    source = "STDIN" if path == "-" else path
    return told(error, f'error when deleting "{source}": ' if path else "")
