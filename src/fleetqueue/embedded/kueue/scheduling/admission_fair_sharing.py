"""What LocalQueues have consumed over time, by which the Workloads of one ClusterQueue are ordered.

The usage of a LocalQueue is its admitted usage, averaged so that the past counts half after each half-life. A Workload
that is given quota counts at once, before time has made it count: with its entry penalty, which is what it would add in
one sampling interval. When the Workload is admitted, its penalty is settled: it becomes part of what was consumed.

Mirrors: Kueue pkg/cache/queue/afs, pkg/util/admissionfairsharing
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

from fleetqueue.api.quantity import Amounts, add
from fleetqueue.embedded.kueue.scheduling.amounts import CPU, Requests
from fleetqueue.embedded.kueue.scheduling.queue_usage import Sample
from fleetqueue.embedded.kueue.settings import AdmissionFairSharingSettings

EXACT: Final = Context(prec=60, rounding=ROUND_DOWN)
SMALLEST: Final = Decimal("1e-9")
"""Amounts are cut off below it, so that they do not grow longer whenever they are multiplied."""


def units(requests: Requests) -> Amounts:
    """Return requests, of which cpu is in thousandths, in whole units."""
    return {name: Decimal(value) / (1000 if name == CPU else 1) for name, value in requests.items()}


def scaled(amounts: Amounts, factor: float) -> Amounts:
    exact = Decimal(repr(factor))
    return {name: EXACT.quantize(EXACT.multiply(value, exact), SMALLEST) for name, value in amounts.items()}


def newness(seconds: float, half_life: float) -> float:
    """Return for how much of the average the last so many seconds count; without a half-life there is none."""
    return 1.0 - 0.5 ** (seconds / half_life) if half_life else 0.0


def decayed(consumed: Amounts, used: Amounts, seconds: float, half_life: float) -> Amounts:
    """Return what was consumed after so many seconds in which `used` was used."""
    new = newness(max(seconds, 0.0), half_life)
    return add((scaled(consumed, 1 - new), scaled(used, new)))


def entry_penalty(requested: Amounts, settings: AdmissionFairSharingSettings) -> Amounts:
    return scaled(requested, newness(settings.sampling_interval, settings.half_life))


def weighted_usage(amounts: Amounts, weight: float, resource_weights: Mapping[str, float]) -> float:
    """Return one number for what was consumed of all resources; without a weight, a LocalQueue comes last."""
    usage = sum(resource_weights.get(name, 1.0) * float(amounts[name]) for name in sorted(amounts))
    return usage / weight if weight > 0 else math.inf


@dataclass(slots=True)
class LocalQueueUsage:
    last_update: datetime
    """When what was consumed was last averaged."""
    consumed: Amounts = field(default_factory=dict)
    penalties: dict[str, Amounts] = field(default_factory=dict)
    """Those of Workloads, by their keys, that hold quota and were not admitted yet."""
    has_status: bool = False
    """Whether what its status said when we began has been added."""
    sampled: Sample | None = None
    """The last sample, which its status tells."""

    @property
    def total(self) -> Amounts:
        return add((self.consumed, *self.penalties.values()))


class UsageLedger:
    """The usage of all LocalQueues, by their keys."""

    def __init__(self, settings: AdmissionFairSharingSettings) -> None:
        self.settings = settings
        self._entries: dict[str, LocalQueueUsage] = {}
        self._weights: dict[str, float] = {}

    def set_weight(self, local_queue: str, weight: float) -> None:
        self._weights[local_queue] = weight

    def forget(self, local_queue: str) -> None:
        self._weights.pop(local_queue, None)
        self._entries.pop(local_queue, None)

    def usage(self, local_queue: str) -> float:
        """Return the usage that orders Workloads: of equals the one whose LocalQueue has less comes first."""
        entry = self._entries.get(local_queue)
        total = entry.total if entry is not None else {}
        return weighted_usage(total, self._weights.get(local_queue, 1.0), self.settings.resource_weights)

    def charge(self, local_queue: str, workload: str, requested: Amounts, now: datetime) -> None:
        """Note the penalty of a Workload that is given quota."""
        entry = self._entries.setdefault(local_queue, LocalQueueUsage(now))
        entry.penalties[workload] = entry_penalty(requested, self.settings)

    def discharge(self, local_queue: str, workload: str) -> None:
        """Forget the penalty of a Workload that was not admitted in the end."""
        if (entry := self._entries.get(local_queue)) is not None:
            entry.penalties.pop(workload, None)

    def settle(self, local_queue: str, workload: str, used: Amounts, now: datetime) -> None:
        """Make the penalty of a Workload that was admitted part of what was consumed."""
        entry = self._entries.setdefault(local_queue, LocalQueueUsage(now))
        self._average(entry, used, now)
        entry.consumed = add((entry.consumed, entry.penalties.pop(workload, {})))

    def sample(self, local_queue: str, used: Amounts, told: Amounts | None, now: datetime) -> tuple[Sample, float]:
        """Return what the status of a LocalQueue shall tell, and after how many seconds to ask again.

        Args:
            used: what its admitted Workloads use now.
            told: what its status says was consumed; None where it says nothing.
        """
        entry = self._entries.setdefault(local_queue, LocalQueueUsage(now))
        if not entry.has_status:
            entry.consumed, entry.has_status = add((entry.consumed, told or {})), True
        waited = (now - entry.last_update).total_seconds()
        is_due = waited >= self.settings.sampling_interval
        if entry.sampled is None or is_due or entry.penalties.keys() - entry.sampled.penalties:
            self._average(entry, used, now)
            if not self.settings.half_life:
                entry.consumed = {}
            entry.sampled = Sample(entry.consumed, now, frozenset(entry.penalties))
        waited = (now - entry.last_update).total_seconds()
        return entry.sampled, self.settings.sampling_interval - waited

    def _average(self, entry: LocalQueueUsage, used: Amounts, now: datetime) -> None:
        seconds = (now - entry.last_update).total_seconds()
        entry.consumed = decayed(entry.consumed, used, seconds, self.settings.half_life)
        entry.last_update = max(entry.last_update, now)
