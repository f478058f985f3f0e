"""`kubectl get` and `kubectl api-resources`, with kubectl's tables.

Their cells are those that an embedded server answers when it is asked for a table, made by the same printers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kinds import ServedKind
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import KubectlProblem, several, told
from fleetqueue.demo.own_kubectl.targets import KubectlCluster, kinds_and_names
from fleetqueue.demo.own_kubectl.texts import formatted
from fleetqueue.embedded.apiserver.http.printing import custom
from fleetqueue.embedded.apiserver.http.printing.clusters import PLAIN
from fleetqueue.embedded.apiserver.http.printing.columns import Printer
from fleetqueue.embedded.apiserver.http.tables import BUILT_IN


async def get(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    kinds, names = await kinds_and_names(cluster, line.words)
    groups = [(kind, await _listed(cluster, kind, line)) for kind in kinds] or await _named(cluster, names, line)
    output = line.flag("--output")
    if output in ("", "wide"):
        return await _tables(cluster, groups, line)
    shown = [(kind, _shown(kind, obj, line)) for kind, objects in groups for obj in objects]
    return formatted(output, shown, as_list=len(names) != 1)


async def api_resources(cluster: KubectlCluster, line: Line, stdin: str) -> str:
    """List the names of the kinds that can do something; the only form is `-o name`."""
    verbs = set(filter(None, line.flag("--verbs").split(",")))
    able = [kind.resource for kind in await cluster.kinds.all() if verbs <= set(kind.verbs)]
    return "".join(f"{resource}\n" for resource in sorted(able, key=lambda one: (one.group, one.plural)))


async def _listed(cluster: KubectlCluster, kind: ServedKind, line: Line) -> list[Manifest]:
    namespace = "" if line.is_on("--all-namespaces") else line.namespace
    labels, fields = line.flag("--selector"), line.flag("--field-selector")
    return (await cluster.client.list(kind.resource, namespace, labels=labels, fields=fields)).items


async def _named(
    cluster: KubectlCluster, names: list[tuple[ServedKind, str]], line: Line
) -> list[tuple[ServedKind, list[Manifest]]]:
    """Fetch objects one by one; those of one kind that follow each other make one table."""
    groups: list[tuple[ServedKind, list[Manifest]]] = []
    missing = []
    for kind, name in names:
        try:
            obj = await cluster.client.get(kind.resource, name, line.namespace if kind.resource.namespaced else "")
        except errors.NotFound as error:
            if not line.is_on("--ignore-not-found"):
                missing.append(told(error))
            continue
        if groups and groups[-1][0] == kind:
            groups[-1][1].append(obj)
        else:
            groups.append((kind, [obj]))
    if missing:
        raise KubectlProblem(several(missing))
    return groups


async def _tables(cluster: KubectlCluster, groups: list[tuple[ServedKind, list[Manifest]]], line: Line) -> str:
    has_headers = not line.is_on("--no-headers")
    style = Style(
        is_wide=line.flag("--output") == "wide",
        has_headers=has_headers,
        has_namespaces=line.is_on("--all-namespaces"),
        has_kinds=len({kind.resource for kind, _ in groups}) > 1,
    )
    printed = [await table(cluster.client, kind, objects, style) for kind, objects in groups]
    if any(printed):
        return ("\n" if has_headers else "").join(text for text in printed if text)
    if line.is_on("--ignore-not-found"):
        return ""
    everywhere = style.has_namespaces or not all(kind.resource.namespaced for kind, _ in groups)
    return "No resources found\n" if everywhere else f"No resources found in {line.namespace} namespace.\n"


def _shown(kind: ServedKind, obj: Manifest, line: Line) -> Manifest:
    """Return an object as a person wants to see it; in lists a server leaves out what all items share."""
    hidden = () if line.is_on("--show-managed-fields") else ("managedFields",)
    metadata = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, **obj, "metadata": metadata}


NARROWEST: Final = 6
GAP: Final = 3
"""Characters: how narrow a column may be, and what stands between two; both as kubectl has them."""
_BREAK: Final = re.compile(r"[\f\n\r]")


@dataclass(frozen=True, slots=True)
class Style:
    is_wide: bool = False
    has_headers: bool = True
    has_namespaces: bool = False
    has_kinds: bool = False


async def table(client: Client, kind: ServedKind, objects: Sequence[Manifest], style: Style) -> str:
    """Lay objects of one kind out under their headings; nothing where there are none."""
    if not objects:
        return ""
    printer, now = await _printer(client, kind.resource), clock.now()
    shown = [index for index, column in enumerate(printer.columns) if style.is_wide or not column.priority]
    has_namespaces = style.has_namespaces and kind.resource.namespaced
    rows = []
    if style.has_headers:
        rows.append([*(["NAMESPACE"] * has_namespaces), *(printer.columns[index].name.upper() for index in shown)])
    for obj in objects:
        name, *more = _cells(printer, obj, now, shown)
        named = f"{kind.name}/{name}" if style.has_kinds else name
        rows.append([*([obj["metadata"]["namespace"]] if has_namespaces else []), named, *more])
    return "".join(f"{line}\n" for line in _aligned(rows))


def _cells(printer: Printer, obj: Manifest, now: datetime, shown: Sequence[int]) -> list[str]:
    cells = printer.cells(obj, now)
    return [_cell(cells[index]) for index in shown]


async def _printer(client: Client, resource: Resource) -> Printer:
    """Return who fills the columns of a kind: of a custom one, its definition names them."""
    built_in = BUILT_IN.get((resource.group, resource.plural))
    if built_in is not None:
        return built_in
    try:
        raw = await client.get(CustomResourceDefinition.resource, f"{resource.plural}.{resource.group}")
    except errors.NotFound:
        return PLAIN
    versions = CustomResourceDefinition.view(raw).spec["versions"]
    served = next(one for one in versions if one["name"] == resource.version)
    return custom.printer(served.get("additionalPrinterColumns") or ())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    first, *more = _BREAK.split(text, maxsplit=1)
    return f"{first}..." if more else first


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Pad every cell but the last of a row, as Go's tabwriter does."""
    columns = list(zip(*rows, strict=True))
    widths = [max(NARROWEST, *(len(cell) + GAP for cell in column)) for column in columns]
    for row in rows:
        yield "".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)) + row[-1]
