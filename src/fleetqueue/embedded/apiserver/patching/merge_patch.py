"""Apply a JSON Merge Patch (RFC 7386) to an object without touching the object."""

from typing import Any

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.patching.refusals import malformed, no_map


def apply_merge_patch(obj: Manifest, patch: Any) -> Manifest:
    """Return the object with the patch in it: null removes, maps are merged, everything else is replaced."""
    if patch is None:
        raise malformed("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise malformed(f"error decoding patch: {no_map(patch)}")
    return _merged(obj, patch)


def _merged(obj: Manifest, patch: Manifest) -> Manifest:
    merged = dict(obj)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
            continue
        before = obj.get(name)
        if isinstance(before, dict):
            merged[name] = _merged(before, value) if isinstance(value, dict) else value
        else:
            merged[name] = without_nulls(value)
    return merged


def without_nulls(value: Any) -> Any:
    """Return a value without the fields that are null; an item of a list that is null stays."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
