"""Faults that can be planted on a fleet, what each is found as, and what to do where its step is a sentence."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from fleetqueue import clock
from fleetqueue.admin import cluster_draining, joining
from fleetqueue.admin.checkups.findings import kubectl
from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token, token_request
from fleetqueue.api.cluster_v1 import GROUP as OCM
from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSetBinding, Placement
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import ConfigMap, Secret, ServiceAccount
from fleetqueue.api.core_v1 import secret as secret_manifest_of
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, KUBECONFIG_KEY, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP, with_dispatcher
from fleetqueue.api.kueue_v1beta2 import (
    ALL_AT_ONCE,
    MULTIKUEUE_CONTROLLER,
    AdmissionCheck,
    ClusterQueue,
    LocalQueue,
    MultiKueueCluster,
    MultiKueueConfig,
)
from fleetqueue.client.kubeconfig import parse, render
from fleetqueue.controllers.credentials.secret_content import Issued, secret_manifest
from fleetqueue.controllers.credentials.secret_content import read as read_credential
from fleetqueue.manifests import shipped
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.virtual_time import advance

from .examined_fleet import ExaminedFleet

Act = Callable[[ExaminedFleet], Awaitable[None]]
SPREAD = {"labelSelector": {"matchLabels": {"accelerator": "nvidia-tesla-t4"}}}
KUEUE = "deployment/kueue-controller-manager -n kueue-system"
CONTROLLER = "deployment/fleetqueue-controller -n fleetqueue-system"
SCORE_AGENT = "deployment/fleetqueue-score-agent -n open-cluster-management-agent-addon"
WORK_AGENT = "deployment/klusterlet-work-agent -n open-cluster-management-agent"
"""It would bring the score agent back."""
OCM_AGENT = "deployment/klusterlet-registration-agent -n open-cluster-management-agent"
OCM_LEASE = "managed-cluster-lease"


@dataclass(frozen=True)
class PlantedFault:
    code: str
    where: str
    """The cluster and the object, as a finding names them."""
    plant: Act
    by_hand: Act | None = None
    """Does what the sentences among the steps say."""


@dataclass(frozen=True)
class FaultGroup:
    """Faults that are planted together: none explains another."""

    name: str
    faults: tuple[PlantedFault, ...]
    shows: float = 20.0
    """Seconds until all of them show."""
    mends: float = 30.0
    """Seconds until all that was done has its effect."""
    also: frozenset[str] = frozenset()
    """Codes of what follows from them, and is found as well."""
    left: frozenset[str] = frozenset()
    """Codes of what is left when the steps were done."""


def line(text: str, stdin: str = "") -> Act:
    async def act(fleet: ExaminedFleet) -> None:
        await fleet.run(text, stdin)

    return act


def made(*manifests: dict[str, object], cluster: str = "hub") -> Act:
    async def act(fleet: ExaminedFleet) -> None:
        await fleet.apply(*manifests, cluster=cluster)

    return act


def both(*acts: Act) -> Act:
    async def act(fleet: ExaminedFleet) -> None:
        for one in acts:
            await one(fleet)

    return act


def later(seconds: float) -> Act:
    async def act(fleet: ExaminedFleet) -> None:
        await advance(seconds)

    return act


async def nothing(fleet: ExaminedFleet) -> None:
    """What another fault of the group, or time, does already."""


def tagged(deployment: str, image: str, cluster: str) -> Act:
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]
    return line(f"patch {deployment} --context {cluster} --type=json -p '{json.dumps(change)}'")


def our_check(name: str, placement: str = "") -> dict[str, object]:
    parameters = {"parameters": {"apiGroup": OCM, "kind": "Placement", "name": placement}} if placement else {}
    return AdmissionCheck.manifest(name, spec={"controllerName": CHECK_CONTROLLER, **parameters})


def multikueue_check(name: str, config: str) -> dict[str, object]:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": config}
    return AdmissionCheck.manifest(name, spec={"controllerName": MULTIKUEUE_CONTROLLER, "parameters": parameters})


def queue(name: str, *checks: str, flavor: str = "default-flavor-demo2") -> dict[str, object]:
    quota = [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in checks]}} if checks else {}
    groups = [{"coveredResources": ["cpu"], "flavors": quota}]
    return ClusterQueue.manifest(name, spec={"namespaceSelector": {}, "resourceGroups": groups, **strategy})


def placement(name: str, namespace: str = KUEUE_NAMESPACE, **spec: object) -> dict[str, object]:
    return Placement.manifest(name, namespace, spec={"clusterSets": ["spoke"], **spec})


def local_queue(name: str, cluster_queue: str, namespace: str = "default") -> dict[str, object]:
    return LocalQueue.manifest(name, namespace, spec={"clusterQueue": cluster_queue})


def member(name: str, secret: str) -> dict[str, object]:
    source = {"kubeConfig": {"locationType": "Secret", "location": secret}}
    return MultiKueueCluster.manifest(name, spec={"clusterSource": source})


def config(name: str, *members: str) -> dict[str, object]:
    return MultiKueueConfig.manifest(name, spec={"clusters": list(members)})


def custom_kind(group: str, kind: str, plural: str) -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


CHECKS = FaultGroup(
    "checks",
    (
        PlantedFault(
            "CheckWithoutPlacement", "hub: AdmissionCheck nameless", made(our_check("nameless")), by_hand=None
        ),
        PlantedFault(
            "PlacementNotFound",
            "hub: AdmissionCheck lost",
            made(our_check("lost", "nowhere")),
            by_hand=made(placement("nowhere")),
        ),
        PlantedFault(
            "PlacementInOtherNamespace",
            "hub: AdmissionCheck elsewhere",
            made(placement("elsewhere", "default"), our_check("elsewhere", "elsewhere")),
        ),
        PlantedFault("PlacementCheckAlone", "hub: ClusterQueue alone", made(queue("alone", "placement-demo2"))),
        PlantedFault("MultiKueueCheckAlone", "hub: ClusterQueue half", made(queue("half", "multikueue-demo2"))),
        PlantedFault("CheckMissing", "hub: ClusterQueue unchecked", made(queue("unchecked", "never"))),
        PlantedFault(
            "CheckInactive",
            "hub: AdmissionCheck configless",
            made(multikueue_check("configless", "no-config"), queue("waiting", "configless")),
            by_hand=made(config("no-config", "multikueue-demo1-cluster1")),
        ),
        PlantedFault(
            "MemberMissing",
            "hub: MultiKueueConfig holes",
            made(config("holes", "multikueue-demo1-cluster1", "never")),
        ),
        PlantedFault(
            "AlertsWithoutMetrics",
            "hub: PrometheusRule fleetqueue-system/fleetqueue-controller",
            both(
                made(
                    custom_kind("monitoring.coreos.com", "PrometheusRule", "prometheusrules"),
                    custom_kind("monitoring.coreos.com", "ServiceMonitor", "servicemonitors"),
                ),
                later(1),
                made(*shipped("kustomize/monitoring/prometheus_rule.yaml")),
            ),
        ),
    ),
)


def nobody(name: str) -> Act:
    selector = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"nobody": "has-this"}}}}
    return made(placement(name, clusterSets=["global"], predicates=[selector]), our_check(name, name))


def binding(name: str) -> dict[str, object]:
    return ManagedClusterSetBinding.manifest(name, KUEUE_NAMESPACE, spec={"clusterSet": name})


async def taint(fleet: ExaminedFleet) -> None:
    taints = [{"key": "maintenance", "value": "now", "effect": "NoSelect"}]
    await fleet.run(f"patch managedcluster cluster3 --type=merge -p '{json.dumps({'spec': {'taints': taints}})}'")


async def drain(fleet: ExaminedFleet) -> None:
    await cluster_draining.drain(fleet.hub, "cluster3")


SELECTION = FaultGroup(
    "selection",
    (
        PlantedFault(
            "SetNotBound",
            "hub: Placement kueue-system/placement-demo2",
            line("delete managedclustersetbinding spoke -n kueue-system"),
        ),
        PlantedFault(
            "SetMissing",
            "hub: Placement kueue-system/ghostly",
            made(placement("ghostly", clusterSets=["ghost"]), our_check("ghostly", "ghostly")),
            by_hand=line(f"label managedcluster cluster3 {OCM}/clusterset=ghost --overwrite"),
        ),
        PlantedFault(
            "NothingSelected",
            "hub: Placement kueue-system/picky",
            both(made(binding("global")), nobody("picky")),
            by_hand=line("label managedcluster cluster2 nobody=has-this"),
        ),
        PlantedFault(
            "ClusterNotAccepted",
            "guest: ManagedCluster guest",
            made(ManagedCluster.manifest("guest", spec={"hubAcceptsClient": False})),
        ),
        PlantedFault("ClusterTainted", "cluster3: ManagedCluster cluster3", taint),
    ),
    left=frozenset({"ScoreAgentSilent"}),
)
"""A cluster that was accepted and has no agent has no scores either."""

DRAINED = FaultGroup("drained", (PlantedFault("ClusterTainted", "cluster3: ManagedCluster cluster3", drain),))

QUEUES = FaultGroup(
    "queues",
    (
        PlantedFault(
            "NamespaceMissing",
            "cluster2: Namespace team-b",
            both(line("create namespace team-b"), made(local_queue("batch", "cluster-queue-demo2", "team-b"))),
        ),
        PlantedFault(
            "LocalQueueMissing",
            "cluster3: LocalQueue default/extra",
            made(local_queue("extra", "cluster-queue-demo2")),
        ),
        PlantedFault(
            "QueueStopped",
            "cluster2: ClusterQueue cluster-queue-demo2",
            line(
                "patch clusterqueue cluster-queue-demo2 --context cluster2 --type=merge"
                """ -p '{"spec":{"stopPolicy":"Hold"}}'"""
            ),
        ),
        PlantedFault(
            "FlavorMissing",
            "hub: ClusterQueue flavorless",
            made(queue("flavorless", "multikueue-demo1", flavor="ghost"), local_queue("flavorless", "flavorless")),
        ),
        PlantedFault(
            "ClusterQueueMissing",
            "hub: LocalQueue default/orphan",
            made(local_queue("orphan", "never")),
            by_hand=made(queue("never")),
        ),
        PlantedFault(
            "QueueInactive",
            "cluster1: ClusterQueue cluster-queue-demo1",
            line(
                "patch clusterqueue cluster-queue-demo1 --context cluster1 --type=merge"
                """ -p '{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"ghost"}]}}}'"""
            ),
            by_hand=line(
                "patch clusterqueue cluster-queue-demo1 --context cluster1 --type=merge"
                """ -p '{"spec":{"admissionChecksStrategy":null}}'"""
            ),
        ),
        PlantedFault(
            "VersionUntested",
            "cluster1: Kueue",
            tagged(KUEUE, "registry.k8s.io/kueue/kueue:v0.14.3", "cluster1"),
            by_hand=tagged(KUEUE, "registry.k8s.io/kueue/kueue:v0.19.2", "cluster1"),
        ),
    ),
    left=frozenset({"ClusterQueueMissing"}),
)
"""The copies of LocalQueue flavorless on workers have no ClusterQueue there."""


def scaled(what: str, replicas: int, cluster: str = "hub") -> Act:
    return line(f"scale {what} --replicas={replicas} --context {cluster}")


def aged(cluster: str, hours: float) -> Act:
    """Make the credential of a cluster one of yesterday, of which so many hours are left."""

    async def act(fleet: ExaminedFleet) -> None:
        live = Secret.view(await fleet.hub.get(Secret.resource, credentials_secret(cluster), KUEUE_NAMESPACE))
        credential = read_credential(live)
        assert credential is not None
        expires = clock.now() + timedelta(hours=hours)
        old = Issued(
            credential.kubeconfig, expires - timedelta(hours=24), expires, credential.source, credential.cluster_uid
        )
        manifest = secret_manifest(cluster, KUEUE_NAMESPACE, old, live)
        manifest["metadata"]["labels"].update(OURS)
        await fleet.hub.merge(Secret.resource, live.name, KUEUE_NAMESPACE, manifest)

    return act


DOWN = FaultGroup(
    "down",
    (
        PlantedFault("ControllerSilent", "hub: Lease fleetqueue-system/fleetqueue-controller", scaled(CONTROLLER, 0)),
        PlantedFault(
            "ScoreExpired",
            "cluster2: AddOnPlacementScore cluster2/resource-usage-score",
            scaled(SCORE_AGENT, 0, "cluster2"),
        ),
        PlantedFault(
            "KueueDown",
            "cluster3: Deployment kueue-system/kueue-controller-manager",
            scaled(KUEUE, 0, "cluster3"),
        ),
        PlantedFault(
            "CredentialExpiring",
            "cluster1: Secret kueue-system/kueue-admin-cluster1-kubeconfig",
            both(later(5), aged("cluster1", 1.0)),
            by_hand=nothing,
        ),
        PlantedFault(
            "CredentialExpired",
            "cluster3: Secret kueue-system/kueue-admin-cluster3-kubeconfig",
            aged("cluster3", -1.0),
            by_hand=nothing,
        ),
    ),
)

KUEUE_LABEL = "app.kubernetes.io/name"


def hidden(cluster: str) -> Act:
    """Stop Kueue of a cluster where, as on a machine of its own, no Deployment of it is seen."""
    return both(line(f"label {KUEUE} --context {cluster} {KUEUE_LABEL}-"), scaled(KUEUE, 0, cluster))


def shown(cluster: str) -> Act:
    return both(scaled(KUEUE, 1, cluster), line(f"label {KUEUE} --context {cluster} {KUEUE_LABEL}=kueue --overwrite"))


SILENT_KUEUE = FaultGroup(
    "silent Kueue",
    (
        PlantedFault("KueueSilent", "hub: Webhook mresourceflavor.kb.io", hidden("hub"), by_hand=shown("hub")),
        PlantedFault(
            "KueueSilent", "cluster2: Webhook mresourceflavor.kb.io", hidden("cluster2"), by_hand=shown("cluster2")
        ),
    ),
)

SILENT = FaultGroup(
    "silent",
    (
        PlantedFault(
            "ScoreAgentSilent",
            "cluster2: AddOnPlacementScore cluster2/resource-usage-score",
            both(scaled(WORK_AGENT, 0, "cluster2"), scaled(SCORE_AGENT, 0, "cluster2")),
        ),
        PlantedFault("FenceSilent", "cluster2: Lease cluster2/fleetqueue-fence", nothing),
        PlantedFault("ClusterUnavailable", "cluster3: ManagedCluster cluster3", scaled(OCM_AGENT, 0, "cluster3")),
    ),
    shows=660.0,
    mends=70.0,
)


def configured(change: Callable[[str], str], *, restart: bool) -> Act:
    """Change the configuration of the hub's Kueue, and let it read that or not."""

    async def act(fleet: ExaminedFleet) -> None:
        live = await fleet.hub.get(ConfigMap.resource, CONFIG_MAP, KUEUE_NAMESPACE)
        data = {CONFIG_KEY: change(live["data"][CONFIG_KEY])}
        await fleet.hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE_NAMESPACE, {"data": data})
        if restart:
            await fleet.do(kubectl("rollout", "restart", *KUEUE.split()))
        await advance(5)

    return act


def with_timeout(text: str, timeout: str) -> str:
    lines = [one for one in text.splitlines() if "workerLostTimeout" not in one]
    lines.insert(lines.index("multiKueue:") + 1, f"  workerLostTimeout: {timeout}")
    return "\n".join([*lines, ""])


RESTART = FaultGroup(
    "restart",
    (
        PlantedFault(
            "KueueRestartNeeded",
            "hub: ConfigMap kueue-system/kueue-manager-config",
            configured(lambda text: with_timeout(text, "5m"), restart=False),
        ),
        PlantedFault(
            "FenceTooLong",
            "cluster1: Lease cluster1/fleetqueue-fence",
            nothing,
            by_hand=configured(lambda text: with_timeout(text, "15m"), restart=True),
        ),
    ),
)
NOT_IN_FORCE = FaultGroup(
    "dispatcher not in force",
    (
        PlantedFault(
            "DispatcherNotInForce",
            "hub: ConfigMap kueue-system/kueue-manager-config",
            configured(lambda text: with_dispatcher(text, ALL_AT_ONCE), restart=False),
        ),
    ),
    left=frozenset({"OtherDispatcher"}),
)
OTHER = FaultGroup(
    "other dispatcher",
    (
        PlantedFault(
            "OtherDispatcher",
            "hub: ConfigMap kueue-system/kueue-manager-config",
            configured(lambda text: with_dispatcher(text, ALL_AT_ONCE), restart=True),
        ),
    ),
)
UNKNOWN = FaultGroup(
    "unknown dispatcher",
    (
        PlantedFault(
            "UnknownDispatcher",
            "hub: ConfigMap kueue-system/kueue-manager-config",
            configured(lambda text: with_dispatcher(text, "example.com/own"), restart=True),
        ),
    ),
)


def kubeconfig_secret(name: str, kubeconfig: str) -> dict[str, object]:
    return secret_manifest_of(name, KUEUE_NAMESPACE, {KUBECONFIG_KEY: kubeconfig})


def with_token(fleet: ExaminedFleet, cluster: str, token: str) -> str:
    there = fleet.fleet.clusters[cluster]
    return render(cluster, server=there.url, ca=there.ca, token=token, user="by-hand")


async def weak(fleet: ExaminedFleet) -> None:
    """Let Kueue reach cluster1 as somebody who may do nothing there."""
    await fleet.apply(ServiceAccount.manifest("weak", "default"), cluster="cluster1")
    request = token_request("weak", "default", 86400)
    token = issued_token(await fleet.clients["cluster1"].create(ServiceAccount.resource, request, SUBRESOURCE)).token
    await fleet.apply(kubeconfig_secret("weak", with_token(fleet, "cluster1", token)), member("weak", "weak"))
    await fleet.apply(config("weak", "weak"))


async def spoiled(fleet: ExaminedFleet) -> None:
    await fleet.apply(
        kubeconfig_secret("spoiled", with_token(fleet, "cluster2", "x.y.z")), member("spoiled", "spoiled")
    )
    await fleet.apply(config("spoiled", "spoiled"))


def opened(secret: str, cluster: str) -> Act:
    """Give a secret a kubeconfig that opens its cluster."""

    async def act(fleet: ExaminedFleet) -> None:
        await fleet.apply(kubeconfig_secret(secret, fleet.fleet.clusters[cluster].kubeconfig))

    return act


MPI_JOBS = next(crd for crd in crds("mpi-operator") if crd["metadata"]["name"] == "mpijobs.kubeflow.org")

CREDENTIALS = FaultGroup(
    "credentials",
    (
        PlantedFault("RightMissing", "cluster1: Secret kueue-system/weak", weak),
        PlantedFault(
            "CredentialRefused", "cluster2: Secret kueue-system/spoiled", spoiled, by_hand=opened("spoiled", "cluster2")
        ),
        PlantedFault(
            "CredentialMissing",
            "hub: MultiKueueCluster empty",
            made(member("empty", "nothing"), config("empty", "empty")),
            by_hand=opened("nothing", "cluster1"),
        ),
        PlantedFault(
            "JobKindMissing",
            "cluster3: Secret kueue-system/kueue-admin-cluster3-kubeconfig",
            line("delete crd mpijobs.kubeflow.org --context cluster3"),
            by_hand=made(MPI_JOBS, cluster="cluster3"),
        ),
    ),
    also=frozenset({"NotConnected"}),
    mends=400.0,
)


async def cut(fleet: ExaminedFleet) -> None:
    """Cut cluster3 off, and drop it from its Placement."""
    fleet.fleet.cut("cluster3")
    await fleet.run("label managedcluster cluster3 accelerator-")


async def heal(fleet: ExaminedFleet) -> None:
    fleet.fleet.heal("cluster3")


LOST = FaultGroup(
    "lost",
    (
        PlantedFault("DrainStuck", "hub: MultiKueueConfig placement-demo2", cut, by_hand=heal),
        PlantedFault("NotConnected", "cluster3: MultiKueueCluster placement-demo2-cluster3", nothing, by_hand=heal),
    ),
    shows=60.0,
)


def joined(name: str, cluster: str) -> Act:
    async def act(fleet: ExaminedFleet) -> None:
        newcomer = joining.Newcomer(name, parse(fleet.fleet.clusters[cluster].kubeconfig))
        await joining.join(fleet.hub, newcomer, lambda line: None)

    return act


async def taken_name(fleet: ExaminedFleet) -> None:
    """Give the name that cluster1 is to have in a config to a MultiKueueCluster of somebody else's."""
    await fleet.apply(member("placement-demo2-cluster1", credentials_secret("cluster1")))
    await fleet.run("label managedcluster cluster1 accelerator=nvidia-tesla-t4")


LEFT_OUT = FaultGroup(
    "left out",
    (
        PlantedFault(
            "ClusterLeftOut",
            "cluster1: ManagedCluster cluster1",
            taken_name,
            by_hand=line("delete multikueuecluster placement-demo2-cluster1"),
        ),
    ),
)

TWINS = FaultGroup(
    "twins",
    (
        PlantedFault("ClusterJoinedTwice", "twin: ManagedCluster twin", joined("twin", "cluster1")),
        PlantedFault("HubIsWorker", "self: ManagedCluster self", joined("self", "hub")),
    ),
    shows=60.0,
    also=frozenset({"ScoreAgentSilent"}),
)
"""Nobody measures a cluster that has no agent of that name."""


async def renewed_ahead(fleet: ExaminedFleet) -> None:
    """Renew the Lease of cluster2 as an agent does whose clock is an hour ahead."""
    ahead = {"spec": {"renewTime": micro_timestamp(clock.now() + timedelta(hours=1))}}
    await fleet.hub.merge(Lease.resource, OCM_LEASE, "cluster2", ahead)


CLOCKS = FaultGroup(
    "clocks",
    (
        PlantedFault(
            "ClockSkew",
            "cluster2: Clock",
            both(scaled(OCM_AGENT, 0, "cluster2"), later(1), renewed_ahead),
            by_hand=scaled(OCM_AGENT, 1, "cluster2"),
        ),
    ),
)

LOCAL_QUEUES = next(crd for crd in crds("kueue") if crd["metadata"]["name"] == "localqueues.kueue.x-k8s.io")
UNSERVED = FaultGroup(
    "unserved",
    (
        PlantedFault(
            "KindMissing",
            "cluster3: API",
            line("delete crd localqueues.kueue.x-k8s.io --context cluster3"),
            by_hand=both(
                made(LOCAL_QUEUES, cluster="cluster3"),
                later(5),
                made(
                    *(local_queue(f"user-queue-{demo}", f"cluster-queue-{demo}") for demo in ("demo1", "demo2")),
                    cluster="cluster3",
                ),
            ),
        ),
    ),
)

GROUPS = (
    CHECKS,
    SELECTION,
    DRAINED,
    QUEUES,
    DOWN,
    SILENT_KUEUE,
    SILENT,
    RESTART,
    NOT_IN_FORCE,
    OTHER,
    UNKNOWN,
    CREDENTIALS,
    LOST,
    LEFT_OUT,
    TWINS,
    CLOCKS,
    UNSERVED,
)
