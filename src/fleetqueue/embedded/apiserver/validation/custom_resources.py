"""Is a custom object right? All checks of the real server, in its order."""

from collections.abc import Sequence
from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import NOWHERE, Cause, invalid_value
from fleetqueue.embedded.apiserver.validation import embedded_objects, list_types
from fleetqueue.embedded.apiserver.validation.broken_rules import broken_rules
from fleetqueue.embedded.apiserver.validation.correlation import Correlation
from fleetqueue.embedded.apiserver.validation.reports import Reporter
from fleetqueue.embedded.apiserver.validation.structural_schema import CustomSchema

_BLOCKING = frozenset({
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid",
})  # fmt: skip
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def validate(
    obj: Manifest, custom: CustomSchema, old: Manifest | None = None, earlier: Sequence[Cause] = ()
) -> list[Cause]:
    """Return all that is wrong with an object, or with the change that an update makes.

    `earlier` are faults that were found before, such as those of its metadata: they come first, and some of them
    keep the rules from being evaluated.
    """
    before = None if old is None else Correlation(obj, old, custom.schema)
    problems = list(earlier)
    if not _fits(obj, custom, old or {}):
        problems += Reporter().ratcheted(obj, custom.openapi, "", before).faults.values()
    problems += embedded_objects.faults_below(obj, custom.schema)
    problems += new_duplicates(obj, custom, old)
    return problems + rule_faults(obj, custom, old, before, problems)


def validate_status(obj: Manifest, custom: CustomSchema, old: Manifest, earlier: Sequence[Cause] = ()) -> list[Cause]:
    """Return what is wrong with an object after a change of its status alone."""
    problems = list(earlier)
    openapi = (custom.openapi.get("properties") or {}).get("status")
    status = obj.get("status")
    if "status" in obj and openapi is not None and not _status_fits(status, custom, old.get("status")):
        before = Correlation(status, old.get("status"), custom.schema.properties["status"])
        problems += Reporter("status").ratcheted(status, openapi, "", before).faults.values()
    problems += new_duplicates(obj, custom, old)
    return problems + rule_faults(obj, custom, old, Correlation(obj, old, custom.schema), problems)


def _fits(obj: Manifest, custom: CustomSchema, old: Manifest) -> bool:
    """Tell whether an object has the shape of its kind; what it shares with parts of the old one that had it has it."""
    fitting = custom.fitting
    if not custom.check(obj, {name: part for name, part in old.items() if fitting.has(name, part)}):
        return False
    for name, part in obj.items():
        if name != "metadata" and isinstance(part, (dict, list)):
            fitting.follow(name, old.get(name), part)
    return True


def _status_fits(status: Any, custom: CustomSchema, old: Any) -> bool:
    fits = custom.status_check(status, custom.fitting.known("status", old))
    if fits and isinstance(status, (dict, list)):
        custom.fitting.follow("status", old, status)
    return fits


def new_duplicates(obj: Manifest, custom: CustomSchema, old: Manifest | None) -> list[Cause]:
    """Return what occurs twice in sets and maps; nothing if the old object was no better."""
    if not _repeats(obj, custom, old or {}):
        return []
    if old is not None and list_types.has_duplicates(old, custom.schema):
        return []
    return list(list_types.duplicates(obj, custom.schema))


def _repeats(obj: Manifest, custom: CustomSchema, old: Manifest) -> bool:
    """Tell whether anything occurs twice in fields that are not known."""
    properties, unique = custom.schema.properties, custom.unique
    for name, item in obj.items():
        child = properties.get(name)
        if child is None or unique.has(name, item) or not isinstance(item, (dict, list)):
            continue
        before = old.get(name)
        if list_types.has_duplicates(item, child, unique.known(name, before)):
            return True
        unique.follow(name, before, item)
    return False


def rule_faults(
    obj: Manifest, custom: CustomSchema, old: Any, before: Correlation | None, problems: Sequence[Cause]
) -> list[Cause]:
    node = custom.rules
    if node is None:
        return []
    if any(cause.reason in _BLOCKING for cause in problems):
        return [invalid_value(NOWHERE, None, _UNCHECKED)]
    return broken_rules(node, obj, old, before)
