"""The rules for the containers of a pod: names, ports, variables, mounts, probes."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import duplicate, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import (
    config_key,
    header_name,
    label,
    port_name,
    qualified_name,
    subdomain,
)
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import PROTOCOLS, Faults
from fleetqueue.embedded.apiserver.registry.kinds.pod_detail_rules import container_security_faults
from fleetqueue.embedded.apiserver.registry.kinds.resource_rules import resource_faults

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
FIELD_PATHS: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
KNOWN_PATHS: Final = (*FIELD_PATHS, "metadata.labels", "metadata.annotations", "spec.restartPolicy", "status.phase")
AMOUNTS: Final = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


def container_faults(
    containers: Sequence[Manifest], field: str, volumes: Collection[str], taken: set[str], *, is_init: bool = False
) -> Faults:
    """Return what is wrong with containers; `taken` are the names of others, and gets theirs."""
    for position, container in enumerate(containers):
        where = f"{field}[{position}]"
        yield from common_faults(container, where, volumes)
        name = container.get("name", "")
        if name in taken:
            yield duplicate(f"{where}.name", name)
        taken.add(name)
        if is_init and container.get("restartPolicy") != "Always":
            yield from _init_faults(container, where)
        else:
            yield from _life_faults(container, where)
    yield from _host_port_faults(containers, field)


def common_faults(container: Manifest, field: str, volumes: Collection[str]) -> Faults:
    """Return what is wrong with any sort of container."""
    name = container.get("name")
    if not name:
        yield required(f"{field}.name")
    else:
        yield from (invalid_value(f"{field}.name", name, why) for why in label(name))
    if not container.get("image"):
        yield required(f"{field}.image")
    yield from checks.one_of(container, "terminationMessagePolicy", field, MESSAGE_POLICIES)
    if "ports" in container:
        yield from _port_faults(container["ports"], f"{field}.ports")
    if "env" in container:
        yield from _env_faults(container["env"], f"{field}.env")
    if "envFrom" in container:
        yield from _env_from_faults(container["envFrom"], f"{field}.envFrom")
    if "volumeMounts" in container:
        yield from _mount_faults(container["volumeMounts"], f"{field}.volumeMounts", volumes)
    yield from checks.one_of(container, "imagePullPolicy", field, PULL_POLICIES)
    if container.get("resources"):
        yield from resource_faults(container["resources"], f"{field}.resources")
    if "securityContext" in container:
        yield from container_security_faults(container["securityContext"], f"{field}.securityContext")


def trimmed_faults(containers: Sequence[Manifest], field: str) -> Faults:
    """Refuse images with blanks around them, which templates may have."""
    for position, container in enumerate(containers):
        image = container.get("image", "")
        if image != image.strip():
            yield invalid_value(f"{field}[{position}].image", image, "must not have leading or trailing whitespace")


def _port_faults(ports: Sequence[Manifest], field: str) -> Faults:
    names: set[str] = set()
    for position, port in enumerate(ports):
        where, name = f"{field}[{position}]", port.get("name")
        if name:
            problems = port_name(name)
            yield from (invalid_value(f"{where}.name", name, why) for why in problems)
            if not problems and name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{where}.containerPort")
        else:
            yield from checks.port_number(port["containerPort"], f"{where}.containerPort")
        if port.get("hostPort"):
            yield from checks.port_number(port["hostPort"], f"{where}.hostPort")
        yield from checks.demanded(port, "protocol", where, PROTOCOLS)


def _host_port_faults(containers: Sequence[Manifest], field: str) -> Faults:
    seen: set[str] = set()
    for position, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            sign = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if sign in seen:
                yield duplicate(f"{field}[{position}].ports[{number}].hostPort", sign)
            seen.add(sign)


def _env_faults(variables: Sequence[Manifest], field: str) -> Faults:
    for position, variable in enumerate(variables):
        where, name = f"{field}[{position}]", variable.get("name")
        if not name:
            yield required(f"{where}.name")
        elif "=" in name or not name.isascii() or not name.isprintable():
            why = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            yield invalid_value(f"{where}.name", name, why)
        if "valueFrom" in variable:
            yield from _source_faults(variable, f"{where}.valueFrom")


def _source_faults(variable: Manifest, field: str) -> Faults:
    source = variable["valueFrom"]
    kinds = [name for name in SOURCES if name in source]
    if "fieldRef" in source:
        yield from field_reference_faults(source["fieldRef"], f"{field}.fieldRef", FIELD_PATHS)
    if "resourceFieldRef" in source:
        yield from _amount_reference_faults(source["resourceFieldRef"], f"{field}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            yield from _key_faults(source[name], f"{field}.{name}")
    if not kinds:
        named = ", ".join(f"`{name}`" for name in SOURCES[:-1])
        yield invalid_value(field, "", f"must specify one of: {named} or `{SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid_value(field, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield invalid_value(field, "", "may not have more than one field specified at a time")


def _amount_reference_faults(reference: Manifest, field: str) -> Faults:
    resource = reference.get("resource")
    if not resource:
        yield required(f"{field}.resource")
    elif resource not in AMOUNTS and not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{field}.resource", resource, AMOUNTS)


def field_reference_faults(reference: Manifest, field: str, supported: Sequence[str]) -> Faults:
    path = reference.get("fieldPath")
    if not path:
        yield required(f"{field}.fieldPath")
        return
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        yield from (invalid_value(field, subscript[2], why) for why in qualified_name(subscript[2].lower()))
    elif path not in KNOWN_PATHS:
        why = f"error converting fieldPath: field label not supported: {path}"
        yield invalid_value(f"{field}.fieldPath", path, why)
    elif path not in supported:
        yield not_supported(f"{field}.fieldPath", path, sorted(supported))


def _key_faults(reference: Manifest, field: str) -> Faults:
    yield from (
        invalid_value(f"{field}.name", reference.get("name", ""), why) for why in subdomain(reference.get("name", ""))
    )
    key = reference.get("key")
    if not key:
        yield required(f"{field}.key")
    else:
        yield from (invalid_value(f"{field}.key", key, why) for why in config_key(key))


def _env_from_faults(sources: Sequence[Manifest], field: str) -> Faults:
    for position, source in enumerate(sources):
        where = f"{field}[{position}]"
        kinds = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in kinds:
            ref_name = source[name].get("name", "")
            if not ref_name:
                yield required(f"{where}.{name}.name")
            else:
                yield from (invalid_value(f"{where}.{name}.name", ref_name, why) for why in subdomain(ref_name))
        if not kinds:
            yield invalid_value(field, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(kinds) > 1:
            yield invalid_value(field, "", "may not have more than one field specified at a time")


def _mount_faults(mounts: Sequence[Manifest], field: str, volumes: Collection[str]) -> Faults:
    paths: set[str] = set()
    for position, mount in enumerate(mounts):
        where, name, path = f"{field}[{position}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield checks.not_found(f"{where}.name", name)
        if not path:
            yield required(f"{where}.mountPath")
        if path in paths:
            yield invalid_value(f"{where}.mountPath", path, "must be unique")
        paths.add(path)
        if mount.get("subPathExpr") and mount.get("subPath"):
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid_value(f"{where}.subPathExpr", mount["subPathExpr"], detail)


def _init_faults(container: Manifest, field: str) -> Faults:
    for name in ("lifecycle", *PROBES):
        if name in container:
            yield forbidden(f"{field}.{name}", "may not be set for init containers without restartPolicy=Always")


def _life_faults(container: Manifest, field: str) -> Faults:
    if "lifecycle" in container:
        for name in ("postStart", "preStop"):
            if name in container["lifecycle"]:
                yield from _handler_faults(container["lifecycle"][name], f"{field}.lifecycle.{name}")
    for name in PROBES:
        if name in container:
            yield from _probe_faults(container[name], f"{field}.{name}", once=name != "readinessProbe")


def _probe_faults(probe: Manifest, field: str, *, once: bool) -> Faults:
    yield from _handler_faults(probe, field)
    numbers = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    yield from checks.non_negative(probe, field, *numbers)
    if probe.get("terminationGracePeriodSeconds", 1) <= 0:
        seconds = probe["terminationGracePeriodSeconds"]
        yield invalid_value(f"{field}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
    if once and probe.get("successThreshold") != 1:
        yield invalid_value(f"{field}.successThreshold", probe.get("successThreshold"), "must be 1")


def _handler_faults(handler: Manifest, field: str) -> Faults:
    kinds = [name for name in HANDLERS if name in handler]
    if not kinds:
        yield required(field, "must specify a handler type")
        return
    yield from _action_faults(kinds[0], handler[kinds[0]], f"{field}.{kinds[0]}")
    yield from (forbidden(f"{field}.{name}", "may not specify more than 1 handler type") for name in kinds[1:])


def _action_faults(name: str, action: Manifest, field: str) -> Faults:
    if name == "exec" and not action.get("command"):
        yield required(f"{field}.command")
    if name == "httpGet":
        if not action.get("path"):
            yield required(f"{field}.path")
        yield from checks.port_number_or_name(action.get("port", 0), f"{field}.port")
        yield from checks.one_of(action, "scheme", field, ("HTTP", "HTTPS"))
        for header in action.get("httpHeaders") or ():
            named = header.get("name", "")
            yield from (invalid_value(f"{field}.httpHeaders", named, why) for why in header_name(named))
    if name in ("tcpSocket", "grpc"):
        yield from checks.port_number_or_name(action.get("port", 0), f"{field}.port")
