"""Which of the kinds that Kueue watches a worker serves, and which not.

Kueue opens a watch for every kind in its configuration that MultiKueue can send, also for one that the hub itself does
not serve. One that is missing on a worker, or is served in other versions only, fails the whole connection.
"""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, JobKind

CUSTOM: Final = {name: kind for name, kind in JOB_KINDS.items() if "." in kind.group}
"""Kinds with a definition of their own, which a worker may lack."""
ALWAYS: Final = tuple(name for name in JOB_KINDS if name not in CUSTOM)
"""Kubernetes' own kinds: Kueue's shipped configuration lists them, and so Kueue watches them."""


async def unserved(worker: Client, kinds: Mapping[str, JobKind]) -> tuple[str, ...]:
    """Return the names of the kinds that a worker does not serve in the version that Kueue asks for."""
    served = {}
    for group, version in sorted({(kind.group, kind.version) for kind in kinds.values()}):
        served[group, version] = await _resources(worker, group, version)
    return tuple(name for name, kind in kinds.items() if not _is_among(kind, served[kind.group, kind.version]))


async def served_job_kinds(worker: Client) -> list[str]:
    """Name all kinds that are served: a watch of Kueue's that is refused fails the whole connection."""
    missing = await unserved(worker, CUSTOM)
    return [*ALWAYS, *(name for name in CUSTOM if name not in missing)]


def _is_among(kind: JobKind, resources: set[str] | None) -> bool:
    return resources is None or kind.resource in resources


async def _resources(worker: Client, group: str, version: str) -> set[str] | None:
    """Return what is served of a group; None where that may not be known, which is no reason to complain."""
    try:
        return set(await worker.served(f"{group}/{version}" if group else version))
    except errors.Forbidden:
        return None
