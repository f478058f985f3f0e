"""Whether a ClusterQueue can admit, and if not, why.

Mirrors: Kueue pkg/cache/scheduler/clusterqueue.go (inactiveReason)
"""

from collections.abc import Callable, Iterator, Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.queue_usage import InactiveReason

Flavor = Callable[[str], kueue.ResourceFlavor | None]
Check = Callable[[str], kueue.AdmissionCheck | None]


HasTopology = Callable[[str], bool]
"""Tells of a topology-aware flavor whether its Topology is there."""


def problems(
    queue: kueue.ClusterQueue, flavor: Flavor, check: Check, has_topology: HasTopology
) -> Sequence[InactiveReason]:
    """Say what keeps a ClusterQueue from admitting, the first reason first."""
    found = [*_stopped(queue), *_of_flavors(queue, flavor), *_of_checks(queue, check)]
    missing = [*_of_topologies(queue, flavor, has_topology)]
    # With MultiKueue, pods are placed on the workers: a Topology that is missing here is no reason of its own.
    return found + missing if found or not is_multikueue(queue, check) else found


def is_multikueue(queue: kueue.ClusterQueue, check: Check) -> bool:
    """Tell whether the Workloads of a ClusterQueue run on other clusters."""
    named = (check(name) for name in queue.checks)
    return any(one is not None and one.is_multikueue for one in named)


def provisioned_flavors(queue: kueue.ClusterQueue, check: Check) -> frozenset[str]:
    """Return the flavors whose nodes are made when they are asked for, by a ProvisioningRequest."""
    everywhere = tuple(queue.flavors)
    listed = ((one, check(one.name)) for one in queue.spec.admission_checks_strategy.admission_checks)
    provisioning = (one for one, known in listed if known is not None and known.is_provisioning)
    return frozenset(flavor for one in provisioning for flavor in one.on_flavors or everywhere)


def required_checks(queue: kueue.ClusterQueue, flavors: set[str]) -> list[str]:
    """Return the checks that a Workload with some flavors must pass."""
    listed = queue.spec.admission_checks_strategy.admission_checks
    everywhere = queue.flavors
    return sorted(one.name for one in listed if not flavors.isdisjoint(one.on_flavors or everywhere))


def _stopped(queue: kueue.ClusterQueue) -> Iterator[InactiveReason]:
    if queue.spec.stop_policy != "None":
        yield InactiveReason("Stopped", "is stopped")


def _of_flavors(queue: kueue.ClusterQueue, flavor: Flavor) -> Iterator[InactiveReason]:
    if missing := [name for name in queue.flavors if flavor(name) is None]:
        yield InactiveReason("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}")


def _of_checks(queue: kueue.ClusterQueue, check: Check) -> Iterator[InactiveReason]:
    listed = {one.name: one for one in queue.spec.admission_checks_strategy.admission_checks}
    admission_checks = {
        name: admission_check for name in sorted(listed) if (admission_check := check(name)) is not None
    }
    if missing := [name for name in sorted(listed) if name not in admission_checks]:
        yield InactiveReason("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(missing)}")
    if inactive := [name for name, admission_check in admission_checks.items() if not admission_check.is_active]:
        yield InactiveReason("AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}")
    multikueue = _of(admission_checks, kueue.MULTIKUEUE_CONTROLLER)
    provisioning = _of(admission_checks, kueue.PROVISIONING_CONTROLLER)
    everywhere = set(queue.flavors)
    yield from _of_multikueue(
        multikueue,
        per_flavor=[name for name in multikueue if set(listed[name].on_flavors or everywhere) != everywhere],
        provisioning=provisioning,
    )


def _of_multikueue(
    checks: Sequence[str], *, per_flavor: Sequence[str], provisioning: Sequence[str]
) -> Iterator[InactiveReason]:
    if len(checks) > 1:
        yield InactiveReason(
            "MultipleMultiKueueAdmissionChecks",
            f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {','.join(checks)}",
        )
    if per_flavor:
        yield InactiveReason(
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(per_flavor)}",
        )
    if checks and provisioning:
        yield InactiveReason(
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, "
            f"found: {','.join(checks)}, {','.join(provisioning)}",
        )


def _of_topologies(queue: kueue.ClusterQueue, flavor: Flavor, has_topology: HasTopology) -> Iterator[InactiveReason]:
    for name in dict.fromkeys(queue.flavors):
        resource_flavor = flavor(name)
        topology = resource_flavor.spec.topology_name if resource_flavor is not None else ""
        if topology and not has_topology(name):
            yield InactiveReason("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{name}"')


def _of(checks: dict[str, kueue.AdmissionCheck], controller: str) -> list[str]:
    return [name for name, check in checks.items() if check.spec.controller_name == controller]
