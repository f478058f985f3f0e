"""Whether Kueue can reach the workers: secrets, how long they hold, what they allow, and what Kueue itself says."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby

from fleetqueue.admin.checkups.findings import (
    HUB,
    Finding,
    RepairStep,
    applied,
    by_hand,
    found,
    merged,
    repaired,
)
from fleetqueue.admin.checkups.placements import our_checks, used_placements
from fleetqueue.admin.checkups.queues import clusters_of
from fleetqueue.admin.checkups.survey import CredentialProof, FleetSurvey, SeenObjects, cluster_of
from fleetqueue.admin.lost_connections import Way, joined_again, look_at, made_by_hand, renewed, way_to
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import (
    IDENTITY_NAMESPACE,
    MISSING_KINDS,
    REFUSED,
    credentials_secret,
    placement_of,
)
from fleetqueue.api.meta import key_of
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.credentials.secret_content import Issued, read
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, PolicyRule
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.hub_objects import marks_of
from fleetqueue.controllers.placement_admission.names import DRAINING_CONDITION
from fleetqueue.runtime.cluster import is_ours

LATE = 0.9
"""The part of its life after which a credential that was not renewed is told of; its time was at 0.8."""
NEW = timedelta(minutes=1)
"""How long Kueue, or our controller, may take to look at something for the first time."""
ACCOUNT_PREFIX = "system:serviceaccount:"


def member_secret(member: kueue.MultiKueueCluster) -> str:
    """Return the secret that a MultiKueueCluster names; empty where it is reached in another way."""
    source = member.spec.cluster_source.kube_config
    return source.location if source is not None and source.location_type == "Secret" else ""


def listed_members(objects: SeenObjects) -> list[kueue.MultiKueueCluster]:
    """Return the MultiKueueClusters that some config lists: Kueue sends nothing to others."""
    listed = {name for config in objects.all(kueue.MultiKueueConfig) for name in config.spec.clusters}
    return [member for member in objects.all(kueue.MultiKueueCluster) if member.name in listed]


def used_secrets(objects: SeenObjects) -> list[Secret]:
    """Return the secrets with which Kueue reaches workers, or will: ours, and those that MultiKueueClusters name."""
    named = {member_secret(member) for member in listed_members(objects)}
    return [one for one in objects.all(Secret) if one.name in named or (is_ours(one) and cluster_of(one))]


def missing_credentials(fleet: FleetSurvey) -> Iterator[Finding]:
    there = {secret.name for secret in fleet.all(Secret)}
    for member in listed_members(fleet.objects):
        name = member_secret(member)
        if name and name not in there and not member.is_deleting:
            wrong = f"secret {key_of(fleet.kueue_namespace, name)} does not exist"
            cluster_name = next(iter(clusters_of(member)), "")
            yield found("CredentialMissing", member, wrong, _make(name, cluster_name, fleet.kueue_namespace))
    used = {placement.key for placement in used_placements(fleet)}
    chosen = {
        decision.cluster_name
        for one in fleet.all(cluster.PlacementDecision)
        if one.placement_key in used
        for decision in one.status.decisions
    }
    listed = {name for member in fleet.all(kueue.MultiKueueCluster) for name in clusters_of(member)}
    for name in sorted(chosen - listed):
        managed = fleet.managed.get(name)
        if managed is not None and credentials_secret(name) not in there and is_old(managed, fleet):
            secret, namespace = credentials_secret(name), fleet.kueue_namespace
            wrong = f"a Placement selects it, and secret {key_of(namespace, secret)} does not exist"
            step = _make(secret, name, namespace)
            yield found("CredentialMissing", managed, wrong, step, cluster=name)


def is_old(obj: kueue.MultiKueueCluster | cluster.ManagedCluster, fleet: FleetSurvey) -> bool:
    created = obj.metadata.creation_timestamp
    return created is None or fleet.now - created > NEW


def _make(secret: str, cluster_name: str, namespace: str) -> RepairStep:
    if cluster_name:
        return by_hand(joined_again(cluster_name))
    return by_hand(made_by_hand(Way("the worker", secret, namespace)))


def lifetimes(fleet: FleetSurvey) -> Iterator[Finding]:
    for secret in fleet.all(Secret):
        name = cluster_of(secret)
        credential = read(secret) if name else None
        if credential is None:
            continue
        until = conditions.timestamp(credential.expires)
        if fleet.now >= credential.expires:
            yield found("CredentialExpired", secret, f"it has ended at {until}", *_renew(secret, name), cluster=name)
        elif fleet.now >= _late(credential):
            yield found("CredentialExpiring", secret, f"it ends at {until}", *_renew(secret, name), cluster=name)


def _late(credential: Issued) -> datetime:
    return credential.issued + LATE * (credential.expires - credential.issued)


def _renew(secret: Secret, name: str) -> tuple[RepairStep, ...]:
    """Say how a credential comes to be renewed: our controller does it for those that it made."""
    if not is_ours(secret):
        return (_make(secret.name, "", secret.namespace),)
    return (by_hand(renewed(Way(name))),)


def refusals(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for credentials that their workers do not accept: marked so, or seen just now."""
    for secret in fleet.all(Secret):
        proof = fleet.proofs.get(secret.name)
        name = cluster_of(secret) or (proof.cluster if proof is not None else "") or secret.name
        marked = secret.metadata.annotations.get(REFUSED, "")
        if not marked and not (proof and proof.is_refused):
            continue
        wrong = f"the worker answers Unauthorized{f' since {marked}' if marked else ''}"
        yield found("CredentialRefused", secret, wrong, *_renew(secret, name), cluster=name)


def rights(fleet: FleetSurvey) -> Iterator[Finding]:
    """Tell what each credential may not do, verb by verb, and which kinds its worker lacks."""
    for secret in fleet.all(Secret):
        proof = fleet.proofs.get(secret.name)
        name = cluster_of(secret) or (proof.cluster if proof is not None else "") or secret.name
        if proof is not None and proof.denied:
            wrong = f"{proof.user or 'its user'} may not {'; '.join(_in_words(proof))} on {name}"
            yield found("RightMissing", secret, wrong, _grant(secret, proof, name), cluster=name)
        unserved = list(proof.unserved) if proof is not None else []
        told = secret.metadata.annotations.get(MISSING_KINDS, "")
        if unserved or (proof is None and told):
            wrong = f"{name} does not serve {', '.join(unserved)}" if unserved else told
            yield found("JobKindMissing", secret, wrong, by_hand(_install(unserved, name)), cluster=name)


def by_resource(proof: CredentialProof) -> Iterator[tuple[str, str, list[str]]]:
    """Yield group, resource and the verbs that are denied."""
    ordered = sorted(proof.denied, key=lambda one: (one[1], one[2]))
    for (group, resource), denied in groupby(ordered, key=lambda one: (one[1], one[2])):
        yield group, resource, [verb for verb, _, _ in denied]


def _in_words(proof: CredentialProof) -> Iterator[str]:
    for group, resource, verbs in by_resource(proof):
        yield f"{', '.join(verbs)} {resource}{'.' + group if group else ''}"


def _grant(secret: Secret, proof: CredentialProof, name: str) -> RepairStep:
    """Give the rights to whom the worker takes the credential for; what the controller keeps, it repairs itself."""
    if is_ours(secret):
        return by_hand(
            f"wait five minutes: the controller grants them again; if they stay away, look at the Events of"
            f" ManagedCluster {name} (CredentialsFailed)"
        )
    role = f"fleetqueue-{secret.name}"
    rules = [
        PolicyRule(group, (resource,), tuple(verbs), IDENTITY_NAMESPACE if resource == "namespaces" else "").manifest()
        for group, resource, verbs in by_resource(proof)
    ]
    reference = {"apiGroup": ClusterRole.resource.group, "kind": "ClusterRole", "name": role}
    binding = ClusterRoleBinding.manifest(role, roleRef=reference, subjects=[subject(proof.user)])
    return applied(ClusterRole.manifest(role, rules=rules), binding, cluster=name)


def subject(user: str) -> Manifest:
    """Write a user as the subject of a binding."""
    if user.startswith(ACCOUNT_PREFIX):
        namespace, _, name = user.removeprefix(ACCOUNT_PREFIX).partition(":")
        return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return {"kind": "User", "apiGroup": ClusterRole.resource.group, "name": user}


def _install(kinds: list[str], name: str) -> str:
    plurals = [f"{JOB_KINDS[kind].resource}.{JOB_KINDS[kind].group}" for kind in kinds if kind in JOB_KINDS]
    crds = (
        f"install the CustomResourceDefinition {', '.join(plurals)} on {name}" if plurals else f"install them on {name}"
    )
    return f"{crds}, with its operator, or take the kind off integrations.frameworks of the hub's Kueue and restart it"


def connections(fleet: FleetSurvey) -> Iterator[Finding]:
    """Tell to whom Kueue is not connected, in its own words."""
    missing = {finding.name for finding in missing_credentials(fleet)}
    for member in listed_members(fleet.objects):
        if member.is_connected or member.is_deleting or member.name in missing:
            continue
        if member.refusal or is_old(member, fleet):
            wrong = member.refusal or "Kueue has not looked at it yet"
            name = next(iter(clusters_of(member)), "")
            way = way_to(member, fleet.kueue_namespace)
            others = "a kind that it lacks and a token that it refuses have findings of their own"
            yield found("NotConnected", member, wrong, repaired(way, look_at(way), others), cluster=name or HUB)


def members(fleet: FleetSurvey) -> Iterator[Finding]:
    there = {member.name for member in fleet.all(kueue.MultiKueueCluster)}
    for config in fleet.all(kueue.MultiKueueConfig):
        if missing := [name for name in config.spec.clusters if name not in there]:
            wrong = f"MultiKueueCluster {', '.join(missing)} does not exist"
            rest = [name for name in config.spec.clusters if name in there]
            step = (
                merged(config, {"spec": {"clusters": rest}})
                if rest
                else by_hand(f"create MultiKueueCluster {missing[0]}")
            )
            yield found("MemberMissing", config, wrong, step)


def drains(fleet: FleetSurvey) -> Iterator[Finding]:
    """Look for drains of clusters that cannot be asked."""
    members = {member.name: member for member in fleet.all(kueue.MultiKueueCluster)}
    for config in fleet.all(kueue.MultiKueueConfig):
        for name, since in sorted(marks_of(config).items()):
            member = members.get(name)
            why = _why_not_asked(member, config, fleet) if member is not None else ""
            if member is None or not why:
                continue
            way = way_to(member, fleet.kueue_namespace)
            wrong = f"{name} drains since {conditions.timestamp(since)} and cannot be asked: {why}"
            yield found(
                "DrainStuck", config, wrong, repaired(way, f"{look_at(way)}: when it answers, the drain goes on")
            )


def _why_not_asked(member: kueue.MultiKueueCluster, config: kueue.MultiKueueConfig, fleet: FleetSurvey) -> str:
    """Say why a draining cluster cannot be asked: as our controller says, which asks; before it has, as Kueue does.

    Kueue connects again only some time after the controller has got an answer.
    """
    for check in our_checks(fleet):
        told = conditions.message_of(check.status.conditions, DRAINING_CONDITION)
        held = messages.what_drains(told, member.name) if placement_of(check) == config.name else ""
        if held and held != messages.JUST_DROPPED:
            return held.partition(messages.CANNOT_BE_ASKED)[2]
    return "" if member.is_connected else member.refusal or "Kueue has not reached it yet"
