"""Which admission checks a Workload must pass, and what it says of each."""

from collections.abc import Sequence
from datetime import datetime

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.readiness import flavor_names, required_checks


def required(queue: kueue.ClusterQueue, admission: kueue.Admission | None) -> list[str]:
    """Return the checks for the flavors that were given; before that, those that every flavor asks for."""
    if admission is not None:
        given = {flavor for part in admission.pod_set_assignments for flavor in part.flavors.values()}
        return required_checks(queue, given)
    everywhere = set(flavor_names(queue))
    listed = queue.spec.admission_checks_strategy.admission_checks
    return sorted(check.name for check in listed if not check.on_flavors or everywhere <= set(check.on_flavors))


def synced(found: Sequence[Manifest], wanted: Sequence[str], now: datetime) -> list[Manifest] | None:
    """Return what a Workload shall say of its checks; None where it does so already."""
    known = {check["name"]: check for check in found}
    if set(known) == set(wanted):
        return None
    fresh = {"state": kueue.PENDING, "lastTransitionTime": timestamp(now), "message": ""}
    return [known.get(name) or {"name": name, **fresh} for name in sorted(wanted)]
