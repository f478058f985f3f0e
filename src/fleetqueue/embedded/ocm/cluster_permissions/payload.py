"""The roles and bindings that a ClusterPermission stands for. No I/O: every branch is one row of a test table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import managed_service_account_v1beta1 as msa
from fleetqueue.api.cluster_permission_v1alpha1 import Binding, ClusterPermission, PermittedRole, RoleRef, Subject
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.selectors import LabelSelector

RBAC: Final = ClusterRole.resource.group
VERSION: Final = ClusterRole.resource.api_version
CLUSTER_ROLE, ROLE = "ClusterRole", "Role"


class BuildProblem(Exception):
    """No work can be made of a ClusterPermission; the text says why, in upstream's words."""


@dataclass(frozen=True, slots=True)
class References:
    """What the hub knows that a ClusterPermission may refer to."""

    accounts: frozenset[str] = frozenset()
    """The ManagedServiceAccounts of the cluster."""
    add_on_namespace: str | None = None
    """Where the accounts stand on the worker; None where the add-on is not installed there."""
    namespaces: Sequence[Namespace] = ()
    """Those of the hub, by name: namespaces of a worker are selected by the labels of their namesakes here."""


def manifests(permission: ClusterPermission, references: References) -> list[Manifest]:
    """Return the objects that the worker shall have, in upstream's order; raises BuildProblem."""
    spec, name = permission.spec, permission.name
    made: list[Manifest] = []
    if spec.cluster_role is not None:
        made.append(ClusterRole.manifest(name, rules=list(spec.cluster_role.rules)))
    made += [_cluster_binding(name, binding, references) for binding in spec.bindings_of_cluster]
    for role in spec.roles:
        made += _roles(name, role, references)
    for binding in spec.role_bindings:
        made += _bindings(name, binding, references)
    return made


def looked_for(permission: ClusterPermission) -> list[Manifest]:
    """Return the roles that bindings name, each once: with `validate` they are looked for and not made."""
    spec = permission.spec
    singular = (spec.cluster_role_binding,) if spec.cluster_role_binding is not None else ()
    roles: list[Manifest] = []
    for binding in (*singular, *spec.cluster_role_bindings):
        if binding.role_ref is not None and binding.role_ref.kind == CLUSTER_ROLE:
            roles.append(ClusterRole.manifest(binding.role_ref.name))
    for binding in spec.role_bindings:
        reference = binding.role_ref or RoleRef()
        if reference.kind == CLUSTER_ROLE:
            roles.append(ClusterRole.manifest(reference.name))
        elif reference.kind == ROLE and binding.namespace:
            roles.append(_object(ROLE, reference.name, binding.namespace))
    return [role for place, role in enumerate(roles) if role not in roles[:place]]


def _cluster_binding(name: str, binding: Binding, references: References) -> Manifest:
    reference = binding.role_ref or RoleRef(kind=CLUSTER_ROLE, api_group=RBAC, name=name)
    return ClusterRoleBinding.manifest(
        binding.name or name, roleRef=_reference(reference), subjects=_subjects(binding, references)
    )


def _roles(name: str, role: PermittedRole, references: References) -> Iterable[Manifest]:
    for namespace in _namespaces("Role", role, references):
        yield _object(ROLE, name, namespace, rules=list(role.rules))


def _bindings(name: str, binding: Binding, references: References) -> Iterable[Manifest]:
    """Bind in each namespace; where they are selected, neither another name nor another role counts."""
    namespaces = _namespaces("RoleBinding", binding, references)
    given = binding.role_ref or RoleRef()
    own = RoleRef(kind=given.kind, api_group=RBAC, name=name)
    is_selected = binding.namespace_selector is not None
    reference = own if is_selected else _given_reference(given, own, binding.namespace)
    for namespace in namespaces:
        yield _object(
            "RoleBinding",
            name if is_selected else binding.name or name,
            namespace,
            roleRef=_reference(reference),
            subjects=_subjects(binding, references),
        )


def _given_reference(given: RoleRef, own: RoleRef, namespace: str) -> RoleRef:
    if given.api_group and given.name:
        return given
    if given.api_group or given.name:
        missing = "Name" if given.api_group else "APIGroup"
        raise BuildProblem(f"the RoleBinding for Namespace {namespace} missing {missing} for the RoleRef")
    return own


def _namespaces(kind: str, wanted: PermittedRole | Binding, references: References) -> list[str]:
    if not wanted.namespace and wanted.namespace_selector is None:
        raise BuildProblem(f"both {kind} Namespace and NamespaceSelector cannot be nil and empty")
    if wanted.namespace and wanted.namespace_selector is not None:
        raise BuildProblem(f"both {kind} Namespace and NamespaceSelector cannot populated at the same time")
    if wanted.namespace_selector is None:
        return [wanted.namespace]
    return [namespace.name for namespace in references.namespaces if _matches(wanted.namespace_selector, namespace)]


def _matches(selector: LabelSelector, namespace: Namespace) -> bool:
    for requirement in selector.match_expressions:
        if requirement.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            raise BuildProblem(f'"{requirement.operator}" is not a valid label selector operator')
    return selector.matches(namespace.metadata.labels)


def _subjects(binding: Binding, references: References) -> list[Manifest]:
    """Return who is bound, managed accounts as the accounts that they are on the worker."""
    for subject in binding.bound:
        if is_managed_account(subject) and subject.name not in references.accounts:
            raise BuildProblem(f'ManagedServiceAccount.{msa.GROUP} "{subject.name}" not found')
    return [_subject(subject, references) for subject in binding.bound]


def _subject(subject: Subject, references: References) -> Manifest:
    if not is_managed_account(subject):
        fields = {"kind": subject.kind, "apiGroup": subject.api_group, "name": subject.name}
        return {name: value for name, value in {**fields, "namespace": subject.namespace}.items() if value}
    if references.add_on_namespace is None:
        raise BuildProblem(f'ManagedClusterAddOn.addon.open-cluster-management.io "{msa.ADD_ON}" not found')
    return {"kind": "ServiceAccount", "name": subject.name, "namespace": references.add_on_namespace}


def is_managed_account(subject: Subject) -> bool:
    return subject.api_group == msa.GROUP and subject.kind == "ManagedServiceAccount"


def _reference(reference: RoleRef) -> Manifest:
    return {"apiGroup": reference.api_group, "kind": reference.kind, "name": reference.name}


def _object(kind: str, name: str, namespace: str, **body: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, **body}
