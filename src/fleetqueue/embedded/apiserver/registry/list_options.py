"""The options of a list or a watch, read from the query and checked."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.requests import number
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid, not_supported
from fleetqueue.embedded.apiserver.kinds.selectors import parse_fields, parse_labels
from fleetqueue.embedded.apiserver.registry.served import Served

EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"
Wanted = Callable[[Manifest], bool]
_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListOptions:
    wants: Wanted | None = None
    """Which objects are selected; None for all."""
    name: str = ""
    """The one object that is wanted, where the selector names one."""
    limit: int = 0
    token: str = ""
    """Where to go on (`continue`)."""
    revision: int | None = None
    """None for the newest state, 0 where any will do."""
    match: str = ""
    timeout: float | None = None
    bookmarks: bool = False
    initial_events: bool | None = None
    """Whether a watch begins with all that is there; None where its revision decides."""


def list_options(served: Served, query: Mapping[str, str], *, watch: bool = False) -> ListOptions:
    """Read the query of a list or a watch; raises BadRequest or Invalid."""
    match, initial = query.get("resourceVersionMatch", ""), query.get("sendInitialEvents")
    faults = _watch_faults(query, match, initial) if watch else _list_faults(query, match, initial)
    if faults:
        raise invalid("ListOptions", "meta.k8s.io", "", faults)
    wants, name = selector(served, query.get("labelSelector", ""), query.get("fieldSelector", ""))
    return ListOptions(
        wants,
        name,
        max(0, number(query, "limit") or 0),
        query.get("continue", ""),
        _list_revision(query.get("resourceVersion", ""), watch=watch),
        match,
        number(query, "timeoutSeconds"),
        flag(query.get("allowWatchBookmarks")),
        None if initial is None else flag(initial),
    )


def selector(served: Served, labels: str, fields: str) -> tuple[Wanted | None, str]:
    """Return the test that two selectors stand for, and the one name that they allow, if any."""
    try:
        label_test, terms = parse_labels(labels), parse_fields(fields)
    except ValueError as error:
        raise errors.BadRequest(str(error), reason="BadRequest") from None
    tests: list[Wanted] = []
    if label_test is not None:
        tests.append(lambda obj: label_test(obj["metadata"].get("labels") or {}))
    name = ""
    for term in terms:
        read = served.select(term.path)
        if read is None:
            raise errors.BadRequest(served.strategy.selectable.refusal.format(term.path), reason="BadRequest")
        if term.path == "metadata.name" and term.is_equal:
            name = term.value
        tests.append(lambda obj, read=read, term=term: term.matches(read(obj)))  # type: ignore[misc]
    if not tests:
        return None, name
    return tests[0] if len(tests) == 1 else lambda obj: all(test(obj) for test in tests), name


def _list_faults(query: Mapping[str, str], match: str, initial: str | None) -> list[Cause]:
    field, faults = "resourceVersionMatch", []
    version = query.get("resourceVersion", "")
    if match and not version:
        faults.append(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if match and query.get("continue"):
        faults.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    if match and match not in (EXACT, NOT_OLDER):
        faults.append(not_supported(field, match, [EXACT, NOT_OLDER, ""]))
    if match == EXACT and version == "0":
        faults.append(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        faults.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return faults


def _watch_faults(query: Mapping[str, str], match: str, initial: str | None) -> list[Cause]:
    field, faults = "resourceVersionMatch", []
    if initial is not None and match != NOT_OLDER:
        faults.append(forbidden(field, f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"))
    if match and initial is None:
        detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        faults.append(forbidden(field, detail))
    if match and match != NOT_OLDER:
        faults.append(not_supported(field, match, [NOT_OLDER]))
    if match and query.get("continue"):
        faults.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    return faults


def revision(text: str) -> int | None:
    """Read a resourceVersion; raises BadRequest."""
    if text == "":
        return None
    is_number = _DIGITS.fullmatch(text) is not None
    if not is_number or int(text) >= 2**64:
        why = "value out of range" if is_number else "invalid syntax"
        message = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
        raise errors.BadRequest(message, reason="BadRequest")
    return int(text)


def _list_revision(text: str, *, watch: bool) -> int | None:
    try:
        return revision(text)
    except errors.BadRequest as error:
        if watch:
            raise
        raise errors.BadRequest(f"invalid resource version: {error.message}", reason="BadRequest") from None


def flag(value: str | None) -> bool:
    """Read a boolean of a query as Kubernetes does: anything but false and 0 is true, if it is there at all."""
    return value is not None and value.lower() not in ("false", "0")
