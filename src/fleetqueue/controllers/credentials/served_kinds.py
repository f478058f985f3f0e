"""Which of the kinds that Kueue watches a worker does not serve.

Kueue opens a watch for every kind in its configuration that MultiKueue can send, also for one that the hub itself does
not serve. One that is missing on a worker, or is served in other versions only, fails the whole connection.
"""

from collections.abc import Mapping

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.worker_rules import JobKind


async def unserved(worker: Client, kinds: Mapping[str, JobKind]) -> tuple[str, ...]:
    """Return the names of the kinds that a worker does not serve in the version that Kueue asks for."""
    served = {}
    for group, version in sorted({(kind.group, kind.version) for kind in kinds.values()}):
        served[group, version] = await _resources(worker, group, version)
    return tuple(name for name, kind in kinds.items() if not _is_among(kind, served[kind.group, kind.version]))


def _is_among(kind: JobKind, resources: set[str] | None) -> bool:
    return resources is None or kind.resource in resources


async def _resources(worker: Client, group: str, version: str) -> set[str] | None:
    """Return what is served of a group; None where that may not be known, which is no reason to complain."""
    try:
        listed = await worker.read(f"/apis/{group}/{version}" if group else f"/api/{version}")
    except errors.NotFound:
        return set()
    except errors.Forbidden:
        return None
    return {str(entry.get("name")) for entry in listed.get("resources") or ()}
