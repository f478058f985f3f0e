"""The parts of systems, and how they come to an embedded cluster: the kinds first, then what runs.

A part is a Deployment with an account and the rights that it needs, no more.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace, ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.registry.kinds import definition_schemas
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.cluster_api import collection_path

DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments")
ROLES: Final = {kind.resource.kind: kind.resource for kind in (ClusterRole, Role)}
WEBHOOK_SECONDS: Final = 60.0
"""How long somebody is waited for who has a say in what is made."""
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
class SystemPart:
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


async def install_kinds(client: Client, *systems: str) -> None:
    """Make the custom kinds of systems. Their schemas are ours, and tests look at them: no server needs to."""
    for system in systems:
        for definition in crds(system):
            definition_schemas.trust(definition)
    await together(*(_create(client, definition) for system in systems for definition in crds(system)))


async def install(client: Client, *parts: SystemPart) -> None:
    """Let parts run."""
    for part in parts:
        await create_all(client, part.manifests())


async def create_all(client: Client, manifests: Iterable[Manifest]) -> None:
    """Create objects one after the other; those that are there stay as they are, with the rights of this version."""
    for manifest in manifests:
        await _create(client, manifest)


async def _create(client: Client, manifest: Manifest) -> None:
    try:
        await _posted(client, manifest)
    except errors.AlreadyExists:
        role, metadata = ROLES.get(manifest["kind"]), manifest["metadata"]
        if role is not None and "rules" in manifest:  # an older version may have made it: what runs now may need more
            await client.merge(role, metadata["name"], metadata.get("namespace", ""), {"rules": manifest["rules"]})


async def _posted(client: Client, manifest: Manifest) -> None:
    """Send an object; on a cluster that goes on, webhooks refuse until their pods run, also what is there."""
    path, deadline = collection_path(manifest), clock.monotonic() + WEBHOOK_SECONDS
    while True:
        try:
            await client.post(path, manifest)
            return
        except errors.ServerError:
            with suppress(errors.NotFound):
                await client.read(f"{path}/{manifest['metadata']['name']}")
                return
            if clock.monotonic() >= deadline:
                raise
        await asyncio.sleep(1)
