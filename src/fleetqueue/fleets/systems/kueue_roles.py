"""The ClusterRoles for people that Kueue installs: who administers queues, who uses them, and who may see or edit what.

Mirrors: Kueue config/components/rbac
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.systems.parts import rule

_GROUP: Final = "rbac.kueue.x-k8s.io"
_ADMIN, _USER = "batch-admin", "batch-user"
_LABELS: Final = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
_EDIT: Final = "create delete get list patch update watch"
_VIEW: Final = "get list watch"
_FOR_KUBERNETES: Final = tuple(f"rbac.authorization.k8s.io/aggregate-to-{role}" for role in ("admin", "edit", "view"))
"""The labels by which Kubernetes' own roles get a right, too."""


@dataclass(frozen=True, slots=True)
class ManagedKind:
    """A kind of which there is a role for those who see it and, mostly, one for those who edit it."""

    name: str
    group: str
    resource: str
    editors: tuple[str, ...] = (_ADMIN, _USER)
    """Whose roles the one for editing is a part of."""
    viewers: tuple[str, ...] = (_ADMIN, _USER)
    aggregated: tuple[str, ...] = _FOR_KUBERNETES
    has_status: bool = True

    def roles(self) -> Iterable[Manifest]:
        if self.editors:
            yield self._role("editor", _EDIT, self.editors, ())
        yield self._role("viewer", _VIEW, self.viewers, self.aggregated)

    def _role(self, who: str, verbs: str, parts_of: Iterable[str], aggregated: Iterable[str]) -> Manifest:
        labels = {
            **_LABELS,
            f"{_GROUP}/role": f"{self.name}-{who}",
            **{f"{_GROUP}/{role}": "true" for role in parts_of},
        }
        rules = [rule(self.group, self.resource, verbs)]
        if self.has_status:
            rules.append(rule(self.group, f"{self.resource}/status", "get"))
        return _role(f"{self.name}-{who}-role", {**labels, **dict.fromkeys(aggregated, "true")}, rules=rules)


_QUEUES, _VISIBILITY, _TRAINING, _RAY = "kueue.x-k8s.io", "visibility.kueue.x-k8s.io", "kubeflow.org", "ray.io"


def _of_admins(name: str, resource: str, *, has_status: bool = False) -> ManagedKind:
    return ManagedKind(name, _QUEUES, resource, (_ADMIN,), (_ADMIN,), _FOR_KUBERNETES[:1], has_status)


KINDS: Final = (
    _of_admins("clusterqueue", "clusterqueues", has_status=True),
    _of_admins("cohort", "cohorts"),
    _of_admins("resourceflavor", "resourceflavors"),
    _of_admins("topology", "topologies"),
    ManagedKind("localqueue", _QUEUES, "localqueues", editors=(_ADMIN,)),
    ManagedKind("workload", _QUEUES, "workloads", editors=(_ADMIN,)),
    ManagedKind(
        "pending-workloads-cq", _VISIBILITY, "clusterqueues/pendingworkloads", (), viewers=(_ADMIN,), has_status=False
    ),
    ManagedKind("pending-workloads-lq", _VISIBILITY, "localqueues/pendingworkloads", (), has_status=False),
    ManagedKind("job", "batch", "jobs"),
    ManagedKind("jobset", "jobset.x-k8s.io", "jobsets"),
    ManagedKind("leaderworkerset", "leaderworkerset.x-k8s.io", "leaderworkersets"),
    ManagedKind("sparkapplication", "sparkoperator.k8s.io", "sparkapplications"),
    ManagedKind("trainjob", "trainer.kubeflow.org", "trainjobs"),
    *(ManagedKind(kind, _TRAINING, f"{kind}s") for kind in ("jaxjob", "mpijob", "paddlejob", "pytorchjob", "tfjob")),
    ManagedKind("xgboostjob", _TRAINING, "xgboostjobs"),
    ManagedKind("rayjob", _RAY, "rayjobs"),
    *(ManagedKind(kind, _RAY, f"{kind}s", viewers=(_ADMIN,)) for kind in ("raycluster", "rayservice")),
)


def roles() -> Iterable[Manifest]:
    """Build all of them; the two for people collect their rights from the others by labels."""
    for name in (_ADMIN, _USER):
        selectors = [{"matchLabels": {f"{_GROUP}/{name}": "true"}}]
        yield _role(f"{name}-role", _LABELS, aggregationRule={"clusterRoleSelectors": selectors})
    for kind in KINDS:
        yield from kind.roles()


def _role(name: str, labels: Manifest, **rights: Any) -> Manifest:
    return ClusterRole.manifest(f"kueue-{name}", labels=labels, **rights)
