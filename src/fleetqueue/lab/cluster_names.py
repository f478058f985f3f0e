"""How the clusters of a fleet on this machine are called."""

from typing import Final

HUB: Final = "hub"


def cluster_names(workers: int) -> tuple[str, ...]:
    """The names of all clusters of a fleet, the hub first."""
    return (HUB, *(f"cluster{number}" for number in range(1, workers + 1)))
