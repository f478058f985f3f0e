"""The usage of ClusterQueues and LocalQueues, as their status shows it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from fleetqueue.api.quantity import Amounts


class FlavorResource(NamedTuple):
    """What quota is given for."""

    flavor: str
    resource: str


Quantities = Mapping[FlavorResource, int]
"""How much of each; cpu in thousandths, all else in whole units. `amounts.written` makes a quantity of one."""


class InactiveReason(NamedTuple):
    """Why a ClusterQueue cannot admit."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class QueueUsageStats:
    """One ClusterQueue, or one LocalQueue, at one moment."""

    pending: int = 0
    reserving: int = 0
    """Workloads that hold quota; what the scheduler has decided but not yet seen written counts."""
    admitted: int = 0
    reservation: Quantities = field(default_factory=dict)
    """What the reserving hold. What is not in it is 0."""
    usage: Quantities = field(default_factory=dict)
    """What the admitted hold."""
    weighted_share: float | None = None
    """Its share of what is borrowed; None where shares are not fair."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a LocalQueue had consumed at one moment."""

    consumed: Amounts
    at: datetime
    penalties: frozenset[str]
    """The Workloads that held quota and were not admitted yet, and so count beside it."""


Told = Callable[[str, str], None]
"""Called with "ClusterQueue" or "LocalQueue" and its key, when its usage or its problems may have changed."""


class QueueUsage(Protocol):
    def of_cluster_queue(self, name: str) -> QueueUsageStats:
        """Return how a ClusterQueue stands; an unknown one has nothing."""
        ...

    def of_local_queue(self, key: str) -> QueueUsageStats:
        """Return how a LocalQueue, named `namespace/name`, stands."""
        ...

    def problems(self, name: str) -> Sequence[InactiveReason]:
        """Say why a ClusterQueue cannot admit, the first reason first; empty if it can, or is not known."""
        ...

    def share_of_cohort(self, name: str) -> float | None:
        """Return the share of a Cohort in what is borrowed; None where shares are not fair."""
        ...

    def sample(self, key: str, told: Amounts | None, now: datetime) -> tuple[Sample, float] | None:
        """Return what the status of a LocalQueue shall tell of what it consumed, and after how many seconds to ask
        again; None where that is not known. `told` is what it says now."""
        ...

    def cohorts_above(self, name: str) -> Sequence[str]:
        """Return the cohorts that a ClusterQueue stands below, its own first."""
        ...

    def subscribe(self, listener: Told) -> None:
        """Be told of changes; before the cluster runs."""
        ...
