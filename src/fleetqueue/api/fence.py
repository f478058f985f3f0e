"""What the hub and the agent on a worker agree on, so that a job never runs twice when its worker is cut off.

The agent renews a Lease on the hub. Until `leaseDurationSeconds` after it sent the last renewal that was acknowledged,
the copies on its worker may run; then it stops those that were sent in trust of this very Lease. The hub, which counts
from when it saw the renewal, waits for longer than that before it starts such a job elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

import msgspec

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.kueue_v1beta2 import Workload
from fleetqueue.api.meta import time_of_write
from fleetqueue.api.scheme import Manifest

LOST_WORKER: Final = "fleetqueue.dev/lost-worker"
"""Annotation on a Workload, its pod template, or its ClusterQueue on the hub: what happens to a job whose cluster is
lost."""
RERUN: Final = "rerun"
WAIT: Final = "wait"
FENCE: Final = "fence"
POLICIES: Final = (RERUN, WAIT, FENCE)

SENT_TO: Final = "fleetqueue.dev/sent-to"
"""Annotation on a Workload of the hub, which Kueue copies to the workers: JSON, from each MultiKueueCluster that it was
nominated for to the uid of the Lease that was trusted then; empty where none was."""
LEASE: Final = "fleetqueue-fence"
"""The Lease of an agent: on the hub, in the namespace of its cluster. On the worker, in the agent's own namespace, one
of the same name keeps what a restarted agent must know."""
PASSED: Final = "fleetqueue.dev/passed"
"""Annotation on the hub's Lease: since when jobs of the cluster may be elsewhere. The agent that sees it stops what it
has, and takes it off."""
STOPPED: Final = "fleetqueue.dev/stopped"
"""Annotation on a copy: when the agent began to stop it. It is never started again."""


def sent_to(workload: Workload) -> dict[str, str] | None:
    """Return where a Workload was sent, and in trust of which Leases; None where nobody has noted that."""
    text = workload.metadata.annotations.get(SENT_TO)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError:
        return None  # edited by hand


def recorded(members: Mapping[str, str]) -> str:
    """Write what `sent_to` reads."""
    return msgspec.json.encode(dict(sorted(members.items()))).decode()


@dataclass(frozen=True, slots=True)
class FenceLease:
    """The Lease of an agent, as the hub has it."""

    lease: Lease
    written: datetime | None = None
    """When it was written last, by the hub's clock; None where that was not read."""

    @classmethod
    def read(cls, raw: Manifest) -> Self:
        return cls(Lease.view(raw), time_of_write(raw))

    @property
    def uid(self) -> str:
        return self.lease.uid

    @property
    def duration(self) -> float:
        return float(self.lease.spec.lease_duration_seconds)

    @property
    def renewal(self) -> datetime | None:
        """Tells one renewal from another; None before the first one. It is the agent's clock: no time to count with."""
        return self.lease.spec.renew_time

    @property
    def is_passed(self) -> bool:
        return PASSED in self.lease.metadata.annotations

    def is_fresh(self, now: datetime) -> bool:
        """Tell whether an agent stands behind it: a job may be sent in trust of it."""
        if self.renewal is None or self.written is None or self.is_passed or not self.duration:
            return False
        return (now - self.written).total_seconds() < self.duration
