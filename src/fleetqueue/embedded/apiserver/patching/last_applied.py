"""Lead an object from kubectl's client-side apply, which keeps its configuration in an annotation, to apply here.

Only for the manager that kubectl uses. What the annotation shows to be kubectl's own makes no conflict, and where the
annotation is, it is kept true, so that one can go back.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.applied_fields import Misfit, named_fields
from fleetqueue.embedded.apiserver.patching.comparison import compare
from fleetqueue.embedded.apiserver.patching.conflicts import Taken
from fleetqueue.embedded.apiserver.patching.elements import ItemError
from fleetqueue.embedded.apiserver.patching.field_sets import NOTHING, Fields, difference, has

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER: Final = "kubectl"
MOST_ANNOTATION_BYTES: Final = 256 * 1024


def beside_own(taken: Sequence[Taken], live: Manifest, schema: Schema) -> list[Taken]:
    """Return the conflicts with others: those fields that the annotation does not show to be kubectl's."""
    own = _own_fields(live, schema)
    return [conflict for conflict in taken if not has(own, conflict.path)]


def _own_fields(live: Manifest, schema: Schema) -> Fields:
    """Return the fields that still are as the annotation says."""
    try:
        applied = orjson.loads(_annotation(live) or "null")
    except orjson.JSONDecodeError:
        return NOTHING
    if not isinstance(applied, dict) or applied.get("apiVersion") != live.get("apiVersion"):
        return NOTHING
    try:
        fields = named_fields(applied, schema)
        for differing in compare(applied, live, schema):
            fields = difference(fields, differing)
    except (Misfit, ItemError):
        return NOTHING
    return fields


def kept_true(obj: Manifest, applied: Manifest) -> Manifest:
    """Return the object with the annotation as this configuration makes it, if it has one."""
    before = _annotation(obj)
    if not before or before == (after := _written(applied)):
        return obj
    annotations = {**obj["metadata"]["annotations"], ANNOTATION: after}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MOST_ANNOTATION_BYTES:
        del annotations[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _annotation(obj: Manifest) -> str:
    annotation: Any = ((obj.get("metadata") or NOTHING).get("annotations") or NOTHING).get(ANNOTATION)
    return annotation if isinstance(annotation, str) else ""


def _written(applied: Manifest) -> str:
    metadata: Manifest = applied.get("metadata") or {}
    if "annotations" in metadata:
        annotations = {key: value for key, value in (metadata["annotations"] or {}).items() if key != ANNOTATION}
        applied = {**applied, "metadata": {**metadata, "annotations": annotations}}
    return go_text.json_text(applied) + "\n"
