"""Open Cluster Management as it is installed: its controllers on the hub, its two agents on each worker."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import Namespace, ServiceAccount, secret
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.systems.parts import EVENTS, FOLLOW, SystemPart, bound, rule

VERSION: Final = "v1.2.1"
HUB_NAMESPACE: Final = "open-cluster-management-hub"
AGENT_NAMESPACE: Final = "open-cluster-management-agent"
ADD_ON_NAMESPACE: Final = "open-cluster-management-agent-addon"
BOOTSTRAP_NAMESPACE: Final = "open-cluster-management"
BOOTSTRAP_ACCOUNT: Final = "agent-registration-bootstrap"
_ADD_ONS: Final = "addon.open-cluster-management.io"
_CLUSTER: Final = "cluster.open-cluster-management.io"
_REGISTER: Final = "register.open-cluster-management.io"
_WORK: Final = "work.open-cluster-management.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_CSRS: Final = "certificatesigningrequests"
_ROOT_CA: Final = {"/etc/root-ca": {"configMap": {"name": "kube-root-ca.crt"}}}


def _image(name: str) -> str:
    return f"quay.io/open-cluster-management/{name}:{VERSION}"


_GIVEN_TO_AGENTS: Final = (
    rule("certificates.k8s.io", _CSRS, "create get"),
    rule(_REGISTER, "managedclusters/clientcertificates", "renew"),
    rule(_CLUSTER, "managedclusters", "get update"),
    rule(_CLUSTER, "managedclusters/status", "update"),
    rule("coordination.k8s.io", "leases", "get update"),
    rule(_ADD_ONS, "managedclusteraddons", "get"),
    rule(_ADD_ONS, "managedclusteraddons/status", "update"),
    rule(_WORK, "manifestworks", "get update patch"),
    rule(_WORK, "manifestworks/status", "patch update"),
    rule("", "events", "create patch update"),
    rule("events.k8s.io", "events", "update"),
)
"""What registration does not do itself; but Kubernetes lets nobody give rights away that he does not have."""

REGISTRATION: Final = SystemPart(
    "cluster-manager-registration-controller",
    HUB_NAMESPACE,
    image=_image("registration"),
    args=("controller",),
    account="registration-controller-sa",
    rules=(
        rule("certificates.k8s.io", _CSRS, FOLLOW),
        rule("certificates.k8s.io", f"{_CSRS}/approval", "update"),
        rule("certificates.k8s.io", "signers", "approve", names="kubernetes.io/kube-apiserver-client"),
        rule("", "namespaces", f"get {FOLLOW} create patch"),
        rule(_RBAC, "clusterroles clusterrolebindings rolebindings", f"get {FOLLOW} create patch delete"),
        rule("coordination.k8s.io", "leases", f"{FOLLOW} create"),
        rule("authorization.k8s.io", "subjectaccessreviews", "create"),
        rule(_CLUSTER, "managedclusters", f"{FOLLOW} patch"),
        rule(_CLUSTER, "managedclusters/status managedclustersets/status managedclustersetbindings/status", "patch"),
        rule(_CLUSTER, "managedclustersets", f"{FOLLOW} create patch"),
        rule(_CLUSTER, "managedclustersetbindings", FOLLOW),
        rule(_WORK, "manifestworks", f"{FOLLOW} delete"),
        rule(_ADD_ONS, "managedclusteraddons", f"{FOLLOW} delete"),
        rule(_ADD_ONS, "managedclusteraddons/status", "patch"),
        rule("multicluster.x-k8s.io", "clusterprofiles", f"{FOLLOW} create patch delete"),
        rule("multicluster.x-k8s.io", "clusterprofiles/status", "patch"),
        EVENTS,
        *_GIVEN_TO_AGENTS,
    ),
)

PLACEMENT: Final = SystemPart(
    "cluster-manager-placement-controller",
    HUB_NAMESPACE,
    image=_image("placement"),
    args=(),
    account="placement-controller-sa",
    rules=(
        rule(_CLUSTER, "managedclusters managedclustersets managedclustersetbindings addonplacementscores", FOLLOW),
        rule(_CLUSTER, "placements", FOLLOW),
        rule(_CLUSTER, "placementdecisions", f"{FOLLOW} create patch delete"),
        rule(_CLUSTER, "placements/status placementdecisions/status", "patch"),
        rule("events.k8s.io", "events", "create"),
    ),
)

WORK: Final = SystemPart(
    "cluster-manager-work-controller",
    HUB_NAMESPACE,
    image=_image("work"),
    args=("manager",),
    account="work-controller-sa",
    rules=(
        rule(_WORK, "manifestworks", f"{FOLLOW} create patch delete"),
        rule(_WORK, "manifestworkreplicasets", f"{FOLLOW} patch"),
        rule(_WORK, "manifestworkreplicasets/status", "patch"),
        rule(_CLUSTER, "placements placementdecisions", FOLLOW),
    ),
)

ADD_ON_MANAGER: Final = SystemPart(
    "cluster-manager-addon-manager-controller",
    HUB_NAMESPACE,
    image=_image("addon-manager"),
    args=("manager",),
    account="addon-manager-controller-sa",
    rules=(
        rule(_CLUSTER, "managedclusters placements placementdecisions", FOLLOW),
        rule(_ADD_ONS, "clustermanagementaddons", f"{FOLLOW} patch"),
        rule(_ADD_ONS, "addontemplates addondeploymentconfigs", FOLLOW),
        rule(_ADD_ONS, "managedclusteraddons", f"{FOLLOW} create patch delete"),
        rule(_ADD_ONS, "managedclusteraddons/status clustermanagementaddons/status", "patch"),
        rule(_WORK, "manifestworks", f"{FOLLOW} create patch delete"),
        rule("certificates.k8s.io", _CSRS, FOLLOW),
        rule("certificates.k8s.io", f"{_CSRS}/approval", "update"),
        rule("certificates.k8s.io", "signers", "approve"),
        rule(_RBAC, "rolebindings", "get create patch"),
    ),
)

HUB_PARTS: Final = (REGISTRATION, PLACEMENT, WORK, ADD_ON_MANAGER)


def bootstrap_rights() -> Iterable[Manifest]:
    """Let the account with which agents begin introduce its cluster, and ask for a certificate."""
    yield Namespace.manifest(BOOTSTRAP_NAMESPACE)
    yield ServiceAccount.manifest(BOOTSTRAP_ACCOUNT, BOOTSTRAP_NAMESPACE)
    yield from bound(
        "system:open-cluster-management:bootstrap",
        [
            rule("certificates.k8s.io", _CSRS, "get list watch create"),
            rule(_CLUSTER, "managedclusters", "get create update"),
            rule(_CLUSTER, "managedclustersets/join", "create"),
        ],
        BOOTSTRAP_ACCOUNT,
        BOOTSTRAP_NAMESPACE,
    )


def klusterlet(cluster: str, url: str, bootstrap_kubeconfig: str) -> Iterable[Manifest]:
    """Build what `clusteradm join` leaves on a worker: the agents, and the kubeconfig with which they begin."""
    yield Namespace.manifest(AGENT_NAMESPACE)
    yield Namespace.manifest(ADD_ON_NAMESPACE)
    yield secret("bootstrap-hub-kubeconfig", AGENT_NAMESPACE, {"kubeconfig": bootstrap_kubeconfig})
    yield from registration_agent(cluster, url).manifests()
    yield from work_agent(cluster).manifests()


def registration_agent(cluster: str, url: str) -> SystemPart:
    return SystemPart(
        "klusterlet-registration-agent",
        AGENT_NAMESPACE,
        image=_image("registration"),
        args=("agent", f"--spoke-cluster-name={cluster}", f"--spoke-external-server-urls={url}"),
        account="klusterlet-registration-sa",
        rules=(
            rule("", "nodes", FOLLOW),
            rule("", "namespaces", f"{FOLLOW} create patch"),
            rule(_CLUSTER, "clusterclaims", FOLLOW),
            rule("", "secrets", "get create patch delete"),  # an add-on chooses the namespace of its agent
            rule("coordination.k8s.io", "leases", "get"),
        ),
        rules_at_home=(rule("", "secrets", FOLLOW),),
        mounts=_ROOT_CA,
    )


def work_agent(cluster: str) -> SystemPart:
    """The agent that applies works, with the rights of an administrator, as upstream gives it by default."""
    return SystemPart(
        "klusterlet-work-agent",
        AGENT_NAMESPACE,
        image=_image("work"),
        args=(
            "agent",
            f"--spoke-cluster-name={cluster}",
            "--hub-kubeconfig=/spoke/hub-kubeconfig/kubeconfig",
            "--status-sync-interval=1s",  # ten by default; nobody wants to wait for it here
        ),
        account="klusterlet-work-sa",
        rules=(rule("*", "*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]}),
        mounts={"/spoke/hub-kubeconfig": {"secret": {"secretName": "hub-kubeconfig-secret"}}},
    )
