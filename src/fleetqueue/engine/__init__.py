"""Real etcd, Kubernetes, Kueue and Open Cluster Management, built from Go modules and run as plain processes.

`build` makes the engine once; `RealFleet` runs a fleet inside the calling program; `control` starts, asks and ends one
in the background.
"""

from fleetqueue.engine.build import build
from fleetqueue.engine.errors import EngineError
from fleetqueue.engine.fleet import RealFleet, Settings, stored_settings
from fleetqueue.engine.layout import Layout, find

__all__ = ["EngineError", "Layout", "RealFleet", "Settings", "build", "find", "stored_settings"]
