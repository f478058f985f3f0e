"""Tools for tests of controllers: fleets of Kubernetes clusters with time that jumps, or over sockets.

The names here are the test kit; what else is in this package serves fleetqueue's own tests, and may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleetqueue.testing.arranged_objects import is_true
    from fleetqueue.testing.fleet import Fleet, FleetCluster
    from fleetqueue.testing.live_fleet import LiveCluster, LiveFleet
    from fleetqueue.testing.virtual_time import running

__all__ = ["Fleet", "FleetCluster", "LiveCluster", "LiveFleet", "is_true", "running"]

_MODULES = {
    "Fleet": "fleet",
    "FleetCluster": "fleet",
    "LiveCluster": "live_fleet",
    "LiveFleet": "live_fleet",
    "is_true": "arranged_objects",
    "running": "virtual_time",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and not before: pytest imports this package in every run."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
