"""Send jobs of kinds of which nothing is known but their names: all of them say who manages them in `spec.managedBy`.

Mirrors: Kueue pkg/controller/admissionchecks/multikueue/externalframeworks
"""

from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.job_kinds import JobKind
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.multikueue.adapters import JobAdapter
from fleetqueue.embedded.multikueue.bound_copies import bound_copy
from fleetqueue.rules.job_endings import no_ending
from fleetqueue.runtime.external_kinds import served_kinds


class ExternalAdapter(JobAdapter):
    def __init__(self, name: str, kind: type[Object]) -> None:
        super().__init__(JobKind(name, kind, own_controller=""), no_ending)

    @property
    def managed_by_text(self) -> str:
        return f".{self.job_kind.managed_by_text}"

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Return a job as it is, but for who manages it: whether it can be suspended is not known."""
        return self.job_kind.without_manager(bound_copy(self.kind, job, workload, origin))

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        return copy.get("status") or job.get("status") or {}

    def has_ended(self, job: Manifest) -> bool:
        """Nobody knows; that its Workload has finished is enough."""
        return True

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        return job.get("status") or {}


async def external_adapters(client: Client, names: Iterable[str]) -> list[ExternalAdapter]:
    """Return what sends the kinds of some names, `Kind.version.group`, as far as the hub serves them."""
    kinds = await served_kinds(client, names)
    return [ExternalAdapter(name, kind) for name, kind in kinds.items()]
