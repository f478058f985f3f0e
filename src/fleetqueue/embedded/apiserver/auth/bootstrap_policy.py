"""The roles and bindings that every cluster begins with."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED

GROUP: Final = "rbac.authorization.k8s.io"
LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
AUTO_UPDATE: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}

READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
HEALTH: Final = ("/healthz", "/livez", "/readyz")
VERSION: Final = ("/version", "/version/")

EDITABLE: Final = {
    "": ("configmaps", "endpoints", "events", "persistentvolumeclaims", "pods", "replicationcontrollers", "services"),
    "apps": ("daemonsets", "deployments", "deployments/scale", "replicasets", "replicasets/scale", "statefulsets"),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("cronjobs", "jobs"),
    "discovery.k8s.io": ("endpointslices",),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "policy": ("poddisruptionbudgets",),
    "coordination.k8s.io": ("leases",),
}
"""What namespace editors may change, and viewers may see; secrets and service accounts only editors."""


def cluster_roles() -> list[Manifest]:
    """Return the roles that mean something in this server; of those for Kubernetes' own parts it has no use."""
    everything = [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
    discovery = [*HEALTH, *VERSION, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"]
    monitoring = [*HEALTH, *(f"{path}/*" for path in HEALTH), "/metrics", "/metrics/slis"]
    issuer = ["/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks"]
    return [
        _role("cluster-admin", everything),
        _role("system:discovery", [_urls(sorted(discovery))]),
        _role("system:monitoring", [_urls(sorted(monitoring))]),
        _role("system:public-info-viewer", [_urls(sorted([*HEALTH, *VERSION]))]),
        _role("system:service-account-issuer-discovery", [_urls(sorted(issuer))]),
        _role("system:basic-user", list(_reviews())),
        *(_aggregated(name) for name in ("admin", "edit", "view")),
        _role("system:aggregate-to-view", list(_viewing()), aggregate_to="view"),
        _role("system:aggregate-to-edit", list(_editing()), aggregate_to="edit"),
        _role("system:aggregate-to-admin", list(_administering()), aggregate_to="admin"),
    ]


def cluster_role_bindings() -> list[Manifest]:
    return [
        _binding("cluster-admin", MASTERS),
        _binding("system:discovery", AUTHENTICATED),
        _binding("system:monitoring", "system:monitoring"),
        _binding("system:basic-user", AUTHENTICATED),
        _binding("system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED),
        _binding("system:service-account-issuer-discovery", SERVICE_ACCOUNTS),
    ]


def _reviews() -> Iterable[Manifest]:
    access = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
    yield _rule(("create",), "authorization.k8s.io", access)
    yield _rule(("create",), "authentication.k8s.io", ("selfsubjectreviews",))


def _viewing() -> Iterable[Manifest]:
    for group, resources in EDITABLE.items():
        statuses = tuple(f"{resource}/status" for resource in resources if "/" not in resource)
        yield _rule(READ, group, (*resources, *statuses))
    yield _rule(READ, "", ("bindings", "limitranges", "namespaces", "pods/log", "resourcequotas", "serviceaccounts"))


def _editing() -> Iterable[Manifest]:
    for group, resources in EDITABLE.items():
        yield _rule(WRITE, group, resources)
    yield _rule((*READ, *WRITE), "", ("secrets",))
    yield _rule(WRITE, "", ("serviceaccounts",))
    yield _rule(("create",), "", ("pods/eviction", "serviceaccounts/token"))
    yield _rule(("impersonate",), "", ("serviceaccounts",))


def _administering() -> Iterable[Manifest]:
    yield _rule(("create",), "authorization.k8s.io", ("localsubjectaccessreviews",))
    yield _rule((*READ, *WRITE), GROUP, ("rolebindings", "roles"))


def _role(name: str, rules: Sequence[Manifest], *, aggregate_to: str = "") -> Manifest:
    labels = dict(LABELS)
    if aggregate_to:
        labels[f"{GROUP}/aggregate-to-{aggregate_to}"] = "true"
    return _object("ClusterRole", name, labels, rules=list(rules))


def _aggregated(name: str) -> Manifest:
    wider = {"edit": "admin", "view": "edit"}.get(name)
    labels = {**LABELS, f"{GROUP}/aggregate-to-{wider}": "true"} if wider else dict(LABELS)
    selector = {"matchLabels": {f"{GROUP}/aggregate-to-{name}": "true"}}
    return _object("ClusterRole", name, labels, aggregationRule={"clusterRoleSelectors": [selector]}, rules=[])


def _binding(role: str, *groups: str) -> Manifest:
    subjects = [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups]
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    return _object("ClusterRoleBinding", role, dict(LABELS), roleRef=reference, subjects=subjects)


def _object(kind: str, name: str, labels: dict[str, str], **body: Any) -> Manifest:
    metadata = {"name": name, "labels": labels, "annotations": dict(AUTO_UPDATE)}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **body}


def _rule(verbs: Sequence[str], group: str, resources: Sequence[str]) -> Manifest:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": list(resources)}


def _urls(urls: Sequence[str]) -> Manifest:
    return {"verbs": ["get"], "nonResourceURLs": list(urls)}
