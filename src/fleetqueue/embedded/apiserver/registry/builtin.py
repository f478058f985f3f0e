"""The built-in kinds: what each does differently from the others."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final

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
from fleetqueue.embedded.apiserver.registry.kinds.selectable_fields import selectable
from fleetqueue.embedded.apiserver.registry.kinds.warnings import WARNINGS
from fleetqueue.embedded.apiserver.registry.served import Served, Strategy

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
"""Old faces of things that are served otherwise."""
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


ANSWERED_WHEN_DELETED: Final = {
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
"""What a deletion answers itself, even if it is gone at once."""
STATUS_WITHOUT_METADATA: Final = {
    "admissionregistration.k8s.io": {"validatingadmissionpolicies"},
    "apiregistration.k8s.io": {"apiservices"},
    "flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
    "networking.k8s.io": {"servicecidrs"},
    "resource.k8s.io": {"resourceclaims"},
    "storage.k8s.io": {"volumeattachments"},
}
"""Whose metadata a write to the status leaves alone."""


def _strategy(kind: BuiltIn) -> Strategy:
    group, plural = kind.group, kind.plural
    options: dict[str, Any] = {
        "read": partial(normalised, type_name=type_of(group, kind.version, kind.kind)),
        "has_generation": plural not in WITHOUT_GENERATION.get(group, ()),
        "knows_finalizers": plural not in WITH_ANY_FINALIZER.get(group, ()),
        "creates_on_update": plural in CREATED_BY_UPDATE.get(group, ()),
        "answers_deleted": plural in ANSWERED_WHEN_DELETED.get(group, ()),
        "keeps_status_metadata": plural in STATUS_WITHOUT_METADATA.get(group, ()),
        "updates_blindly": plural not in UPDATED_BY_VERSION.get(group, ()),
        **selectable(group, plural),
        "warnings": WARNINGS.get((group, plural)),
        "new_status": empty_field(type_of(group, kind.version, kind.kind), "status"),
    }
    if group == RBAC:
        options["name_rule"] = path_segment
    return Strategy(**{**options, **OWN.get((group, plural), {})})


OWN: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
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
"""What kinds do by themselves, as options of their strategies."""
