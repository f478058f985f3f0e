"""How an object is to be deleted, read from the body or the query of a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid, invalid_value, not_supported
from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import type_of
from fleetqueue.embedded.apiserver.registry.list_options import flag, number

POLICIES: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace: int | None = None
    propagation: str | None = None
    orphan: bool | None = None
    """The old form of the propagation."""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False

    @property
    def says_what_follows(self) -> bool:
        """Whether it says what becomes of dependents."""
        return self.propagation is not None or self.orphan is not None


def delete_options(body: Any, query: Mapping[str, str]) -> DeleteOptions:
    """Read the options; the query counts only where there is no body, as in Kubernetes."""
    given = _of_query(query) if body is None else _of_body(body)
    dry_run = given.get("dryRun") or []
    preconditions = given.get("preconditions") or {}
    options = DeleteOptions(
        given.get("gracePeriodSeconds"),
        given.get("propagationPolicy"),
        given.get("orphanDependents"),
        preconditions.get("uid") or "",
        preconditions.get("resourceVersion") or "",
        bool(dry_run),
    )
    if faults := _faults(options, dry_run):
        raise invalid("DeleteOptions", "meta.k8s.io", "", faults)
    return options


def _of_body(body: Any) -> Mapping[str, Any]:
    try:
        return normalised(body, type_name=type_of("", "v1", "DeleteOptions"))[0]
    except Unreadable as error:
        raise errors.BadRequest(str(error), reason="BadRequest") from error


def _of_query(query: Mapping[str, str]) -> Mapping[str, Any]:
    orphan = query.get("orphanDependents")
    return {
        "gracePeriodSeconds": number(query, "gracePeriodSeconds"),
        "propagationPolicy": query.get("propagationPolicy"),
        "orphanDependents": None if orphan is None else flag(orphan),
        "dryRun": [query["dryRun"]] if "dryRun" in query else [],
    }


def _faults(options: DeleteOptions, dry_run: list[str]) -> list[Cause]:
    found = []
    if options.propagation is not None and options.orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        found.append(invalid_value("propagationPolicy", options.propagation, detail))
    if options.propagation is not None and options.propagation not in POLICIES:
        found.append(not_supported("propagationPolicy", options.propagation, [*POLICIES, "nil"]))
    if any(value != "All" for value in dry_run):
        found.append(not_supported("dryRun", dry_run, ["All"]))
    return found
