"""A part of a system as a cluster sees it: a Deployment with an account and the rights that it needs, no more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api.core_v1 import Namespace, ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from fleetqueue.api.scheme import Manifest, Resource

DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments")
FOLLOW: Final = "list watch"
"""What an informer does."""


def rule(group: str, resources: str, verbs: str, *, names: str = "") -> Manifest:
    """A line of a role, with words instead of lists."""
    line: Manifest = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**line, "resourceNames": names.split()} if names else line


EVENTS: Final = rule("events.k8s.io", "events", "create patch")
"""To say something, and to say that it happened again."""


def bound(role: str, rules: Iterable[Manifest], account: str, namespace: str) -> Iterable[Manifest]:
    """Build a ClusterRole, and the binding that gives it to an account in all namespaces."""
    yield ClusterRole.manifest(role, rules=list(rules))
    yield ClusterRoleBinding.manifest(role, **_to(ClusterRole, role, account, namespace))


def bound_at_home(role: str, rules: Iterable[Manifest], account: str, namespace: str) -> Iterable[Manifest]:
    """Build a Role, and the binding that gives it to an account in its own namespace."""
    yield Role.manifest(role, namespace, rules=list(rules))
    yield RoleBinding.manifest(role, namespace, **_to(Role, role, account, namespace))


def _to(kind: type[ClusterRole | Role], role: str, account: str, namespace: str) -> Manifest:
    return {
        "roleRef": {"apiGroup": kind.resource.group, "kind": kind.resource.kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


@dataclass(frozen=True, slots=True)
class Part:
    """What runs in one kind of pod."""

    name: str
    """That of its Deployment."""
    namespace: str
    image: str
    args: tuple[str, ...]
    account: str
    rules: tuple[Manifest, ...]
    """What its account may do in all namespaces. `tests/unit/fleets/test_rights.py` says what for."""
    rules_at_home: tuple[Manifest, ...] = ()
    """What its account may do in its own namespace only."""
    role: str = ""
    """The name of its roles, where others know them by that; otherwise made of its namespace and account."""
    mounts: Mapping[str, Manifest] = field(default_factory=dict)
    """Volumes by the path at which they are mounted."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifests(self) -> Iterable[Manifest]:
        """All that is applied to a cluster, in an order that works."""
        yield Namespace.manifest(self.namespace)
        yield ServiceAccount.manifest(self.account, self.namespace)
        role = self.role or f"{self.namespace}:{self.account}"
        yield from bound(role, self.rules, self.account, self.namespace)
        if self.rules_at_home:
            yield from bound_at_home(role, self.rules_at_home, self.account, self.namespace)
        yield self.deployment()

    def deployment(self) -> Manifest:
        labels = {"app": self.name, **self.labels}
        spec: dict[str, Any] = {
            "serviceAccountName": self.account,
            "containers": [{"name": "manager", "image": self.image, "args": list(self.args)}],
        }
        if self.mounts:
            names = {path: f"mount-{number}" for number, path in enumerate(self.mounts)}
            spec["containers"][0]["volumeMounts"] = [{"name": name, "mountPath": path} for path, name in names.items()]
            spec["volumes"] = [{"name": names[path], **volume} for path, volume in self.mounts.items()]
        return {
            "apiVersion": DEPLOYMENTS.api_version,
            "kind": DEPLOYMENTS.kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": self.name}},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
