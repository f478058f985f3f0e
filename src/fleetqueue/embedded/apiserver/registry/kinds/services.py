"""Services: their defaults, their ports, and an address for each that names none."""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.go_text import GoStruct
from fleetqueue.embedded.apiserver.kinds.names import label, qualified_name, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import PROTOCOLS, Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import at, each, filled, within, without
from fleetqueue.embedded.apiserver.registry.strategy import StatusStrategy, Strategy

TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
REACHABLE: Final = ("ClusterIP", "LoadBalancer", "NodePort")
HEADLESS: Final = "None"
AFFINITY_SECONDS, MOST_AFFINITY_SECONDS = 10800, 86400
FIRST_ADDRESS: Final = 10 << 24 | 96 << 16
ADDRESSES: Final = 2**16 - 2
FIRST_NODE_PORT, NODE_PORTS = 30000, 2768


def default(service: Manifest) -> Manifest:
    return within(service, "spec", _spec)


def _spec(spec: Manifest) -> Manifest:
    after = filled(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    if after["sessionAffinity"] == "None":
        after = without(after, "sessionAffinityConfig")
    elif (
        after["sessionAffinity"] == "ClientIP"
        and at(after, ("sessionAffinityConfig", "clientIP", "timeoutSeconds")) is None
    ):
        after = {**after, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}}
    after = within(after, "ports", lambda ports: each(ports, _port))
    if after["type"] in REACHABLE:
        after = filled(after, {"internalTrafficPolicy": "Cluster"})
    if after["type"] in ("LoadBalancer", "NodePort") or after.get("externalIPs"):
        after = filled(after, {"externalTrafficPolicy": "Cluster"})
    if after["type"] == "LoadBalancer":
        after = filled(after, {"allocateLoadBalancerNodePorts": True})
    return after


def _port(port: Manifest) -> Manifest:
    after = filled(port, {"protocol": "TCP"})
    return after if after.get("targetPort") else {**after, "targetPort": after.get("port", 0)}


def prepare(service: Manifest, old: Manifest | None, user: User) -> Manifest:
    """Give a service its address; it keeps it while it needs one."""
    spec = service["spec"]
    if spec.get("type") not in REACHABLE:
        return {**service, "spec": without(spec, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")}
    before = {} if old is None else old["spec"]
    address = spec.get("clusterIP") or before.get("clusterIP") or _address(service["metadata"]["uid"])
    addresses = spec.get("clusterIPs") if spec.get("clusterIPs", [None])[0] == address else [address]
    after = {**spec, "clusterIP": address, "clusterIPs": addresses}
    if spec["type"] in ("LoadBalancer", "NodePort"):
        after = within(after, "ports", lambda ports: _opened(ports, service["metadata"]["uid"]))
    return {**service, "spec": filled(after, {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"})}


def _address(uid: str) -> str:
    """Return an address of 10.96.0.0/16 that hangs on the uid, so that no ledger must be kept.

    Two services may get the same one: nothing here routes to it.
    """
    number = FIRST_ADDRESS + 1 + int(uid.replace("-", ""), 16) % ADDRESSES
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _opened(ports: list[Manifest], uid: str) -> list[Manifest]:
    """Return ports with a port of the nodes for each, made up like addresses."""
    start = int(uid.replace("-", ""), 16)
    made = [FIRST_NODE_PORT + (start + position) % NODE_PORTS for position in range(len(ports))]
    return [port if port.get("nodePort") else {**port, "nodePort": new} for port, new in zip(ports, made, strict=True)]


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    problems = [*_port_faults(spec), *_kind_faults(spec)]
    if old is not None:
        problems += _address_faults(spec, old["spec"])
    return problems


def _port_faults(spec: Manifest) -> Faults:
    ports = spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != HEADLESS and spec.get("type") != "ExternalName":
        yield required("spec.ports")
    names: set[str] = set()
    for position, port in enumerate(ports):
        yield from _one_port_faults(port, f"spec.ports[{position}]", names, needs_name=len(ports) > 1)
    seen: set[tuple[Any, Any]] = set()
    for position, port in enumerate(ports):
        sign = (port.get("port", 0), port.get("protocol"))
        if sign in seen:
            yield duplicate(f"spec.ports[{position}]", _shown(port))
        seen.add(sign)


def _one_port_faults(port: Manifest, field: str, names: set[str], *, needs_name: bool) -> Faults:
    name = port.get("name", "")
    if not name:
        if needs_name:
            yield required(f"{field}.name")
    else:
        problems = label(name)
        yield from (invalid_value(f"{field}.name", name, why) for why in problems)
        if name in names:
            yield duplicate(f"{field}.name", name)
        names.add(name)
    yield from checks.port_number(port.get("port", 0), f"{field}.port")
    yield from checks.demanded(port, "protocol", field, PROTOCOLS)
    yield from checks.port_number_or_name(port.get("targetPort", 0), f"{field}.targetPort")
    yield from checks.named(port, "appProtocol", field, qualified_name)


def _shown(port: Manifest) -> Manifest:
    """Return a port as the real server shows a repeated one: with the names of its Go type, and little else."""
    return GoStruct(
        Name="",
        Protocol=port.get("protocol", ""),
        AppProtocol=None,
        Port=port.get("port", 0),
        TargetPort=0,
        NodePort=0,
    )


def _kind_faults(spec: Manifest) -> Faults:
    if spec.get("type") == "ExternalName":
        name = spec.get("externalName", "").removesuffix(".")
        if not name:
            yield required("spec.externalName")
        else:
            yield from (invalid_value("spec.externalName", name, why) for why in subdomain(name))
    yield from checks.label_faults(spec.get("selector") or {}, "spec.selector")
    yield from checks.demanded(spec, "sessionAffinity", "spec", ("ClientIP", "None"))
    seconds = at(spec, ("sessionAffinityConfig", "clientIP", "timeoutSeconds"))
    if seconds is not None and not 0 < seconds <= MOST_AFFINITY_SECONDS:
        field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid_value(field, seconds, f"must be greater than 0 and less than {MOST_AFFINITY_SECONDS}")
    yield from checks.demanded(spec, "type", "spec", TYPES)
    for position, address in enumerate(spec.get("externalIPs") or ()):
        yield from checks.address(address, f"spec.externalIPs[{position}]")
    yield from checks.one_of(spec, "internalTrafficPolicy", "spec", ("Cluster", "Local"))
    yield from checks.one_of(spec, "externalTrafficPolicy", "spec", ("Cluster", "Local"))


def _address_faults(new: Manifest, old: Manifest) -> Faults:
    both = new.get("type") in REACHABLE and old.get("type") in REACHABLE
    if both and old.get("clusterIP") and new.get("clusterIP") != old["clusterIP"]:
        yield invalid_value("spec.clusterIPs[0]", new.get("clusterIPs"), "may not change once set")


STRATEGY: Final = Strategy(
    name_rule=label,
    default=default,
    prepare=prepare,
    faults=faults,
    status=StatusStrategy(initial={"loadBalancer": {}}),
)
