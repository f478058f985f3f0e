"""Whether checks and queues belong together, and whether Placements can choose what they shall."""

from collections.abc import Iterator

from fleetqueue.admin.checkups.findings import Finding, RepairStep, applied, by_hand, fleetqueue, found, merged
from fleetqueue.admin.checkups.survey import FleetSurvey
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DRAIN_TAINT, placement_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.placement_eligibility import tolerance

PLACEMENT_REFERENCE = {"apiGroup": cluster.GROUP, "kind": cluster.Placement.resource.kind}
CONFIG_REFERENCE = {"apiGroup": kueue.GROUP, "kind": kueue.MultiKueueConfig.resource.kind}


def our_checks(fleet: FleetSurvey) -> list[kueue.AdmissionCheck]:
    return [check for check in fleet.all(kueue.AdmissionCheck) if check.spec.controller_name == CHECK_CONTROLLER]


def used_placements(fleet: FleetSurvey) -> list[cluster.Placement]:
    """Return the Placements that our checks name, where they are looked for."""
    names = {placement_of(check) for check in our_checks(fleet)}
    return [p for p in fleet.all(cluster.Placement) if p.namespace == fleet.kueue_namespace and p.name in names]


def named_placements(fleet: FleetSurvey) -> Iterator[Finding]:
    here = [p.name for p in fleet.all(cluster.Placement) if p.namespace == fleet.kueue_namespace]
    for check in our_checks(fleet):
        name = placement_of(check)
        if not name:
            wrong = "spec.parameters names no Placement"
            yield found("CheckWithoutPlacement", check, wrong, _name_placement(check, here, fleet.kueue_namespace))
        elif name not in here:
            yield _not_found(fleet, check, name, here)


def _name_placement(check: kueue.AdmissionCheck, names: list[str], namespace: str) -> RepairStep:
    if len(names) != 1:
        known = f"one of {', '.join(names)}" if names else f"one that you create in namespace {namespace}"
        return by_hand(f"set spec.parameters of AdmissionCheck {check.name} to a Placement: {known}")
    return merged(check, {"spec": {"parameters": {**PLACEMENT_REFERENCE, "name": names[0]}}})


def _not_found(fleet: FleetSurvey, check: kueue.AdmissionCheck, name: str, here: list[str]) -> Finding:
    elsewhere = [placement for placement in fleet.all(cluster.Placement) if placement.name == name]
    namespace = fleet.kueue_namespace
    if not elsewhere:
        wrong = f"Placement {namespace}/{name} does not exist"
        known = f"; there are {', '.join(here)}" if here else ""
        step = by_hand(f"create Placement {name} in namespace {namespace}, or name another one in the check{known}")
        return found("PlacementNotFound", check, wrong, step)
    other = elsewhere[0]
    wrong = f"Placement {name} is in namespace {other.namespace}, and is looked for in {namespace}"
    return found("PlacementInOtherNamespace", check, wrong, *_moved(fleet, other))


def _moved(fleet: FleetSurvey, placement: cluster.Placement) -> Iterator[RepairStep]:
    """Write a Placement where it is looked for, and let it choose from the same sets there."""
    namespace = fleet.kueue_namespace
    yield applied(cluster.Placement.manifest(placement.name, namespace, spec=fleet.placement_specs[placement.key]))
    bindings = fleet.all(cluster.ManagedClusterSetBinding)
    sets = {one.spec.cluster_set for one in bindings if one.namespace == placement.namespace}
    bound = {one.spec.cluster_set for one in bindings if one.namespace == namespace}
    for name in sorted((set(placement.spec.cluster_sets) or sets) - bound):
        yield _bind(name, namespace)


def paired_checks(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look at the checks of each queue: one of ours and one of MultiKueue belong together."""
    checks = {check.name: check for check in fleet.all(kueue.AdmissionCheck)}
    for queue in fleet.all(kueue.ClusterQueue):
        if missing := [name for name in queue.checks if name not in checks]:
            yield found(
                "CheckMissing", queue, f"AdmissionCheck {', '.join(missing)} does not exist", _taken_off(queue, missing)
            )
            continue
        there = [checks[name] for name in queue.checks]
        placements = [placement for check in there if (placement := placement_of(check))]
        configs = [check.config_name for check in there if check.is_multikueue]
        if placements and not configs:
            wrong = f"it has the check of Placement {placements[0]} and none of MultiKueue"
            yield found("PlacementCheckAlone", queue, wrong, *_with_multikueue(queue, placements[0], checks))
        if not placements and (partner := _partner(configs, checks)):
            wrong = f"MultiKueueConfig {placement_of(partner)} is written for check {partner.name}, which it lacks"
            yield found("MultiKueueCheckAlone", queue, wrong, _with_check(queue, partner.name))


def _partner(configs: list[str], checks: dict[str, kueue.AdmissionCheck]) -> kueue.AdmissionCheck | None:
    """Return a check of ours for whose Placement one of these configs is written."""
    return next((check for check in checks.values() if placement_of(check) and placement_of(check) in configs), None)


def _with_multikueue(
    queue: kueue.ClusterQueue, placement: str, checks: dict[str, kueue.AdmissionCheck]
) -> Iterator[RepairStep]:
    name = next((check.name for check in checks.values() if check.config_name == placement), "")
    if not name:
        name = f"multikueue-{placement}"
        spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": {**CONFIG_REFERENCE, "name": placement}}
        yield applied(kueue.AdmissionCheck.manifest(name, spec=spec))
    yield _with_check(queue, name)


def _with_check(queue: kueue.ClusterQueue, name: str) -> RepairStep:
    references = [_reference(one) for one in queue.spec.admission_checks_strategy.admission_checks]
    return merged(queue, _strategy([*references, {"name": name}]))


def _taken_off(queue: kueue.ClusterQueue, names: list[str]) -> RepairStep:
    references = queue.spec.admission_checks_strategy.admission_checks
    return merged(queue, _strategy([_reference(one) for one in references if one.name not in names]))


def _strategy(references: list[Manifest]) -> Manifest:
    return {"spec": {"admissionChecksStrategy": {"admissionChecks": references} if references else None}}


def _reference(reference: kueue.CheckReference) -> Manifest:
    flavors = {"onFlavors": list(reference.on_flavors)} if reference.on_flavors else {}
    return {"name": reference.name, **flavors}


def inactive_checks(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look at the checks that queues use, for what no other checkup explains."""
    used = {
        reference.name
        for queue in fleet.all(kueue.ClusterQueue)
        for reference in queue.spec.admission_checks_strategy.admission_checks
    }
    unselecting = {placement_of(check) for check in our_checks(fleet)} - {p.name for p in used_placements(fleet)}
    unselecting |= {finding.name for finding in (*bound_sets(fleet), *selections(fleet))}
    # What a Placement lacks is told of the Placement; without a choice there is no config either.
    explained = {check.name for check in fleet.all(kueue.AdmissionCheck) if check.config_name in unselecting}
    explained |= {check.name for check in our_checks(fleet)}
    for check in fleet.all(kueue.AdmissionCheck):
        if check.name not in used or check.name in explained:
            continue
        active = conditions.find(check.status.conditions, kueue.ACTIVE)
        if active is not None and active.status == conditions.FALSE:
            wrong = active.sentence
            yield found("CheckInactive", check, wrong, by_hand(_mend_check(check, active.message)))


def _mend_check(check: kueue.AdmissionCheck, message: str) -> str:
    if check.is_multikueue and check.config_name:
        return f"look at MultiKueueConfig {check.config_name} and the MultiKueueClusters that it lists"
    return f"do what {check.spec.controller_name} asks for: {message}"


def bound_sets(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look at the sets that the Placements of our checks choose from."""
    sets = {one.name for one in fleet.all(cluster.ManagedClusterSet)}
    bindings = fleet.all(cluster.ManagedClusterSetBinding)
    for placement in used_placements(fleet):
        bound = {binding.spec.cluster_set for binding in bindings if binding.namespace == placement.namespace}
        for name in sorted({*placement.spec.cluster_sets, *(bound if not placement.spec.cluster_sets else ())}):
            if name not in sets:
                steps = [fleetqueue("clusterset", "create", name)]
                steps += [] if name in bound else [_bind(name, placement.namespace)]
                steps.append(by_hand(f"put clusters into it: fleetqueue clusterset set {name} --clusters NAME,NAME"))
                yield found("SetMissing", placement, f"there is no ManagedClusterSet {name}", *steps)
            elif name not in bound:
                wrong = f"ManagedClusterSet {name} is not bound in namespace {placement.namespace}"
                yield found("SetNotBound", placement, wrong, _bind(name, placement.namespace))
        if not placement.spec.cluster_sets and not bound:
            wrong = f"no ManagedClusterSet is bound in namespace {placement.namespace}"
            step = _bind(
                next(iter(sorted(sets - {cluster.GLOBAL_SET, "default"})), cluster.GLOBAL_SET), placement.namespace
            )
            yield found("SetNotBound", placement, wrong, step)


def _bind(name: str, namespace: str) -> RepairStep:
    return fleetqueue("clusterset", "bind", name, "--namespace", namespace)


def selections(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for Placements that select nothing although their sets are bound."""
    unbound = {(finding.namespace, finding.name) for finding in bound_sets(fleet)}
    chosen = {decision.placement_key for decision in fleet.all(cluster.PlacementDecision) if decision.status.decisions}
    for placement in used_placements(fleet):
        if placement.key not in chosen and (placement.namespace, placement.name) not in unbound:
            satisfied = conditions.find(placement.status.conditions, cluster.PLACEMENT_SATISFIED)
            said = f": {satisfied.sentence}" if satisfied else ""
            step = by_hand(
                f"compare spec.predicates, spec.tolerations and spec.clusterSets of Placement {placement.key} with the"
                " labels, claims, taints and sets of the clusters: `fleetqueue get clusters`, `kubectl get"
                " managedclusters --show-labels`"
            )
            yield found("NothingSelected", placement, f"it selects no cluster{said}", step)


def taints(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for taints that keep a cluster away from every Placement of our checks; OCM's own say that it is lost."""
    placements = used_placements(fleet)
    for managed in fleet.all(cluster.ManagedCluster) if placements else ():
        offences = [tolerance(managed, p.spec.tolerations, fleet.now, is_chosen=False).offence for p in placements]
        kept_away = [taint for taint in offences if taint is not None]
        if len(kept_away) < len(offences):
            continue
        own = [taint for taint in kept_away if taint.key not in (cluster.UNREACHABLE_TAINT, cluster.UNAVAILABLE_TAINT)]
        if own:
            yield _tainted(managed, own[0])


def _tainted(managed: cluster.ManagedCluster, taint: cluster.ClusterTaint) -> Finding:
    value = f"={taint.value}" if taint.value else ""
    intolerable = f"no Placement with a check tolerates its taint {taint.key}{value}:{taint.effect}"
    if taint.key == DRAIN_TAINT:
        wrong = f"it was drained on purpose, as by `fleetqueue drain {managed.name}`: {intolerable}"
        return found("ClusterTainted", managed, wrong, fleetqueue("undrain", managed.name), cluster=managed.name)
    rest = [_as_manifest(one) for one in managed.spec.taints if one != taint]
    return found(
        "ClusterTainted",
        managed,
        intolerable,
        merged(managed, {"spec": {"taints": rest or None}}),
        cluster=managed.name,
    )


def _as_manifest(taint: cluster.ClusterTaint) -> Manifest:
    added = {"timeAdded": conditions.timestamp(taint.time_added)} if taint.time_added else {}
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, "effect": taint.effect, **value, **added}
