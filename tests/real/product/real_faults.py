"""Faults that can be planted on a real fleet by lines of a shell, and what to do where a step is a sentence.

Faults of a group are planted together: none explains another.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.admin import joining
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import CLOCK_SYNCED, Placement
from fleetqueue.api.cluster_v1 import GROUP as OCM
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, credentials_secret
from fleetqueue.api.kueue_configuration import CONFIG_MAP
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.controllers.credentials.secret_content import read, secret_manifest
from fleetqueue.fleets.lab import Lab
from fleetqueue.runtime.cluster import OURS

from .shells import Shell, applied

KUEUE = "kueue-system"
QUEUE, CHECK, CONFIG = "cluster-queue-demo2", "placement-demo2", "placement-demo2"


@dataclass(frozen=True)
class Patient:
    """A fleet, and who types at it."""

    shell: Shell
    lab: Lab


Act = Callable[[Patient], Awaitable[None]]


@dataclass(frozen=True)
class FaultGroup:
    name: str
    found: Mapping[str, str]
    """What is to be found: by code, where."""
    plant: tuple[str | Act, ...]
    by_hand: Mapping[str, tuple[str | Act, ...]] = field(default_factory=dict)
    """By code, what the sentences among the steps say."""
    afterwards: tuple[str | Act, ...] = ()
    """What the steps leave behind."""


async def do(patient: Patient, *acts: str | Act) -> None:
    for act in acts:
        if isinstance(act, str):
            await patient.shell.run(act)
        else:
            await act(patient)


def local_queue(name: str, cluster_queue: str = QUEUE, namespace: str = "default") -> dict[str, Any]:
    return kueue.LocalQueue.manifest(name, namespace, spec={"clusterQueue": cluster_queue})


def queue(name: str, *checks: str) -> dict[str, Any]:
    flavors = [{"name": "default-flavor-demo2", "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    }
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
    return kueue.ClusterQueue.manifest(name, spec=spec)


def placement_check(name: str) -> dict[str, Any]:
    parameters = {"apiGroup": OCM, "kind": "Placement", "name": name}
    return kueue.AdmissionCheck.manifest(name, spec={"controllerName": CHECK_CONTROLLER, "parameters": parameters})


def placement(name: str, **spec: Any) -> dict[str, Any]:
    return Placement.manifest(name, KUEUE, spec={"clusterSets": ["spoke"], **spec})


def member(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make a MultiKueueCluster whose secret has its name, and a config of it alone."""
    source = {"kubeConfig": {"locationType": "Secret", "location": name}}
    return (
        kueue.MultiKueueCluster.manifest(name, spec={"clusterSource": source}),
        kueue.MultiKueueConfig.manifest(name, spec={"clusters": [name]}),
    )


def credential(name: str, cluster: str, token: str) -> str:
    """Write the line that makes a secret with a token for a cluster; `token` is a word of the shell."""
    return (
        f"set -o pipefail; file=$(mktemp) && kubectl --context {cluster} config view --minify --flatten > $file"
        f" && kubectl --kubeconfig $file config set-credentials by-hand --token={token}"
        " && kubectl --kubeconfig $file config set-context --current --user=by-hand"
        f" && kubectl --kubeconfig $file config delete-user {cluster}-admin"
        f" && kubectl create secret generic {name} -n {KUEUE} --from-file=kubeconfig=$file"
        " --dry-run=client -o yaml | kubectl apply -f -; rm $file"
    )


def admin_credential(name: str, cluster: str) -> str:
    """Write the line that makes a secret with an administrator's kubeconfig of a cluster."""
    return (
        f"kubectl --context {cluster} config view --minify --flatten | kubectl create secret generic {name}"
        f" -n {KUEUE} --from-file=kubeconfig=/dev/stdin --dry-run=client -o yaml | kubectl apply -f -"
    )


NOBODY = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"nobody": "has-this"}}}}
SELECTION = FaultGroup(
    "selection",
    {
        "SetNotBound": f"hub: Placement {KUEUE}/placement-demo2",
        "PlacementNotFound": "hub: AdmissionCheck lost",
        "ClusterTainted": "cluster2: ManagedCluster cluster2",
    },
    (
        f"kubectl delete managedclustersetbinding spoke -n {KUEUE}",
        applied(placement_check("lost")),
        """kubectl patch managedcluster cluster2 --type=merge"""
        """ -p '{"spec":{"taints":[{"key":"maintenance","effect":"NoSelect"}]}}'""",
    ),
    {"PlacementNotFound": (applied(placement("lost")),)},
)
QUEUES = FaultGroup(
    "queues",
    {
        "NamespaceMissing": "cluster2: Namespace team-b",
        "LocalQueueMissing": "cluster2: LocalQueue default/extra",
        "QueueStopped": f"cluster1: ClusterQueue {QUEUE}",
        "PlacementCheckAlone": "hub: ClusterQueue alone",
        "MultiKueueCheckAlone": "hub: ClusterQueue half",
        "NothingSelected": f"hub: Placement {KUEUE}/picky",
        "CheckMissing": "hub: ClusterQueue unchecked",
        "FlavorMissing": f"cluster2: ClusterQueue {QUEUE}",
        "ClusterQueueMissing": "hub: LocalQueue default/nowhere",
        "MemberMissing": "hub: MultiKueueConfig holes",
    },
    (
        applied(
            Namespace.manifest("team-b"),
            local_queue("batch", namespace="team-b"),
            local_queue("extra"),
            placement("picky", predicates=[NOBODY]),
            placement_check("picky"),
            queue("alone", CHECK),
            queue("half", "multikueue-demo2"),
            queue("unchecked", "never"),
            local_queue("nowhere", "never"),
            kueue.MultiKueueConfig.manifest("holes", spec={"clusters": [f"{CONFIG}-cluster1", "never"]}),
        ),
        f"kubectl --context cluster1 patch clusterqueue {QUEUE} --type=merge"
        """ -p '{"spec":{"stopPolicy":"Hold"}}'""",
        f"kubectl --context cluster2 patch clusterqueue {QUEUE} --type=json"
        """ -p '[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/name","value":"absent"}]'""",
    ),
    {
        "NothingSelected": ("kubectl label managedcluster cluster2 nobody=has-this",),
        "ClusterQueueMissing": (applied(queue("never")),),
    },
)
JOB_SETS = "$(dirname $KUBECONFIG)/jobsets.json"
CREDENTIALS = FaultGroup(
    "credentials",
    {
        "RightMissing": f"cluster1: Secret {KUEUE}/weak",
        "CredentialRefused": f"cluster2: Secret {KUEUE}/spoiled",
        "CredentialMissing": "hub: MultiKueueCluster empty",
        "JobKindMissing": f"cluster2: Secret {KUEUE}/kueue-admin-cluster2-kubeconfig",
    },
    (
        "kubectl --context cluster1 create serviceaccount weak -n default",
        credential("weak", "cluster1", "$(kubectl --context cluster1 create token weak -n default --duration=24h)"),
        credential("spoiled", "cluster2", "x.y.z"),
        applied(*member("weak"), *member("spoiled"), *member("empty")),
        f"kubectl --context cluster2 get crd jobsets.jobset.x-k8s.io -o json > {JOB_SETS}"
        " && kubectl --context cluster2 delete crd jobsets.jobset.x-k8s.io",
    ),
    {
        "CredentialRefused": (admin_credential("spoiled", "cluster2"),),
        "CredentialMissing": (admin_credential("empty", "cluster1"),),
        "JobKindMissing": (f"kubectl --context cluster2 create -f {JOB_SETS}",),
    },
    afterwards=("kubectl delete multikueueconfig weak spoiled empty",),
)


async def cut(patient: Patient) -> None:
    await patient.lab.cut("cluster2")


async def heal(patient: Patient) -> None:
    await patient.lab.heal("cluster2")


def clock_synced(*conditions: dict[str, str]) -> str:
    """Write the line that says what OCM's hub says of the clock of an agent, which this fleet has not."""
    patch = json.dumps({"status": {"conditions": conditions}})
    return f"kubectl patch managedcluster cluster1 --subresource=status --type=merge -p '{patch}'"


OUT_OF_SYNC = {
    "type": CLOCK_SYNCED,
    "status": "False",
    "reason": "ManagedClusterClockOutOfSync",
    "message": "The clock is an hour ahead.",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
CONNECTIONS = FaultGroup(
    "connections",
    {"NotConnected": f"cluster2: MultiKueueCluster {CONFIG}-cluster2", "ClockSkew": "cluster1: Clock"},
    (cut, clock_synced(OUT_OF_SYNC)),
    {"NotConnected": (heal,), "ClockSkew": (clock_synced(),)},
)


def joined(name: str, cluster: str) -> Act:
    async def act(patient: Patient) -> None:
        here = patient.lab.clusters[cluster]
        hub = connect(load(patient.lab.clusters["hub"].kubeconfig))
        try:
            await joining.join(hub, joining.Newcomer(name, load(here.remote_kubeconfig)), lambda line: None)
        finally:
            await hub.close()

    return act


TWINS = FaultGroup(
    "twins",
    {"ClusterJoinedTwice": "twin: ManagedCluster twin", "HubIsWorker": "self: ManagedCluster self"},
    (joined("twin", "cluster1"), joined("self", "hub")),
)


def dispatcher(name: str) -> str:
    """Write the line that changes who dispatches, in Kueue's configuration."""
    return (
        f"kubectl get configmap {CONFIG_MAP} -n {KUEUE} -o yaml"
        f" | sed 's#dispatcherName: .*#dispatcherName: {name}#' | kubectl replace -f -"
    )


OTHER_DISPATCHER = FaultGroup(
    "other dispatcher written",
    {"OtherDispatcher": f"hub: ConfigMap {KUEUE}/{CONFIG_MAP}"},
    (dispatcher(kueue.ALL_AT_ONCE),),
)
UNKNOWN_DISPATCHER = FaultGroup(
    "unknown dispatcher written",
    {"UnknownDispatcher": f"hub: ConfigMap {KUEUE}/{CONFIG_MAP}"},
    (dispatcher("example.com/own"),),
)
"""Kueue runs on with ours, as no Deployment of Kueue tells here: the step takes the change back."""


def paused(*parts: str) -> Act:
    async def act(patient: Patient) -> None:
        for part in parts:
            patient.lab.pause(part)

    return act


def resumed(*parts: str) -> Act:
    async def act(patient: Patient) -> None:
        for part in parts:
            patient.lab.resume(part)

    return act


WEBHOOK = "Webhook mresourceflavor.kb.io"
SILENT_KUEUE, SILENT_KUEUE_OF_WORKER = (
    FaultGroup(
        f"silent Kueue of {cluster}",
        {"KueueSilent": f"{cluster}: {WEBHOOK}"},
        (paused(f"{cluster}/kueue"),),
        {"KueueSilent": (resumed(f"{cluster}/kueue"),)},
    )
    for cluster in ("hub", "cluster1")
)
"""Kueue is a process here: no Deployment tells that it does not answer."""


def aged(cluster: str) -> Act:
    """Make the credential of a cluster one that has ended an hour ago."""

    async def act(patient: Patient) -> None:
        hub = connect(load(patient.lab.clusters["hub"].kubeconfig))
        try:
            live = Secret.view(await hub.get(Secret.resource, credentials_secret(cluster), KUEUE))
            credential = read(live)
            assert credential is not None
            ended = clock.now() - timedelta(hours=1)
            old = replace(credential, issued=ended - timedelta(hours=24), expires=ended)
            manifest = secret_manifest(cluster, KUEUE, old, live)
            manifest["metadata"]["labels"].update(OURS)
            await hub.merge(Secret.resource, live.name, KUEUE, manifest)
        finally:
            await hub.close()

    return act


CONTROLLER, AGENT = "hub/controller", "cluster2/score-agent"
SILENT = FaultGroup(
    "silent",
    {
        "ControllerSilent": "hub: Lease fleetqueue-system/fleetqueue-controller",
        "CredentialExpired": f"cluster1: Secret {KUEUE}/kueue-admin-cluster1-kubeconfig",
        "ScoreExpired": "cluster2: AddOnPlacementScore cluster2/resource-usage-score",
    },
    (paused(CONTROLLER, AGENT), aged("cluster1")),
    {"ControllerSilent": (resumed(CONTROLLER),), "CredentialExpired": (), "ScoreExpired": (resumed(AGENT),)},
)
SILENT_AGENT = FaultGroup(
    "silent agent",
    {"ScoreAgentSilent": "cluster2: AddOnPlacementScore cluster2/resource-usage-score"},
    (paused(AGENT),),
    {"ScoreAgentSilent": (resumed(AGENT),)},
)

GROUPS = (
    SELECTION,
    QUEUES,
    CREDENTIALS,
    CONNECTIONS,
    TWINS,
    OTHER_DISPATCHER,
    UNKNOWN_DISPATCHER,
    SILENT_KUEUE,
    SILENT_KUEUE_OF_WORKER,
    SILENT,
    SILENT_AGENT,
)
LONG = (SILENT_AGENT,)
"""A silence shows after most of a minute; the one before has shown some already."""
