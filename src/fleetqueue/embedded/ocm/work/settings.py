"""What can be set about works."""

from dataclasses import dataclass
from hashlib import sha256

NEVER = 100 * 365 * 24 * 3600.0
"""Seconds. An eviction that waits as long is none."""


@dataclass(frozen=True, slots=True)
class WorkAgentSettings:
    cluster: str
    """The worker's name, which is its namespace on the hub."""
    hub_hash: str
    """Tells hubs apart in the names of what is kept on the worker; see `hub_hash`."""
    agent_id: str = ""
    """Tells apart agents that work on one worker; empty means the hub's hash."""
    resync: float = 240.0
    """Seconds, up to half as many more, after which objects are applied again though nothing changed on the hub: the
    agent does not follow them on the worker."""
    status_interval: float = 10.0
    """Seconds, up to nine tenths more, after which objects are looked at again for what the hub is told of them."""
    eviction_grace: float = 3600.0
    """Seconds for which objects stay on the worker when their work has gone from the hub without a deletion."""

    @property
    def id(self) -> str:
        return self.agent_id or self.hub_hash


@dataclass(frozen=True, slots=True)
class WorkHubSettings:
    replica_sets: bool = True
    """Serve ManifestWorkReplicaSets; upstream's gate of that name is off by default."""
    clean_up_completed: bool = True
    """Delete completed works after their time to live; upstream's gate CleanUpCompletedManifestWork is off."""


def hub_hash(server: str) -> str:
    """Return the hash of a hub by the address under which the agent knows it."""
    return sha256(server.encode()).hexdigest()
