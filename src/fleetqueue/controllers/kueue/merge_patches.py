"""Merge patches that turn one object into another."""

from fleetqueue.api.scheme import Manifest


def replacement(live: Manifest, wanted: Manifest) -> Manifest:
    """Return the merge patch that makes `wanted` of `live`; empty where they are equal."""
    patch: Manifest = {field: None for field in live if field not in wanted}
    for field, value in wanted.items():
        have = live.get(field)
        if isinstance(value, dict) and isinstance(have, dict):
            if inner := replacement(have, value):
                patch[field] = inner
        elif have != value:
            patch[field] = value
    return patch
