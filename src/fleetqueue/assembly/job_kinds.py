"""Which kinds of jobs a worker serves, so that a credential made for Kueue allows what Kueue will watch there."""

from collections.abc import Collection, Mapping
from typing import Final

from fleetqueue.client import Client
from fleetqueue.controllers.credentials.rules import JOB_KINDS

ALWAYS: Final = "batch/job"
CUSTOM: Final = {name: kind for name, kind in JOB_KINDS.items() if "." in kind.group}
"""Kinds with a definition of their own; pods and StatefulSets Kueue leaves alone unless it is told otherwise."""


async def served_job_kinds(worker: Client) -> list[str]:
    """Name batch/job and what else is served: a watch of Kueue's that is refused fails the whole connection."""
    groups = {str(group.get("name")): group for group in (await worker.read("/apis")).get("groups") or ()}
    served = {}
    for name in sorted({kind.group for kind in CUSTOM.values()} & groups.keys()):
        lists = [await worker.read(f"/apis/{one['groupVersion']}") for one in groups[name].get("versions") or ()]
        served[name] = {str(entry.get("name")) for found in lists for entry in found.get("resources") or ()}
    return kinds_among(served)


def kinds_among(served: Mapping[str, Collection[str]]) -> list[str]:
    """Name the kinds of jobs among resources, which come by their group."""
    return [ALWAYS, *(name for name, kind in CUSTOM.items() if kind.resource in served.get(kind.group, ()))]
