"""OCM's add-ons of the walkthroughs' environment, and the controllers of theirs that run on the hub.

Both add-ons are brought to every cluster by an AddOnTemplate: the accounts' agent, and our own score agent under the
name that the walkthroughs know.
"""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.addon_v1alpha1 import ClusterManagementAddOn
from fleetqueue.api.cluster_v1 import ManagedClusterSetBinding, Placement
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fleetqueue import DRAIN_TAINT
from fleetqueue.api.meta import owner_reference
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.systems.ocm import ADD_ON_MANAGER, ADD_ON_NAMESPACE
from fleetqueue.fleets.systems.parts import FOLLOW, SystemPart, bound, create_all, rule
from fleetqueue.manifests import shipped

NAMESPACE: Final = "open-cluster-management-addon"
ACCOUNTS: Final = "managed-serviceaccount"
SCORES: Final = "resource-usage-collect"
HUB_ROLE: Final = "rbac/score_agent_hub_role.yaml"
"""Where the role of our score agent on the hub is shipped."""
_SCORES_ROLE, _SCORES_BINDER = "fleetqueue-score-agent-hub", "fleetqueue-score-agent-binder"
_ACCOUNTS_GROUP: Final = "authentication.open-cluster-management.io"

ACCOUNTS_MANAGER: Final = SystemPart(
    "managed-serviceaccount-addon-manager",
    NAMESPACE,
    image="quay.io/open-cluster-management/managed-serviceaccount:v0.8.0",
    args=("manager", "--seed-cluster-profiles"),
    account="managed-serviceaccount",
    rules=(
        rule(_ACCOUNTS_GROUP, "managedserviceaccounts", f"{FOLLOW} delete"),
        rule("multicluster.x-k8s.io", "clusterprofiles", FOLLOW),
        rule("multicluster.x-k8s.io", "clusterprofiles/status", "patch"),
        rule("", "secrets", f"get {FOLLOW} create patch delete"),  # tokens are copied to wherever a profile stands
    ),
)

PERMISSIONS: Final = SystemPart(
    "cluster-permission",
    NAMESPACE,
    image="quay.io/open-cluster-management/cluster-permission:latest",
    args=(),
    account="cluster-permission",
    rules=(
        rule("rbac.open-cluster-management.io", "clusterpermissions", FOLLOW),
        rule("rbac.open-cluster-management.io", "clusterpermissions/status", "patch"),
        rule(_ACCOUNTS_GROUP, "managedserviceaccounts", FOLLOW),
        rule("addon.open-cluster-management.io", "managedclusteraddons", FOLLOW),
        rule("cluster.open-cluster-management.io", "managedclusters", FOLLOW),
        rule("work.open-cluster-management.io", "manifestworks", f"{FOLLOW} create patch"),
        rule("", "namespaces", FOLLOW),
    ),
)

HUB_PARTS: Final = (ACCOUNTS_MANAGER, PERMISSIONS)
_ACCOUNTS_ROLE: Final = f"{ACCOUNTS}-agent-hub"
_GROUP: Final = "addon.open-cluster-management.io"
_API: Final = f"{_GROUP}/v1alpha1"
_HUB_KUBECONFIG: Final = "/managed/hub-kubeconfig/kubeconfig"
"""Where OCM mounts the kubeconfig that an add-on's agent comes to the hub with."""


def accounts_add_on() -> Iterable[Manifest]:
    """Build the add-on whose agent brings tokens of a worker's accounts to the hub."""
    yield Namespace.manifest(NAMESPACE)
    yield ManagedClusterSetBinding.manifest("global", NAMESPACE, spec={"clusterSet": "global"})
    yield Placement.manifest("global", NAMESPACE, spec={"clusterSets": ["global"], "tolerations": _TOLERATIONS})
    yield ClusterRole.manifest(
        _ACCOUNTS_ROLE,
        rules=[
            rule(_ACCOUNTS_GROUP, "managedserviceaccounts", f"get {FOLLOW}"),
            rule(_ACCOUNTS_GROUP, "managedserviceaccounts/status", "patch"),
            rule("", "secrets", f"get {FOLLOW} create update"),
        ],
    )
    binder = rule("rbac.authorization.k8s.io", "clusterroles", "bind", names=_ACCOUNTS_ROLE)
    yield from bound(f"{_ACCOUNTS_ROLE}-binder", [binder], ADD_ON_MANAGER.account, ADD_ON_MANAGER.namespace)
    yield {
        "apiVersion": _API,
        "kind": "AddOnTemplate",
        "metadata": {"name": ACCOUNTS},
        "spec": {
            "addonName": ACCOUNTS,
            "registration": [
                {
                    "type": "KubeClient",
                    "kubeClient": {
                        "hubPermissions": [
                            {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": _ACCOUNTS_ROLE}}
                        ]
                    },
                }
            ],
            "agentSpec": {"workload": {"manifests": list(accounts_agent().manifests())[1:]}},
        },
    }
    yield {
        "apiVersion": _API,
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": ACCOUNTS, "annotations": {f"{_GROUP}/lifecycle": "addon-manager"}},
        "spec": {
            "addOnMeta": {"displayName": ACCOUNTS, "description": "Brings tokens of workers' accounts to the hub."},
            "supportedConfigs": [{"group": _GROUP, "resource": "addontemplates", "defaultConfig": {"name": ACCOUNTS}}],
            "installStrategy": {
                "type": "Placements",
                "placements": [{"name": "global", "namespace": NAMESPACE, "rolloutStrategy": {"type": "All"}}],
            },
        },
    }


async def install_scores(hub: Client, *arguments: str) -> bool:
    """Install the score add-on, once: who removes it does not get it back. Tell whether the hub has it.

    Its role on the hub is made last and stays when the add-on goes: so a hub that has the role has had the add-on.
    """
    if await hub.find(ClusterRole.resource, _SCORES_ROLE) is None:
        await create_all(hub, scores_add_on(*arguments))
    binder = await hub.find(ClusterRole.resource, _SCORES_BINDER)
    if binder is None or await hub.find(ClusterManagementAddOn.resource, SCORES) is None:
        return False
    # The shipped file does not name the add-on as we do: it goes with something that the file names.
    owner = owner_reference(ClusterRole.resource, _SCORES_BINDER, binder["metadata"]["uid"])
    await hub.merge(ClusterManagementAddOn.resource, SCORES, "", {"metadata": {"ownerReferences": [owner]}})
    return True


def scores_add_on(*arguments: str) -> Iterable[Manifest]:
    """Build our shipped add-on under the name that the walkthroughs know, with further arguments for its agents."""
    for manifest in (*shipped("ocm/score_agent_add_on.yaml"), *shipped(f"kustomize/{HUB_ROLE}")):
        if manifest["kind"] == "ClusterManagementAddOn":
            manifest["metadata"]["name"] = SCORES
        elif manifest["kind"] == "AddOnTemplate":
            manifest["spec"]["addonName"] = SCORES
            deployment = manifest["spec"]["agentSpec"]["workload"]["manifests"][-1]
            (container,) = deployment["spec"]["template"]["spec"]["containers"]
            container["args"] += [f"--set=scores.add_on={SCORES}", *arguments]
            container["readinessProbe"]["periodSeconds"] = 1  # asked in process, it costs nothing
        elif manifest["kind"] == "ClusterRole":
            for line in manifest["rules"]:
                if line["resources"] == ["managedclusteraddons"]:
                    line["resourceNames"] = [SCORES]
        yield manifest


_TOLERATIONS: Final = [
    {"key": key, "operator": "Exists"}
    for key in (
        "cluster.open-cluster-management.io/unreachable",
        "cluster.open-cluster-management.io/unavailable",
        DRAIN_TAINT,
    )
]


def accounts_agent() -> SystemPart:
    """The agent on a worker, as the add-on's template holds it."""
    return SystemPart(
        "managed-serviceaccount-addon-agent",
        ADD_ON_NAMESPACE,
        image=ACCOUNTS_MANAGER.image,
        args=("agent", "--cluster-name={{CLUSTER_NAME}}", f"--kubeconfig={_HUB_KUBECONFIG}"),
        account="managed-serviceaccount",
        rules=(rule("authentication.k8s.io", "tokenreviews", "create"),),
        rules_at_home=(
            rule("", "serviceaccounts", f"get {FOLLOW} create delete"),
            rule("", "serviceaccounts/token", "create"),
            rule("coordination.k8s.io", "leases", "create patch"),
        ),
        mounts={"/etc/root-ca": {"configMap": {"name": "kube-root-ca.crt"}}},
    )
