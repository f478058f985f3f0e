"""What the scheduler sets aside for a pod, from what its containers request."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from fleetqueue.api import quantity
from fleetqueue.api.quantity import Amounts


class InitContainerRequests(NamedTuple):
    requests: Amounts
    is_sidecar: bool
    """Whether it goes on beside the containers (`restartPolicy: Always`)."""


def pod_requests(
    init_containers: Iterable[InitContainerRequests],
    containers: Iterable[Amounts],
    *,
    whole: Mapping[str, Decimal],
    overhead: Amounts,
) -> Amounts:
    """Return the sum for a pod.

    That is what its containers and sidecars request together, or what one of its init containers requests beside the
    sidecars that started before it, whichever is more; of what the pod requests as a `whole`, just that; plus the
    overhead of its sandbox.
    See https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers
    """
    sidecars: Amounts = {}
    starting: Amounts = {}
    for one in init_containers:
        beside = quantity.add((sidecars, one.requests))
        starting = _larger(starting, beside)
        if one.is_sidecar:
            sidecars = beside
    running = quantity.add((sidecars, *containers))
    return quantity.add(({**_larger(starting, running), **whole}, overhead))


def _larger(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in (*one, *other)}
