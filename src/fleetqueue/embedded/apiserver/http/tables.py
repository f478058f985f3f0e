"""Objects as a table, which is what kubectl shows: columns, and a row of cells for each object."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing import custom
from fleetqueue.embedded.apiserver.http.printing.clusters import CLUSTERS, PLAIN
from fleetqueue.embedded.apiserver.http.printing.columns import Printer
from fleetqueue.embedded.apiserver.http.printing.data import DATA
from fleetqueue.embedded.apiserver.http.printing.networking import NETWORKING
from fleetqueue.embedded.apiserver.http.printing.pods import POD
from fleetqueue.embedded.apiserver.http.printing.workloads import WORKLOADS
from fleetqueue.embedded.apiserver.registry.served import Served

INCLUDED: Final = ("", "Metadata", "Object", "None")
BUILT_IN: Final[Mapping[tuple[str, str], Printer]] = {("", "pods"): POD, **WORKLOADS, **CLUSTERS, **DATA, **NETWORKING}


def table(
    served: Served,
    objects: Sequence[Manifest],
    metadata: Manifest,
    *,
    version: str = "v1",
    included: str = "",
    has_columns: bool = True,
) -> Manifest:
    """Build a table of objects; `included` says what of each object stands beside its cells."""
    printer = printer_of(served)
    now, api_version = clock.now(), f"meta.k8s.io/{version}"
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": metadata,
        "columnDefinitions": [column.definition for column in printer.columns] if has_columns else None,
        "rows": [_row(printer, obj, printer.cells(obj, now), _beside(obj, api_version, included)) for obj in objects],
    }


def check_included(query: Mapping[str, str]) -> str:
    """Return what of the objects the query wants beside their cells; raises BadRequest."""
    included = query.get("includeObject", "")
    if included not in INCLUDED:
        why = f"includeObject: Invalid value: \"{included}\": must be 'Metadata', 'Object', 'None', or empty"
        raise errors.BadRequest(f"Unable to convert to Table as requested: {why}", reason="BadRequest")
    return included


def printer_of(served: Served) -> Printer:
    if served.is_custom:
        return custom.printer(served.columns)
    return BUILT_IN.get((served.resource.group, served.resource.plural), PLAIN)


def _row(printer: Printer, obj: Manifest, cells: list[Any], beside: Manifest | None) -> Manifest:
    conditions = printer.conditions(obj) if printer.conditions is not None else []
    return {"cells": cells, **({"conditions": conditions} if conditions else {}), "object": beside}


def _beside(obj: Manifest, api_version: str, included: str) -> Manifest | None:
    if included == "Object":
        return obj
    if included == "None":
        return None
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj["metadata"]}
