"""Whether a ClusterQueue can admit, and if not, why.

Mirrors: Kueue pkg/cache/scheduler/clusterqueue.go (inactiveReason)
Simplified: queues with topology-aware flavors, or with admission fair sharing, do not admit, and say so.
"""

from collections.abc import Callable, Iterator, Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.queue_usage import Problem

NOT_SERVED = "NotSupported"
FAIR_SHARING = "UsageBasedAdmissionFairSharing"

Flavor = Callable[[str], kueue.ResourceFlavor | None]
Check = Callable[[str], kueue.AdmissionCheck | None]


def problems(queue: kueue.ClusterQueue, flavor: Flavor, check: Check) -> Sequence[Problem]:
    """Say what keeps a ClusterQueue from admitting, the first reason first."""
    return [*_stopped(queue), *_of_flavors(queue, flavor), *_of_checks(queue, check), *_not_served(queue, flavor)]


def flavor_names(queue: kueue.ClusterQueue) -> list[str]:
    return [flavor.name for group in queue.spec.resource_groups for flavor in group.flavors]


def required_checks(queue: kueue.ClusterQueue, flavors: set[str]) -> list[str]:
    """Return the checks that a Workload with some flavors must pass."""
    listed = queue.spec.admission_checks_strategy.admission_checks
    everywhere = flavor_names(queue)
    return sorted(one.name for one in listed if not flavors.isdisjoint(one.on_flavors or everywhere))


def _stopped(queue: kueue.ClusterQueue) -> Iterator[Problem]:
    if queue.spec.stop_policy != "None":
        yield Problem("Stopped", "is stopped")


def _of_flavors(queue: kueue.ClusterQueue, flavor: Flavor) -> Iterator[Problem]:
    if missing := [name for name in flavor_names(queue) if flavor(name) is None]:
        yield Problem("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}")


def _of_checks(queue: kueue.ClusterQueue, check: Check) -> Iterator[Problem]:
    listed = {one.name: one for one in queue.spec.admission_checks_strategy.admission_checks}
    found = {name: each for name in sorted(listed) if (each := check(name)) is not None}
    if missing := [name for name in sorted(listed) if name not in found]:
        yield Problem("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(missing)}")
    if inactive := [name for name, each in found.items() if not each.is_active]:
        yield Problem("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}")
    multikueue = _of(found, kueue.MULTIKUEUE_CONTROLLER)
    provisioning = _of(found, kueue.PROVISIONING_CONTROLLER)
    everywhere = set(flavor_names(queue))
    yield from _of_multikueue(
        multikueue,
        per_flavor=[name for name in multikueue if set(listed[name].on_flavors or everywhere) != everywhere],
        provisioning=provisioning,
    )


def _of_multikueue(
    checks: Sequence[str], *, per_flavor: Sequence[str], provisioning: Sequence[str]
) -> Iterator[Problem]:
    if len(checks) > 1:
        yield Problem(
            "MultipleMultiKueueAdmissionChecks",
            f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {','.join(checks)}",
        )
    if per_flavor:
        yield Problem(
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(per_flavor)}",
        )
    if checks and provisioning:
        yield Problem(
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
            f"found: {','.join(checks)}, {','.join(provisioning)}",
        )


def _not_served(queue: kueue.ClusterQueue, flavor: Flavor) -> Iterator[Problem]:
    if queue.spec.admission_scope.admission_mode == FAIR_SHARING:
        yield Problem(NOT_SERVED, "asks for admission fair sharing, which is not served here")
    for name in flavor_names(queue):
        found = flavor(name)
        if found is not None and found.spec.topology_name:
            yield Problem(NOT_SERVED, f"flavor {name} asks for a topology, which is not served here")


def _of(checks: dict[str, kueue.AdmissionCheck], controller: str) -> list[str]:
    return [name for name, check in checks.items() if check.spec.controller_name == controller]
