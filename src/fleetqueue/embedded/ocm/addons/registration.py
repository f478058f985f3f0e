"""Say as whom the agents of add-ons ask the hub, and let them do there what their templates ask for.

Reads:   ManagedClusterAddOn, ManagedCluster, AddOnTemplate, AddOnDeploymentConfig
Writes:  RoleBindings; ManagedClusterAddOn status: supportedConfigs, registrations, namespace, RegistrationApplied
Mirrors: addon-framework controllers/registration, OCM pkg/addon/templateagent/registration.go
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.certificates_v1 import CLIENT_SIGNER
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import changes, split_key
from fleetqueue.api.rbac_v1 import RoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.addons import sources, templates
from fleetqueue.embedded.ocm.addons.sources import NotReady
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status, write_status

TEMPLATE_LABEL: Final = "open-cluster-management.io/addon-template-name"
AUTHENTICATED: Final = "system:authenticated"
_RBAC: Final = "rbac.authorization.k8s.io"
_SUPPORTED: Final = [
    {"group": addon.GROUP, "resource": addon.DEPLOYMENT_CONFIGS},
    {"group": addon.GROUP, "resource": addon.TEMPLATES},
]
_APPLIED: Final = Condition.true(
    addon.REGISTRATION_APPLIED, "SetPermissionApplied", "Registration of the addon agent is configured"
)
_PENDING: Final = Condition.false(
    addon.REGISTRATION_APPLIED, "PermissionConfigPending", "registration subject not ready"
)

log = Log("add-ons")


class RegistrationController(Controller):
    """A key is an add-on on a cluster."""

    name = "add-on-registration"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(addon.ManagedClusterAddOn, by_key),
            Watch(cluster.ManagedCluster, lambda obj: self._on(obj.name)),
            Watch(addon.AddOnTemplate, lambda obj: self._made_of(addon.TEMPLATES, obj.name, "")),
            Watch(
                addon.AddOnDeploymentConfig,
                lambda obj: self._made_of(addon.DEPLOYMENT_CONFIGS, obj.name, obj.namespace),
            ),
        )

    def _on(self, name: str) -> list[str]:
        return [add_on.key for add_on in self.hub.list(addon.ManagedClusterAddOn, name)]

    def _made_of(self, resource: str, name: str, namespace: str) -> list[str]:
        add_ons = self.hub.list(addon.ManagedClusterAddOn)
        return [add_on.key for add_on in add_ons if _means(add_on.config(resource), name, namespace)]

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        this = self.hub.get(addon.ManagedClusterAddOn, name, namespace)
        if this is None or not this.is_from_template or not _is_owned(this):
            return
        if self.hub.get(cluster.ManagedCluster, namespace) is None:
            return
        live = live_status(self.hub, this)
        wanted = {**live, "supportedConfigs": _SUPPORTED}
        try:
            template = sources.template_of(self.hub, this)
            condition = await self._permit(this, template)
        except (NotReady, ValueError, errors.Forbidden, errors.Invalid) as error:
            await self._say(this, live, wanted, failed(this, error))
            raise errors.TerminalError(f"{this} cannot be registered: {error}") from error
        try:
            config = sources.deployment_config_of(self.hub, this)
        except NotReady as error:
            await write_status(self.hub, this, live, wanted)
            raise errors.TerminalError(f"{this} cannot be registered: {error}") from error
        wanted["registrations"] = registrations(this, template) or None
        wanted["namespace"] = templates.install_namespace(template, config)
        await self._say(this, live, {name: value for name, value in wanted.items() if value is not None}, condition)

    async def _say(
        self, this: addon.ManagedClusterAddOn, live: Manifest, wanted: Manifest, condition: Condition
    ) -> None:
        wanted["conditions"] = with_conditions(live.get("conditions") or [], [condition], clock.now())
        if await write_status(self.hub, this, live, wanted):
            log.info("add-on registered", add_on=this.name, cluster=this.namespace, reason=condition.reason)

    async def _permit(self, this: addon.ManagedClusterAddOn, template: addon.AddOnTemplate) -> Condition:
        """Bind the roles that the template names to whom the agent is; before that is known, it waits."""
        for manifest in bindings(this, template):
            if not manifest["subjects"]:
                return _PENDING
            await self._bind(manifest)
        return _APPLIED

    async def _bind(self, manifest: Manifest) -> None:
        metadata = manifest["metadata"]
        try:
            live = await self.hub.client.get(RoleBinding.resource, metadata["name"], metadata["namespace"])
        except errors.NotFound:
            await self.hub.client.create(RoleBinding.resource, manifest)
            log.info("role bound", binding=metadata["name"], namespace=metadata["namespace"])
            return
        if patch := changes(live, {name: manifest[name] for name in ("metadata", "subjects", "roleRef")}):
            await self.hub.client.merge(RoleBinding.resource, metadata["name"], metadata["namespace"], patch)


def agent_user(this: addon.ManagedClusterAddOn) -> str:
    return f"system:open-cluster-management:cluster:{this.namespace}:addon:{this.name}:agent:{this.name}-agent"


def agent_groups(this: addon.ManagedClusterAddOn) -> list[str]:
    return [
        f"system:open-cluster-management:cluster:{this.namespace}:addon:{this.name}",
        f"system:open-cluster-management:addon:{this.name}",
        AUTHENTICATED,
    ]


def registrations(this: addon.ManagedClusterAddOn, template: addon.AddOnTemplate) -> list[Manifest]:
    """Return as whom the agent asks each signer for a certificate; an agent with a token says so itself."""
    by_signer: dict[str, Manifest] = {}
    default = {"user": agent_user(this), "groups": agent_groups(this)}
    for registration in template.spec.registration:
        if registration.type == "KubeClient":
            subject = _token_subject(this) if this.status.kube_client_driver == "token" else default
            by_signer.setdefault(CLIENT_SIGNER, {"signerName": CLIENT_SIGNER, "subject": subject})
        elif registration.type == "CustomSigner" and registration.custom_signer is not None:
            signer, given = registration.custom_signer.signer_name, registration.custom_signer.subject
            subject = {"user": given.user, "groups": list(given.groups)} if given is not None else default
            by_signer.setdefault(signer, {"signerName": signer, "subject": subject})
    return list(by_signer.values())


def bindings(this: addon.ManagedClusterAddOn, template: addon.AddOnTemplate) -> list[Manifest]:
    """Return the bindings that a template asks for; those in other namespaces stay when the add-on goes.

    Raises ValueError for a permission that does not say what for.
    """
    role_bindings = []
    for registration in template.spec.registration:
        for permission in (
            registration.kube_client.hub_permissions
            if registration.type == "KubeClient" and registration.kube_client
            else ()
        ):
            if permission.type == "CurrentCluster":
                if permission.current_cluster is None:
                    raise ValueError("current cluster is required when the HubPermission type is CurrentCluster")
                role = {
                    "apiGroup": _RBAC,
                    "kind": "ClusterRole",
                    "name": permission.current_cluster.cluster_role_name,
                }
                binding = _binding(this, this.namespace, role)
                binding["metadata"]["ownerReferences"] = [_owner(this)]
                role_bindings.append(binding)
            elif permission.type == "SingleNamespace":
                if permission.single_namespace is None:
                    raise ValueError("single namespace is required when the HubPermission type is SingleNamespace")
                target = permission.single_namespace
                role_bindings.append(_binding(this, target.namespace, {"apiGroup": _RBAC, **target.role_ref}))
    return role_bindings


def _binding(this: addon.ManagedClusterAddOn, namespace: str, role: Manifest) -> Manifest:
    return RoleBinding.manifest(
        f"open-cluster-management:{this.name}:{role['kind'].lower()}:agent",
        namespace,
        labels={addon.ADD_ON_LABEL: this.name, TEMPLATE_LABEL: ""},
        roleRef=role,
        subjects=subjects(this.status.registrations),
    )


def subjects(known: Sequence[addon.Registration]) -> list[Manifest]:
    """Return whom rights are given to: the user and its groups, but not all who are known at all."""
    subject = next((item.subject for item in known if item.signer_name == CLIENT_SIGNER), addon.AgentSubject())
    users = [{"apiGroup": _RBAC, "kind": "User", "name": subject.user}] if subject.user else []
    groups = [{"apiGroup": _RBAC, "kind": "Group", "name": item} for item in subject.groups if item != AUTHENTICATED]
    return [*users, *groups]


def failed(this: addon.ManagedClusterAddOn, error: Exception) -> Condition:
    why = str(error)
    if isinstance(error, NotReady):
        why = f"PermissionConfig failed to get addon template for addon {this.key}: {error}"
    message = f"Failed to set permission for hub agent: {why}"
    return Condition.false(addon.REGISTRATION_APPLIED, "SetPermissionFailed", message)


def _token_subject(this: addon.ManagedClusterAddOn) -> Manifest:
    known = next(
        (
            registration.subject
            for registration in this.status.registrations
            if registration.signer_name == CLIENT_SIGNER
        ),
        None,
    )
    return {"user": known.user, "groups": list(known.groups)} if known is not None else {"user": ""}


def _owner(this: addon.ManagedClusterAddOn) -> Manifest:
    return {
        "apiVersion": this.resource.api_version,
        "kind": this.resource.kind,
        "name": this.name,
        "uid": this.uid,
    }


def _is_owned(this: addon.ManagedClusterAddOn) -> bool:
    kind = addon.ClusterManagementAddOn.resource.kind
    return any((owner.kind, owner.name) == (kind, this.name) for owner in this.metadata.owner_references)


def _means(config: addon.ConfigSpecHash | None, name: str, namespace: str) -> bool:
    return config is not None and (config.name, config.namespace) == (name, namespace)
