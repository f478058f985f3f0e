"""The warnings for pods and pod templates that are allowed but dubious."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.kinds.names import label_value

OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(template: Manifest, field: str = "") -> list[str]:
    """Return the warnings for a pod, or for the template in a field."""
    spec, path = template.get("spec") or {}, f"{field}.spec" if field else "spec"
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    above = f"{field}.metadata.annotations" if field else "metadata.annotations"
    return [
        *_scheduling(spec, path),
        *(f"{above}[{key}]: {why}" for key, why in OLD_ANNOTATIONS.items() if key in annotations),
        *_volumes(spec.get("volumes") or (), f"{path}.volumes"),
        *_names(spec, path),
        *fractions(spec.get("overhead") or {}, f"{path}.overhead", BYTES),
        *chain.from_iterable(_container(one, where) for one, where in _containers(spec, path)),
        *_ports(spec, path),
        *_affinities(spec.get("affinity") or {}, f"{path}.affinity"),
    ]


def _containers(spec: Manifest, path: str) -> Iterator[tuple[Manifest, str]]:
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            yield container, f"{path}.{part}[{index}]"


def _scheduling(spec: Manifest, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or {}:
        if key in OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {OLD_LABELS[key]}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    above = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from _node_term(term, f"{above}.{REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(node.get(PREFERRED) or ()):
        yield from _node_term(term.get("preference") or {}, f"{above}.{PREFERRED}[{index}].preference", checks=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey", "")
        if key in OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {OLD_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {NO_SELECTOR}"


def _node_term(term: Manifest, path: str, *, checks: bool = False) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where, key = f"{path}.matchExpressions[{index}]", expression.get("key", "")
        if key in OLD_LABELS:
            yield f"{where}.key: {key} is {OLD_LABELS[key]}"
        for place, value in enumerate(expression.get("values") or () if checks else ()):
            yield from (f"{where}.values[{place}]: {value} is invalid, {why}" for why in label_value(value))


def _volumes(volumes: Sequence[Manifest], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for name, why in OLD_VOLUMES.items():
            if name in volume:
                yield f"{path}[{index}].{'storageOS' if name == 'storageos' else name}: {why}"
        claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        yield from claim_warnings(claim.get("spec") or {}, f"{path}[{index}].ephemeral.volumeClaimTemplate.spec")


def claim_warnings(spec: Manifest, path: str) -> Iterator[str]:
    resources = spec.get("resources") or {}
    for part in ("requests", "limits"):
        yield from fractions(resources.get(part) or {}, f"{path}.resources.{part}", ("storage",))


def _names(spec: Manifest, path: str) -> Iterator[str]:
    for index in _repeated([one.get("ip", "") for one in spec.get("hostAliases") or ()]):
        yield f"{path}.hostAliases[{index}].ip: duplicate ip {quoted(spec['hostAliases'][index]['ip'])}"
    secrets = [one.get("name", "") for one in spec.get("imagePullSecrets") or ()]
    for index in _repeated(secrets):
        yield f"{path}.imagePullSecrets[{index}].name: duplicate name {quoted(secrets[index])}"
    for index, name in enumerate(secrets):
        if not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _repeated(values: Sequence[str]) -> Iterator[int]:
    return (index for index, value in enumerate(values) if value in values[:index])


def fractions(amounts: Manifest, path: str, names: Sequence[str]) -> Iterator[str]:
    """Tell of parts of bytes; amounts are in their one form, in which only those have a suffix below one."""
    for name in names:
        if str(amounts.get(name, "")).endswith(("m", "u", "n")):
            yield f"{path}[{name}]: fractional byte value {quoted(amounts[name])} is invalid, must be an integer"


def _container(container: Manifest, path: str) -> Iterator[str]:
    resources, seen = container.get("resources") or {}, set()
    for name in BYTES:
        for part in ("limits", "requests"):
            yield from fractions(resources.get(part) or {}, f"{path}.resources.{part}", (name,))
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value") or ""
        refers = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == refers or refers not in value):
            why = f"hides previous definition of {quoted(name)}, which may be dropped when using apply"
            yield f"{path}.env[{index}]: {why}"
        seen.add(name)


def _ports(spec: Manifest, path: str) -> Iterator[str]:
    known: dict[tuple[Any, Any], list[tuple[str, Manifest]]] = {}
    names: dict[str, str] = {}
    duplicates: list[str] = []
    for container, above in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{above}.ports[{index}]"
            others = known.setdefault((port.get("containerPort"), port.get("protocol", "TCP")), [])
            yield from (warning for other in others if (warning := _clash(where, port, *other)))
            others.append((where, port))
            if name := port.get("name"):
                first = names.setdefault(name, where)
                if first != where:
                    why = f"services and probes that select ports by name will use {first}"
                    duplicates.append(f"{where}: duplicate port name {quoted(name)} with {first}, {why}")
    yield from duplicates


def _clash(where: str, port: Manifest, there: str, other: Manifest) -> str:
    address, other_address = port.get("hostIP", ""), other.get("hostIP", "")
    number, other_number = port.get("hostPort", 0), other.get("hostPort", 0)
    if (address, number) == (other_address, other_number):
        return f"{where}: duplicate port definition with {there}"
    if not number or not other_number:
        return f"{where}: overlapping port definition with {there}"
    if number == other_number and bool(address) != bool(other_address):
        return f"{where}: dangerously ambiguous port definition with {there}"
    return ""


def _affinities(affinity: Manifest, path: str) -> Iterator[str]:
    for part in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(part) or {}
        for index, term in enumerate(given.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{part}.{REQUIRED}[{index}].labelSelector: {NO_SELECTOR}"
        for index, term in enumerate(given.get(PREFERRED) or ()):
            if (term.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{path}.{part}.{PREFERRED}[{index}].podAffinityTerm.labelSelector: {NO_SELECTOR}"
