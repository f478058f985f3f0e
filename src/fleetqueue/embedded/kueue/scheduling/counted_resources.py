"""What of a pod's requests counts against quota: some are left out, and some stand for others.

Mirrors: Kueue pkg/workload/workload.go (dropExcludedResources, applyResourceTransformations)
"""

from collections.abc import Mapping
from decimal import Decimal

from fleetqueue.api.quantity import Amounts, add
from fleetqueue.embedded.kueue.settings import ResourceSettings, ResourceTransformation


def counted(requests: Amounts, settings: ResourceSettings) -> Amounts:
    """Return what one pod counts with, which asks for some resources."""
    kept = {name: value for name, value in requests.items() if not name.startswith(settings.excluded_prefixes)}
    transformations = settings.transformations
    if transformations.keys().isdisjoint(kept):
        return kept
    retained = {name: value for name, value in kept.items() if _is_retained(name, transformations)}
    generated = add(_outputs(name, kept, transformations[name]) for name in sorted(kept.keys() & transformations))
    # An output may be less than nothing, to make another one smaller; what was asked for it never makes smaller.
    return add((retained, {name: max(value, Decimal(0)) for name, value in generated.items()}))


def _is_retained(name: str, transformations: Mapping[str, ResourceTransformation]) -> bool:
    return name not in transformations or not transformations[name].replaces


def _outputs(name: str, requests: Amounts, transformation: ResourceTransformation) -> Amounts:
    times = requests.get(transformation.multiply_by, Decimal(1))
    return {output: requests[name] * times * factor for output, factor in transformation.outputs.items()}
