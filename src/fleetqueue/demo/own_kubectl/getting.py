"""`kubectl get` and `kubectl api-resources`."""

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.demo.own_kubectl.kinds import Kind
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import Problem, several, told
from fleetqueue.demo.own_kubectl.tables import Style, table
from fleetqueue.demo.own_kubectl.targets import Cluster, kinds_and_names
from fleetqueue.demo.own_kubectl.texts import formatted


async def get(cluster: Cluster, line: Line, stdin: str) -> str:
    kinds, names = await kinds_and_names(cluster, line.words)
    found = [(kind, await _listed(cluster, kind, line)) for kind in kinds] or await _named(cluster, names, line)
    output = line.flag("--output")
    if output in ("", "wide"):
        return await _tables(cluster, found, line)
    shown = [(kind, _shown(kind, obj, line)) for kind, objects in found for obj in objects]
    return formatted(output, shown, as_list=len(names) != 1)


async def api_resources(cluster: Cluster, line: Line, stdin: str) -> str:
    """List the names of the kinds that can do something; the only form is `-o name`."""
    verbs = set(filter(None, line.flag("--verbs").split(",")))
    able = [kind.resource for kind in await cluster.kinds.all() if verbs <= set(kind.verbs)]
    return "".join(f"{resource}\n" for resource in sorted(able, key=lambda one: (one.group, one.plural)))


async def _listed(cluster: Cluster, kind: Kind, line: Line) -> list[Manifest]:
    namespace = "" if line.is_on("--all-namespaces") else line.namespace
    labels, fields = line.flag("--selector"), line.flag("--field-selector")
    return (await cluster.client.list(kind.resource, namespace, labels=labels, fields=fields)).items


async def _named(cluster: Cluster, names: list[tuple[Kind, str]], line: Line) -> list[tuple[Kind, list[Manifest]]]:
    """Fetch objects one by one; those of one kind that follow each other make one table."""
    found: list[tuple[Kind, list[Manifest]]] = []
    missing = []
    for kind, name in names:
        try:
            obj = await cluster.client.get(kind.resource, name, line.namespace if kind.resource.namespaced else "")
        except errors.NotFound as error:
            if not line.is_on("--ignore-not-found"):
                missing.append(told(error))
            continue
        if found and found[-1][0] == kind:
            found[-1][1].append(obj)
        else:
            found.append((kind, [obj]))
    if missing:
        raise Problem(several(missing))
    return found


async def _tables(cluster: Cluster, found: list[tuple[Kind, list[Manifest]]], line: Line) -> str:
    has_headers = not line.is_on("--no-headers")
    style = Style(
        is_wide=line.flag("--output") == "wide",
        has_headers=has_headers,
        has_namespaces=line.is_on("--all-namespaces"),
        has_kinds=len({kind.resource for kind, _ in found}) > 1,
    )
    printed = [await table(cluster.client, kind, objects, style) for kind, objects in found]
    if any(printed):
        return ("\n" if has_headers else "").join(text for text in printed if text)
    if line.is_on("--ignore-not-found"):
        return ""
    everywhere = style.has_namespaces or not all(kind.resource.namespaced for kind, _ in found)
    return "No resources found\n" if everywhere else f"No resources found in {line.namespace} namespace.\n"


def _shown(kind: Kind, obj: Manifest, line: Line) -> Manifest:
    """Return an object as a person wants to see it; in lists a server leaves out what all items share."""
    hidden = () if line.is_on("--show-managed-fields") else ("managedFields",)
    metadata = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, **obj, "metadata": metadata}
