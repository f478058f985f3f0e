"""What the owner of a cluster can choose about scheduling."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    retry_batch: float = 1.0
    """Seconds in which changes are gathered before the inadmissible Workloads of a cohort are tried again."""
    order_by_eviction: bool = True
    """Whether a Workload whose pods were not ready in time queues again from its eviction, not from its creation."""
