"""Which kinds of jobs a worker serves, so that a credential made for Kueue allows what Kueue will watch there."""

from typing import Final

from fleetqueue.client import Client
from fleetqueue.controllers.credentials.served_kinds import unserved
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS

CUSTOM: Final = {name: kind for name, kind in JOB_KINDS.items() if "." in kind.group}
"""Kinds with a definition of their own, which a worker may lack."""
ALWAYS: Final = tuple(name for name in JOB_KINDS if name not in CUSTOM)
"""Kubernetes' own kinds: Kueue's shipped configuration lists them, and so Kueue watches them."""


async def served_job_kinds(worker: Client) -> list[str]:
    """Name all kinds that are served: a watch of Kueue's that is refused fails the whole connection."""
    missing = await unserved(worker, CUSTOM)
    return [*ALWAYS, *(name for name in CUSTOM if name not in missing)]
