"""EndpointSlices and Leases."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import label, qualified_name, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import PROTOCOLS, Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled
from fleetqueue.embedded.apiserver.registry.strategy import Generation, Strategy

ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")


def default(endpoints: Manifest) -> Manifest:
    return each_within(endpoints, "ports", lambda port: filled(port, {"name": "", "protocol": "TCP"}))


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    kind = new.get("addressType", "")
    problems: list[Cause] = []
    if not kind:
        problems.append(required("addressType"))
    elif kind not in ADDRESS_TYPES:
        problems.append(not_supported("addressType", kind, ADDRESS_TYPES))
    problems += _port_faults(new.get("ports") or ())
    if kind in ADDRESS_TYPES:
        problems += _endpoint_faults(new.get("endpoints") or (), kind)
    if old is not None:
        problems += checks.unchanged(new, old, "", "addressType")
        return [cause for cause in problems if not _is_of_change(cause, new, old)]
    return problems


def _is_of_change(cause: Cause, new: Manifest, old: Manifest) -> bool:
    """Tell of a fault whether it only follows from another type of addresses, which is fault enough."""
    return new.get("addressType") != old.get("addressType") and cause.field.startswith("endpoints")


def _port_faults(ports: Sequence[Manifest]) -> Faults:
    names: set[str] = set()
    for position, port in enumerate(ports):
        field, name = f"ports[{position}]", port.get("name", "")
        if name:
            yield from (invalid_value(f"{field}.name", name, why) for why in label(name))
        if name in names:
            yield duplicate(f"{field}.name", name)
        names.add(name)
        yield from checks.one_of(port, "protocol", field, PROTOCOLS)
        yield from checks.named(port, "appProtocol", field, qualified_name)


def _endpoint_faults(endpoints: Sequence[Manifest], kind: str) -> Faults:
    for position, endpoint in enumerate(endpoints):
        field, addresses = f"endpoints[{position}].addresses", endpoint.get("addresses") or ()
        if not addresses:
            yield required(field, "must contain at least 1 address")
        for number, address in enumerate(addresses):
            where = f"{field}[{number}]"
            if kind == "FQDN":
                yield from (invalid_value(where, address, why) for why in subdomain(address))
            else:
                yield from checks.address(address, where)
        for name, rule in (("nodeName", subdomain), ("hostname", label)):
            if name in endpoint:
                value = endpoint[name]
                yield from (invalid_value(f"endpoints[{position}].{name}", value, why) for why in rule(value))


def lease_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new.get("spec") or {}
    problems: list[Cause] = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        seconds = spec["leaseDurationSeconds"]
        problems.append(invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return [*problems, *checks.non_negative(spec, "spec", "leaseTransitions")]


STRATEGY: Final = Strategy(default=default, faults=faults, generation=Generation(metadata=("labels",)))
LEASES: Final = Strategy(faults=lease_faults)
