"""Add-ons and what they are made of, as tests speak of them."""

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.certificates_v1 import CLIENT_SIGNER

NAME = "hello"
GROUP = addon.GROUP


def deployment(name="agent", namespace="default", replicas=1, image="registry.example/agent:1", **container):
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": image, **container}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def template(*manifests, name="hello-1", registration=None, **agent_spec):
    spec = {
        "addonName": NAME,
        "agentSpec": {"workload": {"manifests": list(manifests or [deployment()])}, **agent_spec},
    }
    if registration is not None:
        spec["registration"] = registration
    return addon.AddOnTemplate.manifest(name, spec=spec)


def kube_client(role="hello-role"):
    """Build the registration of an agent that may do on the hub what a role says, in its cluster's namespace."""
    permission = {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}}
    return [{"type": "KubeClient", "kubeClient": {"hubPermissions": [permission]}}]


def config_kind(resource, default=None):
    named = {"defaultConfig": default} if default else {}
    return {"group": GROUP, "resource": resource, **named}


def add_on(*placements, template="hello-1", configs=(), annotations=None):
    """Build an add-on that is made of a template; with Placements, it is installed by them."""
    supported = [config_kind(addon.TEMPLATES, {"name": template}), *configs]
    strategy = {"type": "Placements", "placements": list(placements)} if placements else {"type": "Manual"}
    return addon.ClusterManagementAddOn.manifest(
        NAME, annotations=annotations, spec={"supportedConfigs": supported, "installStrategy": strategy}
    )


def by_placement(name="p", **parts):
    return {"name": name, "namespace": "ns", **parts}


def placement(name="p"):
    return cluster.Placement.manifest(name, "ns", spec={})


def decision(*clusters, of="p", group=0, number=1):
    labels = {
        cluster.PLACEMENT_LABEL: of,
        cluster.DECISION_GROUP_INDEX_LABEL: str(group),
        cluster.DECISION_GROUP_NAME_LABEL: "",
    }
    decided = [{"clusterName": name, "reason": ""} for name in clusters]
    return cluster.PlacementDecision.manifest(
        f"{of}-decision-{number}", "ns", labels=labels, status={"decisions": decided}
    )


def managed_cluster(name):
    return cluster.ManagedCluster.manifest(name, spec={"hubAcceptsClient": True})


def deployment_config(name="values", **spec):
    return addon.AddOnDeploymentConfig.manifest(name, "ns", spec=spec)


SIGNER = CLIENT_SIGNER
