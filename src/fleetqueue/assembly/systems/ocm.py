"""Open Cluster Management as it is installed: its controllers on the hub, its two agents on each worker."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import Namespace, ServiceAccount, secret
from fleetqueue.api.scheme import Manifest
from fleetqueue.assembly.systems.part import EVENTS, READ, STATUS, WRITE, Part, bound, rule

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
_CSRS: Final = "certificatesigningrequests"
_ROOT_CA: Final = {"/etc/root-ca": {"configMap": {"name": "kube-root-ca.crt"}}}


def _image(name: str) -> str:
    return f"quay.io/open-cluster-management/{name}:{VERSION}"


REGISTRATION: Final = Part(
    "cluster-manager-registration-controller",
    HUB_NAMESPACE,
    image=_image("registration"),
    args=("controller", "--seed-cluster-profiles"),
    account="registration-controller-sa",
    rules=(
        rule("certificates.k8s.io", _CSRS, "create get list watch"),
        rule("certificates.k8s.io", f"{_CSRS}/status {_CSRS}/approval", "update patch"),
        rule("certificates.k8s.io", "signers", "approve", names="kubernetes.io/kube-apiserver-client"),
        rule("", "namespaces serviceaccounts configmaps", WRITE),
        rule("rbac.authorization.k8s.io", "clusterroles clusterrolebindings roles rolebindings", WRITE),
        rule("coordination.k8s.io", "leases", WRITE),
        rule("authorization.k8s.io", "subjectaccessreviews", "create"),
        rule(_CLUSTER, "managedclusters", "get list watch update patch"),
        rule(_CLUSTER, "managedclusters/status managedclustersets/status managedclustersetbindings/status", STATUS),
        rule(_CLUSTER, "managedclustersets", WRITE),
        rule(_CLUSTER, "managedclustersetbindings", READ),
        rule(_WORK, "manifestworks", f"{WRITE} deletecollection execute-as"),
        rule(_WORK, "manifestworks/status", "update patch"),
        rule(_ADD_ONS, "managedclusteraddons", "get list watch delete"),
        rule(_ADD_ONS, "managedclusteraddons/status", "update patch"),
        rule(_REGISTER, "managedclusters/clientcertificates", "renew"),
        rule(_REGISTER, "managedclusters/accept", "update"),
        rule("multicluster.x-k8s.io", "clusterprofiles", WRITE),
        rule("multicluster.x-k8s.io", "clusterprofiles/status", STATUS),
        rule("", "secrets", READ),  # profiles in the seeds' form name those in Kueue's namespace
        EVENTS,
    ),
)

PLACEMENT: Final = Part(
    "cluster-manager-placement-controller",
    HUB_NAMESPACE,
    image=_image("placement"),
    args=(),
    account="placement-controller-sa",
    rules=(
        rule(_CLUSTER, "managedclusters managedclustersets managedclustersetbindings addonplacementscores", READ),
        rule(_CLUSTER, "placements", READ),
        rule(_CLUSTER, "placements/finalizers", "update"),
        rule(_CLUSTER, "placementdecisions", WRITE),
        rule(_CLUSTER, "placements/status placementdecisions/status", STATUS),
        EVENTS,
    ),
)

WORK: Final = Part(
    "cluster-manager-work-controller",
    HUB_NAMESPACE,
    image=_image("work"),
    args=("manager",),
    account="work-controller-sa",
    rules=(
        rule(_WORK, "manifestworks", f"{WRITE} deletecollection execute-as"),
        rule(_WORK, "manifestworkreplicasets", "get list watch update patch"),
        rule(_WORK, "manifestworkreplicasets/status manifestworkreplicasets/finalizers", STATUS),
        rule(_CLUSTER, "placements placementdecisions", READ),
        EVENTS,
    ),
)

ADD_ON_MANAGER: Final = Part(
    "cluster-manager-addon-manager-controller",
    HUB_NAMESPACE,
    image=_image("addon-manager"),
    args=("manager",),
    account="addon-manager-controller-sa",
    rules=(
        rule("", "configmaps serviceaccounts", WRITE),
        rule("coordination.k8s.io", "leases", READ),
        rule(_CLUSTER, "managedclusters placements placementdecisions", READ),
        rule(_ADD_ONS, "clustermanagementaddons", "get list watch patch"),
        rule(_ADD_ONS, "managedclusteraddons", WRITE),
        rule(_ADD_ONS, "addontemplates addondeploymentconfigs", READ),
        rule(_ADD_ONS, "managedclusteraddons/finalizers clustermanagementaddons/finalizers", "update"),
        rule(_ADD_ONS, "managedclusteraddons/status clustermanagementaddons/status", STATUS),
        rule(_WORK, "manifestworks", WRITE),
        rule("certificates.k8s.io", _CSRS, "create get list watch"),
        rule("certificates.k8s.io", f"{_CSRS}/status {_CSRS}/approval", "update patch"),
        rule("certificates.k8s.io", "signers", "approve sign"),
        rule("rbac.authorization.k8s.io", "roles rolebindings", WRITE),
        rule("authorization.k8s.io", "subjectaccessreviews", "create"),
        EVENTS,
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


def registration_agent(cluster: str, url: str) -> Part:
    return Part(
        "klusterlet-registration-agent",
        AGENT_NAMESPACE,
        image=_image("registration"),
        args=("agent", f"--spoke-cluster-name={cluster}", f"--spoke-external-server-urls={url}"),
        account="klusterlet-registration-sa",
        rules=(
            rule("", "nodes", READ),
            rule("", "namespaces", "get list watch create update patch"),
            rule("", "secrets", WRITE),
            rule("coordination.k8s.io", "leases", "get list watch create update patch"),
            rule(_CLUSTER, "clusterclaims", READ),
            rule("about.k8s.io", "clusterproperties", READ),
        ),
        mounts=_ROOT_CA,
    )


def work_agent(cluster: str) -> Part:
    """The agent that applies works, with the rights of an administrator, as upstream gives it by default."""
    return Part(
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
