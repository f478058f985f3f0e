"""The rules for what few pods say: security contexts, name servers, readiness gates, how containers are resized."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import duplicate, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import qualified_name, underscored_subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults

LARGEST: Final = 2**31 - 1
MOST_SERVERS: Final = 3
MOST_SEARCHES: Final = 32
SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def pod_security_faults(context: Manifest, field: str) -> Faults:
    yield from _id_faults(context, field, "fsGroup", "runAsUser", "runAsGroup")
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= LARGEST:
            where = f"{field}.supplementalGroups[{position}]"
            yield invalid_value(where, group, f"must be between 0 and {LARGEST}, inclusive")
    names: set[str] = set()
    for position, sysctl in enumerate(context.get("sysctls") or ()):
        where, name = f"{field}.sysctls[{position}].name", sysctl.get("name", "")
        if not name:
            yield required(where)
        elif not checks.matches(SYSCTL, name) or len(name) > 253:
            yield invalid_value(where, name, f"must have at most 253 characters and match regex ^{SYSCTL}$")
        elif name in names:
            yield duplicate(where, name)
        names.add(name)
    yield from checks.one_of(context, "fsGroupChangePolicy", field, ("Always", "OnRootMismatch"))
    yield from _profile_faults(context, field)


def container_security_faults(context: Manifest, field: str) -> Faults:
    yield from _id_faults(context, field, "runAsUser", "runAsGroup")
    yield from checks.one_of(context, "procMount", field, ("Default", "Unmasked"))
    yield from _profile_faults(context, field)
    if context.get("allowPrivilegeEscalation") is False:
        where, detail = f"{field}.allowPrivilegeEscalation", "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            yield invalid_value(field, context, f"{detail} `privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid_value(where, False, f"{detail} `capabilities.Add` CAP_SYS_ADMIN")


def _id_faults(context: Manifest, field: str, *names: str) -> Faults:
    for name in names:
        if name in context and not 0 <= context[name] <= LARGEST:
            yield invalid_value(f"{field}.{name}", context[name], f"must be between 0 and {LARGEST}, inclusive")


def _profile_faults(context: Manifest, field: str) -> Faults:
    profile, where = context.get("seccompProfile"), f"{field}.seccompProfile"
    if profile is None:
        return
    if not profile.get("type"):
        yield required(f"{where}.type", "type is required when seccompProfile is set")
    yield from checks.one_of({"type": profile.get("type") or None}, "type", where, PROFILES)


def host_port_faults(spec: Manifest, field: str) -> Faults:
    """On the network of a node, a port is the same inside and outside."""
    for part in ("containers", "initContainers") if spec.get("hostNetwork") else ():
        for position, container in enumerate(spec.get(part) or ()):
            for number, port in enumerate(container.get("ports") or ()):
                if port.get("hostPort", 0) != port.get("containerPort", 0):
                    where = f"{field}.{part}[{position}].ports[{number}].hostPort"
                    detail = "must match `containerPort` when `hostNetwork` is true"
                    yield invalid_value(where, port.get("hostPort", 0), detail)


def token_volume_faults(spec: Manifest) -> Faults:
    """A token is of an account, which a pod must name."""
    for position, volume in enumerate(() if spec.get("serviceAccountName") else spec.get("volumes") or ()):
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                where = f"spec.volumes[{position}].projected.sources[{number}].serviceAccountToken"
                yield forbidden(where, "must not be specified when serviceAccountName is not set")


def name_server_faults(spec: Manifest, field: str) -> Faults:
    config, where = spec.get("dnsConfig"), f"{field}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(where, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{where}.nameservers", detail)
            return
    if config is not None:
        yield from _dns_faults(config, where)


def _dns_faults(config: Manifest, field: str) -> Faults:
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > MOST_SERVERS:
        yield invalid_value(f"{field}.nameservers", servers, f"must not have more than {MOST_SERVERS} nameservers")
    for position, server in enumerate(servers):
        yield from checks.address(server, f"{field}.nameservers[{position}]")
    if len(searches) > MOST_SEARCHES:
        yield invalid_value(f"{field}.searches", searches, f"must not have more than {MOST_SEARCHES} search paths")
    for position, search in enumerate(searches):
        name = search if search == "." else search.removesuffix(".")
        problems = underscored_subdomain(name) if name != "." else ()
        yield from (invalid_value(f"{field}.searches[{position}]", name, why) for why in problems)
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{field}.options[{position}]", "must not be empty")


def readiness_gate_faults(gates: Sequence[Manifest], field: str) -> Faults:
    for position, gate in enumerate(gates):
        kind, where = gate.get("conditionType", ""), f"{field}[{position}].conditionType"
        yield from (invalid_value(where, kind, why) for why in qualified_name(kind))


def resize_faults(policies: Sequence[Manifest], field: str, restart_policy: str) -> Faults:
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        resource, restarts = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            yield duplicate(f"{field}[{position}]", resource)
        seen.add(resource)
        for value, known in ((resource, ("cpu", "memory")), (restarts, ("NotRequired", "RestartContainer"))):
            if not value:
                yield required(field)
            elif value not in known:
                yield not_supported(field, value, known)
        if restart_policy == "Never" and restarts != "NotRequired":
            yield invalid_value(field, restarts, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
