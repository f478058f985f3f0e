"""Rows of what leads to pods: services, endpoints, ingresses."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.printing.ages import age
from fleetqueue.embedded.apiserver.http.printing.columns import Printer, columns
from fleetqueue.embedded.apiserver.http.printing.wording import (
    NONE,
    UNKNOWN,
    UNSET,
    at,
    created,
    first_few,
    items,
    labels,
    name_of,
    selector,
)

DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"


def service(obj: Manifest, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or [NONE]
    ports = ",".join(_port(port) for port in items(spec, "ports")) or NONE
    shown = [name_of(obj), spec.get("type", ""), addresses[0], _external(obj), ports, age(created(obj), now)]
    return [*shown, labels(spec.get("selector"))]


def _port(port: Manifest) -> str:
    outside = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{outside}/{port.get('protocol', 'TCP')}"


def _external(obj: Manifest) -> str:
    kind, own = at(obj, "spec", "type"), list(items(obj, "spec", "externalIPs"))
    if kind in ("ClusterIP", "NodePort"):
        return ",".join(own) or NONE
    if kind == "LoadBalancer":
        return ",".join([*_balancer(obj), *own]) or "<pending>"
    return str(at(obj, "spec", "externalName") or "") if kind == "ExternalName" else UNKNOWN


def _balancer(obj: Manifest) -> list[str]:
    points = items(obj, "status", "loadBalancer", "ingress")
    return sorted({str(point.get("ip") or point.get("hostname")) for point in points if point})


def endpoints(obj: Manifest, now: datetime) -> list[Any]:
    addresses: list[str] = []
    for subset in items(obj, "subsets"):
        ports = [f":{port.get('port')}" for port in items(subset, "ports")] or [""]
        addresses += [_host(one["ip"], port) for port in ports for one in items(subset, "addresses")]
    shown = first_few(addresses) if obj.get("subsets") else NONE
    return [name_of(obj), shown, age(created(obj), now)]


def _host(address: str, port: str) -> str:
    return f"[{address}]{port}" if port and ":" in address else f"{address}{port}"


def endpoint_slice(obj: Manifest, now: datetime) -> list[Any]:
    ports = first_few(str(port.get("port") or port.get("name") or "*") for port in items(obj, "ports")) or UNSET
    addresses = [address for one in items(obj, "endpoints") for address in items(one, "addresses")]
    return [name_of(obj), obj.get("addressType", ""), ports, first_few(addresses) or UNSET, age(created(obj), now)]


def ingress(obj: Manifest, now: datetime) -> list[Any]:
    rules = items(obj, "spec", "rules")
    hosts = [str(rule["host"]) for rule in rules if rule.get("host")]
    more = f" + {len(rules) - 3} more..." if len(hosts) >= 3 and len(rules) > 3 else ""
    shown = ",".join(hosts[:3]) + more or "*"
    ports = "80, 443" if items(obj, "spec", "tls") else "80"
    kind = at(obj, "spec", "ingressClassName") or NONE
    return [name_of(obj), kind, shown, ",".join(_balancer(obj)), ports, age(created(obj), now)]


def ingress_class(obj: Manifest, now: datetime) -> list[Any]:
    is_default = (obj["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
    parameters, shown = at(obj, "spec", "parameters"), NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        shown = f"{parameters.get('kind')}{group}/{parameters.get('name')}"
    name = name_of(obj) + (" (default)" if is_default else "")
    return [name, at(obj, "spec", "controller") or "", shown, age(created(obj), now)]


def network_policy(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), selector(at(obj, "spec", "podSelector")), age(created(obj), now)]


def ip_address(obj: Manifest, now: datetime) -> list[Any]:
    parent = at(obj, "spec", "parentRef")
    if not parent:
        return [name_of(obj), NONE]
    resource = ".".join(filter(None, (parent.get("resource"), parent.get("group")))).lower()
    return [name_of(obj), "/".join(filter(None, (resource, parent.get("namespace"), parent.get("name"))))]


def service_cidr(obj: Manifest, now: datetime) -> list[Any]:
    return [name_of(obj), ",".join(items(obj, "spec", "cidrs")), age(created(obj), now)]


NETWORKING: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "services"): Printer(columns("Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*"), service),
    ("", "endpoints"): Printer(columns("Name|Endpoints|Age"), endpoints),
    ("discovery.k8s.io", "endpointslices"): Printer(columns("Name|AddressType|Ports|Endpoints|Age"), endpoint_slice),
    ("networking.k8s.io", "ingresses"): Printer(columns("Name|Class|Hosts|Address|Ports|Age"), ingress),
    ("networking.k8s.io", "ingressclasses"): Printer(columns("Name|Controller|Parameters|Age"), ingress_class),
    ("networking.k8s.io", "networkpolicies"): Printer(columns("Name|Pod-Selector|Age"), network_policy),
    ("networking.k8s.io", "ipaddresses"): Printer(columns("Name|ParentRef"), ip_address),
    ("networking.k8s.io", "servicecidrs"): Printer(columns("Name|CIDRs|Age"), service_cidr),
}
