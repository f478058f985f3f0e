"""Leases: who leads, and since when nobody was heard."""

from datetime import datetime
from typing import ClassVar

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource


class LeaseSpec(View):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    lease_transitions: int = 0
    renew_time: datetime | None = None


class Lease(Object):
    resource: ClassVar = Resource("coordination.k8s.io", "v1", "Lease", "leases")

    spec: LeaseSpec = LeaseSpec()
