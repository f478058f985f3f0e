"""The built-in kinds: what each does differently from the others."""

from collections.abc import Mapping, Set
from dataclasses import replace
from functools import cache, partial
from typing import Final

from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.names import path_segment
from fleetqueue.embedded.apiserver.kinds.normalising import empty_field, normalised
from fleetqueue.embedded.apiserver.kinds.table import BuiltIn, type_of
from fleetqueue.embedded.apiserver.registry.kinds import (
    certificates,
    claims,
    config,
    cron_jobs,
    defaults_only,
    definitions,
    events,
    jobs,
    limits,
    namespaces,
    nodes,
    pods,
    roles,
    services,
    slices,
    workloads,
)
from fleetqueue.embedded.apiserver.registry.kinds.selectable_fields import selectable_fields
from fleetqueue.embedded.apiserver.registry.kinds.warnings import WARNINGS
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.strategy import DEFAULT_STRATEGY, RestUpdateStrategy, Strategy

RBAC: Final = "rbac.authorization.k8s.io"

WITHOUT_GENERATION: Final = {
    "": {
        "configmaps",
        "endpoints",
        "events",
        "limitranges",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "resourcequotas",
        "secrets",
        "serviceaccounts",
        "services",
    },
    "apiregistration.k8s.io": {"apiservices"},
    "apps": {"controllerrevisions"},
    "autoscaling": {"horizontalpodautoscalers"},
    "certificates.k8s.io": {"certificatesigningrequests"},
    "coordination.k8s.io": {"leases"},
    "events.k8s.io": {"events"},
    "networking.k8s.io": {"ipaddresses", "servicecidrs"},
    "node.k8s.io": {"runtimeclasses"},
    "resource.k8s.io": {"resourceclaims", "resourceclaimtemplates"},
    "storage.k8s.io": {
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "storageclasses",
        "volumeattachments",
        "volumeattributesclasses",
    },
    RBAC: {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
}
CREATED_BY_UPDATE: Final = {
    "": {"endpoints", "events", "limitranges", "services"},
    "coordination.k8s.io": {"leases"},
    "node.k8s.io": {"runtimeclasses"},
    RBAC: {"clusterrolebindings", "clusterroles", "rolebindings", "roles"},
}
WITH_ANY_FINALIZER: Final = {
    "": {"events"},
    "coordination.k8s.io": {"leases"},
    "policy": {"poddisruptionbudgets"},
}
UPDATED_BY_VERSION: Final = {
    "admissionregistration.k8s.io": {
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    },
    "apiextensions.k8s.io": {"customresourcedefinitions"},
    "apiregistration.k8s.io": {"apiservices"},
    "coordination.k8s.io": {"leases"},
    "node.k8s.io": {"runtimeclasses"},
    "policy": {"poddisruptionbudgets"},
    "storage.k8s.io": {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"},
}
"""What an update must know the version of."""
NOT_SERVED: Final = {("autoscaling", "v1", "horizontalpodautoscalers")}
"""Old versions of kinds that are served in another one."""
DEPRECATIONS: Final = {
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
ANSWERED_ELSEWHERE: Final = {"attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "scale", "token"}
"""Subresources that are no part of the stored object."""


@cache
def built_in() -> tuple[Served, ...]:
    """Return every built-in resource that is stored; all servers of a process share them."""
    return tuple(_served(kind) for kind in facts.kinds() if _is_stored(kind))


def _is_stored(kind: BuiltIn) -> bool:
    path = (kind.group, kind.version, kind.plural)
    return kind.is_on_by_default and "list" in kind.verbs and path not in NOT_SERVED


def _served(kind: BuiltIn) -> Served:
    is_new_event = (kind.group, kind.plural) == ("events.k8s.io", "events")
    return Served(
        kind.resource,
        facts.schema(kind.group, kind.version, kind.kind),
        _strategy(kind),
        list_kind=kind.list_kind,
        singular=kind.singular,
        short_names=kind.short_names,
        categories=kind.categories,
        verbs=kind.verbs,
        subresources=tuple(part.name for part in kind.subresources if part.name not in ANSWERED_ELSEWHERE),
        deprecation=DEPRECATIONS.get((kind.group, kind.version, kind.plural), ""),
        place=events.PLACE if is_new_event else None,
        to_store=events.to_store if is_new_event else None,
        from_store=events.from_store if is_new_event else None,
    )


RETURNED_BY_DELETION: Final = {
    "": {
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    },
    "resource.k8s.io": {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"},
    "storage.k8s.io": {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
}
"""Kinds of which a deletion returns the object, even if it is gone at once."""
STATUS_WITHOUT_METADATA: Final = {
    "admissionregistration.k8s.io": {"validatingadmissionpolicies"},
    "apiregistration.k8s.io": {"apiservices"},
    "flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
    "networking.k8s.io": {"servicecidrs"},
    "resource.k8s.io": {"resourceclaims"},
    "storage.k8s.io": {"volumeattachments"},
}
"""Kinds whose metadata a write to the status leaves alone."""


def _strategy(kind: BuiltIn) -> Strategy:
    group, plural, type_name = kind.group, kind.plural, type_of(kind.group, kind.version, kind.kind)
    own = OWN.get((group, plural), DEFAULT_STRATEGY)

    def is_in(listed: Mapping[str, Set[str]]) -> bool:
        return plural in listed.get(group, ())

    status = replace(own.status, keeps_metadata=is_in(STATUS_WITHOUT_METADATA))
    if status.initial is None:
        status = replace(status, initial=empty_field(type_name, "status"))
    return replace(
        own,
        name_rule=path_segment if group == RBAC else own.name_rule,
        qualifies_finalizers=not is_in(WITH_ANY_FINALIZER),
        read=partial(normalised, type_name=type_name),
        warnings=WARNINGS.get((group, plural)),
        generation=None if is_in(WITHOUT_GENERATION) else own.generation,
        update=RestUpdateStrategy(is_unconditional=not is_in(UPDATED_BY_VERSION), creates=is_in(CREATED_BY_UPDATE)),
        status=status,
        deletion=replace(own.deletion, returns_object=is_in(RETURNED_BY_DELETION)),
        selectable=selectable_fields(group, plural),
    )


OWN: Final[Mapping[tuple[str, str], Strategy]] = {
    **defaults_only.STRATEGIES,
    ("", "configmaps"): config.CONFIG_MAPS,
    ("", "events"): events.OLD,
    ("", "limitranges"): limits.RANGES,
    ("", "namespaces"): namespaces.STRATEGY,
    ("", "nodes"): nodes.STRATEGY,
    ("", "persistentvolumeclaims"): claims.CLAIMS,
    ("", "pods"): pods.STRATEGY,
    ("", "resourcequotas"): limits.QUOTAS,
    ("", "secrets"): config.SECRETS,
    ("", "services"): services.STRATEGY,
    (definitions.GROUP, definitions.PLURAL): definitions.STRATEGY,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("batch", "cronjobs"): cron_jobs.STRATEGY,
    ("batch", "jobs"): jobs.STRATEGY,
    ("certificates.k8s.io", "certificatesigningrequests"): certificates.STRATEGY,
    ("coordination.k8s.io", "leases"): slices.LEASES,
    ("discovery.k8s.io", "endpointslices"): slices.STRATEGY,
    ("events.k8s.io", "events"): events.NEW,
    ("policy", "poddisruptionbudgets"): limits.BUDGETS,
    (RBAC, "clusterrolebindings"): roles.CLUSTER_BINDINGS,
    (RBAC, "clusterroles"): roles.CLUSTER_ROLES,
    (RBAC, "rolebindings"): roles.BINDINGS,
    (RBAC, "roles"): roles.ROLES,
    ("scheduling.k8s.io", "priorityclasses"): limits.CLASSES,
    ("storage.k8s.io", "storageclasses"): claims.CLASSES,
}
"""The strategies of kinds that have one of their own; what the tables above say of a kind is added."""
