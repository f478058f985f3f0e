"""Whether what a fleet needs is installed, has a version that was tested, runs, and runs as it is configured."""

import re
from collections.abc import Iterator
from typing import Final

from fleetqueue.admin.checkups.credentials import used_secrets
from fleetqueue.admin.checkups.findings import HUB, Finding, RepairStep, by_hand, fleetqueue, found, kubectl
from fleetqueue.admin.checkups.kueue_answers import WEBHOOK
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects
from fleetqueue.admin.checkups.system_parts import ControllerLease, KueuePart, OcmPart, OwnPart, started
from fleetqueue.admin.hub_state import LEASE, SILENT_SECONDS
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.api.kueue_installation import KueueConfigMap, KueueDeployment
from fleetqueue.api.meta import key_of
from fleetqueue.api.running_kueue import NAMES, RunningKueue, differences
from fleetqueue.controllers.placement_admission.messages import RESTART_NEEDED
from fleetqueue.controllers.placement_admission.names import DISPATCHING
from fleetqueue.controllers.processes.capabilities import NEEDED

WORKER_KINDS: Final = (kueue.ClusterQueue, kueue.LocalQueue, kueue.Workload)
TESTED: Final = {"Kubernetes": ("1.34", "1.36"), "Kueue": ("0.16", "0.19"), "Open Cluster Management": ("1.2", "1.2")}
"""The oldest and the newest minor version of each with which the product was tested; see the page on versions."""
VERSIONS_PAGE: Final = "docs/en/reference/versions.md"
COMPONENT: Final = "app.kubernetes.io/component"
CONTROLLER: Final = "controller"
NOT_IN_FORCE: Final = "is not in force yet"
OF_KUEUE: Final = frozenset({kueue.ALL_AT_ONCE, kueue.INCREMENTAL})
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")


def missing_kinds(fleet: FleetSurvey) -> Iterator[Finding]:
    for what, kinds in NEEDED.items():
        if missing := [str(kind.resource) for kind in kinds if kind in fleet.objects.unserved]:
            yield Finding(
                "KindMissing", f"the hub does not serve {', '.join(missing)}", (by_hand(f"install {what}"),), kind="API"
            )
    for worker in fleet.workers:
        if missing := [str(kind.resource) for kind in WORKER_KINDS if kind in worker.objects.unserved]:
            step = by_hand(f"install Kueue 0.15 or newer on {worker.name}")
            wrong = f"{worker.name} does not serve {', '.join(missing)} {kueue.VERSION}"
            yield Finding("KindMissing", wrong, (step,), worker.name, "API")


def kueue_elsewhere(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look whether anything of Kueue's is in the namespace in which it is looked for."""
    seen = fleet.objects.sees(kueue.AdmissionCheck, KueueConfigMap, KueueDeployment, Secret)
    there = fleet.kueue is not None or fleet.all(KueueDeployment) or used_secrets(fleet.objects)
    if not seen or there:
        return
    namespace = fleet.kueue_namespace
    wrong = f"neither Kueue's configuration and Deployment nor a credential for it is in namespace {namespace}"
    step = by_hand("name the namespace of Kueue with --kueue-namespace, or install Kueue")
    yield Finding("KueueElsewhere", wrong, (step,), HUB, "Namespace", "", namespace)


def versions(fleet: FleetSurvey) -> Iterator[Finding]:
    yield from _version("Kubernetes", fleet.version, HUB)
    for worker in fleet.workers:
        yield from _version("Kubernetes", worker.version, worker.name)
    for name, objects in fleet.clusters:
        for what, kind in (("Kueue", KueuePart), ("Open Cluster Management", OcmPart)):
            tags = {part.version for part in objects.all(kind)} - {""}
            yield from (finding for tag in sorted(tags) for finding in _version(what, tag, name))


def is_tested(what: str, version: str) -> bool:
    """Tell whether a version is within what was tested; one that cannot be read is."""
    read = _VERSION.match(version)
    if read is None:
        return True
    oldest, newest = (tuple(map(int, one.split("."))) for one in TESTED[what])
    return oldest <= (int(read[1]), int(read[2])) <= newest


def _version(what: str, version: str, cluster: str) -> Iterator[Finding]:
    if not is_tested(what, version):
        oldest, newest = TESTED[what]
        wrong = f"{cluster} has {what} {version}; tested are {oldest} to {newest}"
        step = by_hand(f"read {VERSIONS_PAGE} for what {what} {version} lacks, and upgrade it on {cluster}")
        yield Finding("VersionUntested", wrong, (step,), cluster, what)


def kueue_down(fleet: FleetSurvey) -> Iterator[Finding]:
    for name, objects in fleet.clusters:
        for manager in objects.all(KueuePart):
            if manager.is_down:
                wrong = f"no pod of it is available, of {manager.spec.replicas} wanted"
                yield found("KueueDown", manager, wrong, started(manager, name), cluster=name)


def kueue_silent(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for a Kueue that does not answer although none of its pods is known to be down."""
    explained = {finding.cluster for finding in kueue_down(fleet)}
    for name, answer in fleet.answers.items():
        if answer.silence and name not in explained:
            step = _start_kueue(name, dict(fleet.clusters)[name])
            yield Finding("KueueSilent", answer.silence, (step,), name, "Webhook", "", WEBHOOK)


def _start_kueue(name: str, objects: SeenObjects) -> RepairStep:
    managers = objects.all(KueuePart)
    if not managers:
        return by_hand(
            f"start Kueue on {name}, or look at its log: no Deployment of it is seen there; in a lab: fleetqueue"
            f" restart {name}/kueue"
        )
    return by_hand(
        f"look at the log of Deployment {managers[0].key} on {name}, at the Service and the certificate of its webhook,"
        f" and whether the API server of {name} reaches them"
    )


def controller_silent(fleet: FleetSurvey) -> Iterator[Finding]:
    """Say it where somebody depends on the controller: a check of ours, or every job since it dispatches."""
    kueue_now = fleet.kueue
    dispatches = kueue_now is not None and kueue_now.may_leave_nominations_to(DISPATCHER_NAME)
    if not dispatches and not _has_checks(fleet):
        return
    leases = fleet.all(ControllerLease)
    silences = [_silence(lease, fleet) for lease in leases]
    if leases and not all(silences):
        return
    wrong = silences[0] if silences else f"there is no Lease {key_of(LEASE.namespace, LEASE.name)}"
    lease = leases[0] if leases else None
    namespace, name = (lease.namespace, lease.name) if lease else (LEASE.namespace, LEASE.name)
    yield Finding("ControllerSilent", wrong, (_start_controller(fleet.objects),), HUB, "Lease", namespace, name)


def _has_checks(fleet: FleetSurvey) -> bool:
    return any(check.spec.controller_name == CHECK_CONTROLLER for check in fleet.all(kueue.AdmissionCheck))


def _silence(lease: ControllerLease, fleet: FleetSurvey) -> str:
    """Say since when nobody keeps a Lease; empty where somebody does."""
    renewed = lease.spec.renew_time
    if not lease.spec.holder_identity:
        return "nobody holds it"
    if renewed is None or (fleet.now - renewed).total_seconds() <= SILENT_SECONDS:
        return ""
    return f"{lease.spec.holder_identity} has not renewed it since {conditions.timestamp(renewed)}"


def _start_controller(objects: SeenObjects) -> RepairStep:
    controllers = [part for part in objects.all(OwnPart) if part.metadata.labels.get(COMPONENT) == CONTROLLER]
    if down := [part for part in controllers if part.is_down]:
        return started(down[0], HUB)
    if controllers:
        return by_hand(
            f"look at the log: kubectl -n {controllers[0].namespace} logs deployment/{controllers[0].name}; does it"
            " reach the hub's API server, and may it write the Lease?"
        )
    return by_hand(
        "install the controller with helm, or start `fleetqueue controller`; in a lab: fleetqueue restart"
        " hub/controller"
    )


def dispatcher(fleet: FleetSurvey) -> Iterator[Finding]:
    kueue_now = fleet.kueue
    if kueue_now is None:
        return
    name = kueue_now.written.dispatcher_name
    if kueue_now.outdated:
        yield _outdated(kueue_now, fleet)
    elif name not in OF_KUEUE and name != DISPATCHER_NAME:
        wrong = f"multiKueue.dispatcherName is {name}: Kueue waits for its nominations"
        yield _of_config("UnknownDispatcher", fleet, wrong, fleetqueue("install", "--dispatcher"))
    elif name != DISPATCHER_NAME and _has_checks(fleet):
        wrong = f"multiKueue.dispatcherName is {name}, while AdmissionChecks name Placements"
        yield _of_config("OtherDispatcher", fleet, wrong, fleetqueue("install", "--dispatcher"))


def _outdated(kueue_now: RunningKueue, fleet: FleetSurvey) -> Finding:
    """Say that Kueue does not run with what is written, and whether that is about who dispatches."""
    running = {configuration.dispatcher_name for configuration in kueue_now.running}
    namespace = fleet.kueue_namespace
    managers = fleet.all(KueuePart)
    restart = (
        kubectl("rollout", "restart", f"deployment/{managers[0].name}", "-n", namespace)
        if managers
        else by_hand("restart Kueue on the hub")
    )
    pods = ", ".join(kueue_now.outdated)
    written = kueue_now.written.dispatcher_name
    if changed := _not_in_force(fleet):
        code = "DispatcherNotInForce" if NAMES["dispatcher_name"] in changed else "KueueRestartNeeded"
        return _of_config(code, fleet, f"{changed} in {pods}; it names the dispatcher {written}", restart)
    if not kueue_now.is_known:
        wrong = f"it was changed after {pods} had started; what runs there is not known"
        return _of_config("KueueRestartNeeded", fleet, wrong, restart)
    if running != {written}:
        others = ", ".join(sorted(running - {written}))
        wrong = f"it names the dispatcher {written}, and {pods} may run with {others}"
        return _of_config("DispatcherNotInForce", fleet, wrong, restart)
    changed = ", ".join(differences(kueue_now.written, kueue_now.running))
    return _of_config("KueueRestartNeeded", fleet, f"{changed} is not in force yet in {pods}", restart)


def _not_in_force(fleet: FleetSurvey) -> str:
    """Return what our controller, which saw the change, says of it on its checks; empty where it says nothing.

    From the ConfigMap alone one cannot tell what Kueue was started with.
    """
    for check in fleet.all(kueue.AdmissionCheck):
        said = conditions.find(check.status.conditions, DISPATCHING)
        if said is not None and said.reason == RESTART_NEEDED and NOT_IN_FORCE in said.message:
            return next(part for part in said.message.split(": ") if NOT_IN_FORCE in part).partition(";")[0]
    return ""


def _of_config(code: str, fleet: FleetSurvey, wrong: str, step: RepairStep) -> Finding:
    namespace, _, name = fleet.config_map.rpartition("/")
    return Finding(code, wrong, (step,), HUB, "ConfigMap", namespace, name)
