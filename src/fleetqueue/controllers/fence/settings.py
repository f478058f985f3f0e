"""What can be chosen about the fence on a worker."""

from dataclasses import dataclass
from typing import Final

LEAST: Final = 10.0


@dataclass(frozen=True, slots=True)
class FenceSettings:
    enabled: bool = True
    """Whether the agent renews a Lease on the hub, and stops jobs that were sent in trust of it when it cannot."""
    after: float = 600.0
    """Seconds without a renewal that the hub has acknowledged, after which such jobs are stopped. The hub learns it
    from the Lease. Together with the hub's `fence_slack` and the jobs' own time to stop it should be less than Kueue's
    `workerLostTimeout`: then nobody waits longer because of the fence."""

    def __post_init__(self) -> None:
        if self.after < LEAST:
            raise ValueError(f"after is {self.after} s but must be {LEAST} s or more: it is tried several times before")

    @property
    def renew_interval(self) -> float:
        """Seconds between two renewals: five may be lost before it counts."""
        return min(self.after / 6, 60.0)
