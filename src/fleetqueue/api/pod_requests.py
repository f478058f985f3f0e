"""What the scheduler sets aside for a pod, from what its containers ask for."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from fleetqueue.api import quantity
from fleetqueue.api.quantity import Amounts


class Starter(NamedTuple):
    """An init container."""

    asks: Amounts
    is_sidecar: bool
    """Whether it goes on beside the containers (`restartPolicy: Always`)."""


def pod_requests(
    starters: Iterable[Starter], containers: Iterable[Amounts], *, whole: Mapping[str, Decimal], overhead: Amounts
) -> Amounts:
    """Return the sum for a pod.

    That is what its containers and sidecars ask for together, or what one of its init containers asks for beside the
    sidecars that started before it, whichever is more; of what the pod asks for as a `whole`, just that; plus what the
    sandbox itself costs.
    See https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers
    """
    sidecars: Amounts = {}
    starting: Amounts = {}
    for starter in starters:
        beside = quantity.add((sidecars, starter.asks))
        starting = _larger(starting, beside)
        if starter.is_sidecar:
            sidecars = beside
    running = quantity.add((sidecars, *containers))
    return quantity.add(({**_larger(starting, running), **whole}, overhead))


def _larger(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger amount of each resource."""
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in (*one, *other)}
