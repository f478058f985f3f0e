"""Why an AdmissionCheck lets nothing start: pure functions over what was seen of the hub."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.hub_state import HubState, is_placement_check
from fleetqueue.admin.lost_connections import SEE_CONTROLLER, repair_of
from fleetqueue.admin.placement_verdicts import why_none
from fleetqueue.admin.step_commands import patched
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.controllers.placement_admission import messages

MEND_LEFT_OUT: Final = (
    "mend what it says, and the cluster is used at the next look; of its identity and its credential `fleetqueue"
    " doctor` says more"
)


def first_inactive(names: Iterable[str], hub: HubState) -> Cause | None:
    """Say which of these checks lets nothing start, the first to mend; None where all do, or nobody can tell.

    One that names a Placement goes first: MultiKueue's has no config before that is Active.
    """
    if hub.checks is None:
        return None
    in_order = sorted(names, key=lambda name: (not is_placement_check((hub.checks or {}).get(name)), name))
    return next((cause for name in in_order if (cause := inactive(name, hub)) is not None), None)


def inactive(name: str, hub: HubState) -> Cause | None:
    """Say why a check is not Active; None where it is."""
    check = (hub.checks or {}).get(name)
    if check is None:
        return Cause(
            "CheckMissing",
            f"AdmissionCheck {name} does not exist",
            "create it, or take it off the admissionChecksStrategy of the ClusterQueue",
        )
    if check.is_active:
        return None
    if is_placement_check(check):
        return _placement_check(check, hub)
    if check.is_multikueue and (cause := _multikueue_check(check, hub)) is not None:
        return cause
    return _as_it_says(check)


def unanswered(names: Iterable[str], hub: HubState) -> Cause | None:
    """Say that nobody answers for the checks that are ours; None where somebody does, or none of them is ours."""
    ours = [name for name in names if is_placement_check((hub.checks or {}).get(name))]
    if not ours or not hub.silence:
        return None
    sentence = f"nobody answers for AdmissionCheck {ours[0]}: {hub.silence}"
    return Cause("ControllerSilent", sentence, SEE_CONTROLLER)


def _placement_check(check: kueue.AdmissionCheck, hub: HubState) -> Cause:
    placement = placement_of(check)
    if not placement:
        sentence = f"AdmissionCheck {check.name}: {messages.bad_parameters()[1]}"
        return Cause("CheckParametersInvalid", sentence, _naming_a_placement(check, hub))
    why = why_none(placement, hub.kueue_namespace, hub.fleet, hub.now)
    if why is not None:
        return why.with_details(f"so AdmissionCheck {check.name} is not Active")
    return unanswered([check.name], hub) or _left_out(check) or _as_it_says(check)


def _naming_a_placement(check: kueue.AdmissionCheck, hub: HubState) -> str:
    """Say how a check names a Placement: that of its own name, or the only one that there is."""
    names = sorted(one.name for one in hub.fleet.placements or () if one.namespace == hub.kueue_namespace)
    fields = {"apiGroup": cluster.GROUP, "kind": cluster.Placement.resource.kind}
    if check.name not in names and len(names) != 1:
        return f"set spec.parameters: {messages.PLACEMENT_PARAMETERS}"
    parameters = {**fields, "name": check.name if check.name in names else names[0]}
    return patched(f"admissioncheck {check.name}", {"spec": {"parameters": parameters}})


def _left_out(check: kueue.AdmissionCheck) -> Cause | None:
    """Say that all clusters which the Placement chose are left out."""
    active = conditions.find(check.status.conditions, kueue.ACTIVE)
    if active is None or messages.LEFT_OUT not in active.message:
        return None
    return Cause("ClustersLeftOut", f"AdmissionCheck {check.name} is not Active: {active.message}", MEND_LEFT_OUT)


def _multikueue_check(check: kueue.AdmissionCheck, hub: HubState) -> Cause | None:
    if hub.configs is None:
        return None
    config = hub.configs.get(check.config_name)
    if config is None:
        return Cause(
            "ConfigMissing",
            f"AdmissionCheck {check.name} names MultiKueueConfig {check.config_name}, which does not exist",
            "create an AdmissionCheck that names the Placement of this name, and fleetqueue makes the config;"
            " or write it by hand",
        )
    lost = {member: hub.trouble(member) for member in config.spec.clusters}
    if not lost or not all(lost.values()):
        return None
    member, trouble = next(iter(lost.items()))
    repair = repair_of(member, hub)
    sentence = f"Kueue reaches no cluster of MultiKueueConfig {config.name}: {member}: {trouble}"
    return Cause(repair.code, sentence, repair.step())


def _as_it_says(check: kueue.AdmissionCheck) -> Cause:
    active = conditions.find(check.status.conditions, kueue.ACTIVE)
    if active is None:
        return Cause(
            "CheckNotLookedAt",
            f"AdmissionCheck {check.name} {messages.NOT_LOOKED_AT} by {check.spec.controller_name}",
            f"see whether the controller {check.spec.controller_name} runs",
        )
    sentence = f"AdmissionCheck {check.name} is not Active: {active.sentence}"
    step = "mend what it says, or take the check off the admissionChecksStrategy of the ClusterQueue"
    return Cause("CheckInactive", sentence, step)
