"""Add-ons of Open Cluster Management: what they are, where they are, and of what they are made."""

from typing import Any, ClassVar

import msgspec

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.rollouts import RolloutStrategy
from fleetqueue.api.scheme import Resource

GROUP = "addon.open-cluster-management.io"
ADD_ON_LABEL = "open-cluster-management.io/addon-name"
ADD_ON_NAMESPACE_LABEL = "open-cluster-management.io/addon-namespace"
LIFECYCLE = f"{GROUP}/lifecycle"
SELF = "self"
"""An annotation: `addon-manager`, which is the default, or `self` for add-ons that install themselves."""
PRE_DELETE_HOOK = f"{GROUP}/addon-pre-delete"
"""An annotation or label of a Job or Pod that runs before the add-on goes; also the name of the finalizer for it."""
DELETION_ORPHAN = f"{GROUP}/deletion-orphan"
INSTALL_NAMESPACE = "open-cluster-management-agent-addon"
"""Where agents of add-ons run unless somebody says otherwise."""
AVAILABLE, PROGRESSING, CONFIGURED = "Available", "Progressing", "Configured"
MANIFEST_APPLIED, REGISTRATION_APPLIED = "ManifestApplied", "RegistrationApplied"
TEMPLATES, DEPLOYMENT_CONFIGS = "addontemplates", "addondeploymentconfigs"
CUSTOMIZED = "Customized"


class ConfigReferent(View):
    namespace: str = ""
    name: str = ""


class ConfigMeta(View):
    """A kind of configuration, and the one that is meant where nobody names one."""

    group: str = ""
    resource: str = ""
    default_config: ConfigReferent | None = None


class AddOnConfig(View):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class PlacementStrategy(View):
    namespace: str = ""
    name: str = ""
    configs: tuple[AddOnConfig, ...] = ()
    rollout_strategy: RolloutStrategy = RolloutStrategy()


class InstallStrategy(View):
    type: str = "Manual"
    placements: tuple[PlacementStrategy, ...] = ()


class ClusterManagementAddOnSpec(View):
    supported_configs: tuple[ConfigMeta, ...] = ()
    install_strategy: InstallStrategy = InstallStrategy()


class ClusterManagementAddOn(Object):
    """An add-on of the fleet: how it is configured, and onto which clusters it comes."""

    resource: ClassVar = Resource(
        GROUP, "v1alpha1", "ClusterManagementAddOn", "clustermanagementaddons", namespaced=False
    )

    spec: ClusterManagementAddOnSpec = ClusterManagementAddOnSpec()

    @property
    def is_ours(self) -> bool:
        """Tell whether the add-on manager looks after it."""
        return self.metadata.annotations.get(LIFECYCLE, "addon-manager") == "addon-manager"

    @property
    def is_from_template(self) -> bool:
        return any((config.group, config.resource) == (GROUP, TEMPLATES) for config in self.spec.supported_configs)


class AgentSubject(View):
    user: str = ""
    groups: tuple[str, ...] = ()


class Registration(View):
    """As whom the agent of an add-on asks the hub, and who signs its certificate."""

    signer_name: str = ""
    subject: AgentSubject = AgentSubject()


class ConfigSpecHash(View):
    namespace: str = ""
    name: str = ""
    spec_hash: str = ""


class ConfigReference(View):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    last_observed_generation: int = 0
    desired_config: ConfigSpecHash | None = None
    last_applied_config: ConfigSpecHash | None = None


class HealthCheck(View):
    mode: str = ""


class ManagedClusterAddOnSpec(View):
    install_namespace: str = ""
    configs: tuple[AddOnConfig, ...] = ()


class ManagedClusterAddOnStatus(View):
    conditions: tuple[Condition, ...] = ()
    config_references: tuple[ConfigReference, ...] = ()
    registrations: tuple[Registration, ...] = ()
    namespace: str = ""
    health_check: HealthCheck = HealthCheck()
    kube_client_driver: str = ""


class ManagedClusterAddOn(Object):
    """An add-on on one cluster, in the cluster's namespace on the hub; what the add-on made there goes with it."""

    resource: ClassVar = Resource(GROUP, "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons")

    spec: ManagedClusterAddOnSpec = ManagedClusterAddOnSpec()
    status: ManagedClusterAddOnStatus = ManagedClusterAddOnStatus()

    @property
    def install_namespace(self) -> str:
        """Where its agent runs on the cluster."""
        return self.status.namespace or self.spec.install_namespace or INSTALL_NAMESPACE

    def config(self, resource: str) -> ConfigSpecHash | None:
        """Return which configuration of a kind of ours is meant for it; None where there is none."""
        refs = [ref for ref in self.status.config_references if (ref.group, ref.resource) == (GROUP, resource)]
        return refs[0].desired_config if refs else None

    @property
    def is_from_template(self) -> bool:
        """Tell whether it is made of a template that is there."""
        template = self.config(TEMPLATES)
        return template is not None and bool(template.spec_hash)


class CurrentCluster(View):
    cluster_role_name: str = ""


class SingleNamespace(View):
    namespace: str = ""
    role_ref: dict[str, str] = {}


class HubPermission(View):
    type: str = ""
    current_cluster: CurrentCluster | None = None
    single_namespace: SingleNamespace | None = None


class KubeClient(View):
    hub_permissions: tuple[HubPermission, ...] = ()


class CustomSigner(View):
    signer_name: str = ""
    subject: AgentSubject | None = None


class TemplateRegistration(View):
    type: str = ""
    kube_client: KubeClient | None = None
    custom_signer: CustomSigner | None = None


class TemplateSpec(View):
    addon_name: str = ""
    agent_spec: dict[str, Any] = {}
    """The spec of a ManifestWork, in which `{{NAME}}` stands for a value."""
    registration: tuple[TemplateRegistration, ...] = ()


class AddOnTemplate(Object):
    """The objects of an add-on's agent, and what the agent may do on the hub."""

    resource: ClassVar = Resource(GROUP, "v1alpha1", "AddOnTemplate", TEMPLATES, namespaced=False)

    spec: TemplateSpec = TemplateSpec()

    @property
    def manifests(self) -> list[dict[str, Any]]:
        return (self.spec.agent_spec.get("workload") or {}).get("manifests") or []


class Variable(View):
    name: str = ""
    value: str = ""


class NodePlacement(View):
    node_selector: dict[str, str] | None = None
    tolerations: tuple[dict[str, Any], ...] = ()


class ImageMirror(View):
    source: str = ""
    mirror: str = ""


class ProxyConfig(View):
    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    ca_bundle: str = ""
    """Base64 PEM."""


class ContainerResources(View):
    container_id: str = msgspec.field(name="containerID", default="")
    """`deployments:name:container`, in which `*` stands for anything."""
    resources: dict[str, Any] = {}


class DeploymentConfigSpec(View):
    customized_variables: tuple[Variable, ...] = ()
    node_placement: NodePlacement | None = None
    registries: tuple[ImageMirror, ...] = ()
    proxy_config: ProxyConfig = ProxyConfig()
    agent_install_namespace: str = ""
    resource_requirements: tuple[ContainerResources, ...] = ()


class AddOnDeploymentConfig(Object):
    """Values for the templates of add-ons."""

    resource: ClassVar = Resource(GROUP, "v1alpha1", "AddOnDeploymentConfig", DEPLOYMENT_CONFIGS)

    spec: DeploymentConfigSpec = DeploymentConfigSpec()
