"""The rules for the spec of a pod, in a pod or in a template."""

from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import (
    Cause,
    duplicate,
    forbidden,
    invalid_value,
    not_supported,
    required,
)
from fleetqueue.embedded.apiserver.kinds.names import label, label_value, qualified_name, subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.container_rules import common_faults, container_faults
from fleetqueue.embedded.apiserver.registry.kinds.pod_detail_rules import (
    host_port_faults,
    name_server_faults,
    pod_security_faults,
    readiness_gate_faults,
    resize_faults,
)
from fleetqueue.embedded.apiserver.registry.kinds.volume_rules import volume_faults

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
LARGEST: Final = 2**31 - 1
LAYERS: Final = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


def template_faults(template: Manifest, field: str) -> list[Cause]:
    """Return what is wrong with a pod template."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    problems = checks.all_of(
        checks.label_faults(metadata.get("labels") or {}, f"{field}.labels"),
        checks.annotation_faults(metadata.get("annotations") or {}, f"{field}.annotations"),
        spec_faults(spec, f"{field}.spec"),
    )
    if spec.get("ephemeralContainers"):
        problems.append(
            forbidden(f"{field}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
        )
    return problems


def spec_faults(spec: Manifest, field: str) -> Faults:
    volumes, problems = volume_faults(spec.get("volumes") or (), f"{field}.volumes")
    yield from problems
    yield from _all_container_faults(spec, field, volumes)
    yield from host_port_faults(spec, field)
    yield from checks.demanded(spec, "restartPolicy", field, RESTART_POLICIES)
    yield from checks.demanded(spec, "dnsPolicy", field, DNS_POLICIES)
    yield from checks.label_faults(spec.get("nodeSelector") or {}, f"{field}.nodeSelector")
    if spec.get("securityContext"):
        yield from pod_security_faults(spec["securityContext"], f"{field}.securityContext")
    yield from _affinity_faults(spec.get("affinity") or {}, f"{field}.affinity")
    yield from name_server_faults(spec, field)
    yield from readiness_gate_faults(spec.get("readinessGates") or (), f"{field}.readinessGates")
    yield from _gate_faults(spec.get("schedulingGates") or (), f"{field}.schedulingGates")
    yield from _spread_faults(spec.get("topologySpreadConstraints") or (), f"{field}.topologySpreadConstraints")
    yield from checks.named(spec, "serviceAccountName", field, subdomain)
    yield from checks.named(spec, "nodeName", field, subdomain)
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= LARGEST:
        yield invalid_value(f"{field}.activeDeadlineSeconds", seconds, f"must be between 1 and {LARGEST}, inclusive")
    yield from checks.named(spec, "hostname", field, label)
    yield from checks.named(spec, "subdomain", field, label)
    yield from toleration_faults(spec.get("tolerations") or (), f"{field}.tolerations")
    yield from _alias_faults(spec.get("hostAliases") or (), f"{field}.hostAliases")
    yield from checks.named(spec, "priorityClassName", field, subdomain)
    yield from checks.named(spec, "runtimeClassName", field, subdomain)
    if "preemptionPolicy" in spec:
        yield from checks.demanded(spec, "preemptionPolicy", field, ("PreemptLowerPriority", "Never"))


def _all_container_faults(spec: Manifest, field: str, volumes: set[str]) -> Faults:
    names: set[str] = set()
    for part in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(part) or ()):
            if "resizePolicy" in container:
                where = f"{field}.{part}[{position}].resizePolicy"
                yield from resize_faults(container["resizePolicy"], where, spec.get("restartPolicy", ""))
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    else:
        yield from container_faults(spec["containers"], f"{field}.containers", volumes, names)
    if spec.get("initContainers"):
        yield from container_faults(spec["initContainers"], f"{field}.initContainers", volumes, names, is_init=True)
    for position, container in enumerate(spec.get("ephemeralContainers") or ()):
        where, name = f"{field}.ephemeralContainers[{position}]", container.get("name", "")
        yield from common_faults(container, where, volumes)
        if name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)


def _affinity_faults(affinity: Manifest, field: str) -> Faults:
    node = affinity.get("nodeAffinity") or {}
    where = f"{field}.nodeAffinity"
    if LAYERS[0] in node:
        yield from node_selector_faults(node[LAYERS[0]], f"{where}.{LAYERS[0]}")
    for position, term in enumerate(node.get(LAYERS[1]) or ()):
        yield from _weight_faults(term, f"{where}.{LAYERS[1]}[{position}]")
        terms = [term.get("preference") or {}]
        yield from _term_faults(terms[0], f"{where}.{LAYERS[1]}[{position}].preference")
    for name in ("podAffinity", "podAntiAffinity"):
        if name in affinity:
            yield from _pod_affinity_faults(affinity[name], f"{field}.{name}")


def node_selector_faults(selector: Manifest, field: str) -> Faults:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")
    for position, term in enumerate(terms):
        yield from _term_faults(term, f"{field}.nodeSelectorTerms[{position}]")


def _weight_faults(term: Manifest, field: str) -> Faults:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid_value(f"{field}.weight", weight, "must be in the range 1-100")


def _term_faults(term: Manifest, field: str) -> Faults:
    for part in ("matchExpressions", "matchFields"):
        for position, expression in enumerate(term.get(part) or ()):
            yield from checks.expression_faults(expression, f"{field}.{part}[{position}]", compares=True)


def _pod_affinity_faults(affinity: Manifest, field: str) -> Faults:
    for position, term in enumerate(affinity.get(LAYERS[0]) or ()):
        yield from _affinity_term_faults(term, f"{field}.{LAYERS[0]}[{position}]")
    for position, weighted in enumerate(affinity.get(LAYERS[1]) or ()):
        where = f"{field}.{LAYERS[1]}[{position}]"
        yield from _weight_faults(weighted, where)
        yield from _affinity_term_faults(weighted.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _affinity_term_faults(term: Manifest, field: str) -> Faults:
    for namespace in term.get("namespaces") or ():
        yield from (invalid_value(f"{field}.namespace", namespace, why) for why in label(namespace))
    if "labelSelector" in term:
        yield from checks.selector_faults(term["labelSelector"], f"{field}.labelSelector")
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    yield from (invalid_value(f"{field}.topologyKey", key, why) for why in qualified_name(key))


def _gate_faults(gates: Sequence[Manifest], field: str) -> Faults:
    names: set[str] = set()
    for position, gate in enumerate(gates):
        where, name = f"{field}[{position}]", gate.get("name", "")
        yield from (invalid_value(where, name, why) for why in qualified_name(name))
        if name in names:
            yield duplicate(where, name)
        names.add(name)


def _spread_faults(constraints: Sequence[Manifest], field: str) -> Faults:
    for position, constraint in enumerate(constraints):
        where = f"{field}[{position}]"
        yield from _constraint_faults(constraint, where)
        kind = _spread(constraint)
        if any(_spread(other) == kind for other in constraints[position + 1 :]):
            shown = f"{{{kind[0]}, {kind[1]}}}"
            yield duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", shown)


def _spread(constraint: Manifest) -> tuple[str, str]:
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")


def _constraint_faults(constraint: Manifest, field: str) -> Faults:
    key, action = _spread(constraint)
    domains = constraint.get("minDomains")
    if constraint.get("maxSkew", 0) <= 0:
        yield invalid_value(f"{field}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
    if not key:
        yield required(f"{field}.topologyKey", "can not be empty")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        yield not_supported(f"{field}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    if domains is not None and domains <= 0:
        yield invalid_value(f"{field}.minDomains", domains, "must be greater than zero")
    if domains is not None and action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid_value(f"{field}.minDomains", domains, detail)
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from checks.one_of(constraint, name, field, ("Honor", "Ignore"))
    if "labelSelector" in constraint:
        yield from checks.selector_faults(constraint["labelSelector"], f"{field}.labelSelector")


def toleration_faults(tolerations: Sequence[Manifest], field: str) -> Faults:
    for position, toleration in enumerate(tolerations):
        yield from _toleration_faults(toleration, f"{field}[{position}]")


def _toleration_faults(toleration: Manifest, field: str) -> Faults:
    key, operator, value = (toleration.get(name, "") for name in ("key", "operator", "value"))
    effect: Any = toleration.get("effect", "")
    if key:
        yield from (invalid_value(f"{field}.key", key, why) for why in qualified_name(key))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid_value(f"{field}.operator", operator, detail)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        yield invalid_value(f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        problems = label_value(value)
        if problems:
            yield invalid_value(f"{field}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid_value(f"{field}.operator", value, "value must be empty when `operator` is 'Exists'")
    else:
        yield not_supported(f"{field}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield not_supported(f"{field}.effect", effect, EFFECTS)


def _alias_faults(aliases: Sequence[Manifest], field: str) -> Faults:
    for position, alias in enumerate(aliases):
        where = f"{field}[{position}]"
        yield from checks.address(alias.get("ip", ""), f"{where}.ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            yield from (invalid_value(f"{where}.hostnames[{number}]", name, why) for why in subdomain(name))
