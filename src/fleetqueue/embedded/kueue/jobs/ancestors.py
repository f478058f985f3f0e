"""Jobs that belong to jobs: only the uppermost one that Kueue manages has a Workload."""

from collections.abc import Callable
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields

DEEPEST: Final = 10
TOO_DEEP: Final = f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}"

Parent = Callable[[Manifest, str], Manifest | None]
"""Finds what an owner reference in some namespace means, among the kinds of jobs that are managed."""


class TooDeep(Exception):
    """A job has more ancestors than Kueue follows."""


def managed_ancestor(job: Manifest, parent: Parent, *, without_queue: bool) -> Manifest | None:
    """Return the uppermost job above one that is managed: it names a queue, or jobs need none; raises TooDeep."""
    found, namespace = None, job["metadata"]["namespace"]
    for _ in range(DEEPEST):
        owner = job_fields.controller(job)
        above = parent(owner, namespace) if owner is not None else None
        if above is None or owner is None or above["metadata"]["uid"] != owner["uid"]:
            return found
        if without_queue or job_fields.queue_name(above):
            found = above
        job = above
    raise TooDeep(TOO_DEEP)
