"""What a credential may do on a worker: exactly what Kueue 0.19 and our own parts do with it.

Each right has somebody who uses it, found in Kueue's source and tried on the real one:
- Kueue opens a watch on Workloads and on every job kind (one that is refused fails the whole connection), gets them,
  creates the copies, deletes them, updates a Workload to drop its finalizer or change its priority, and patches its
  status to evict it. Its collector lists Workloads.
- It patches a Job or RayCluster that is elastic, and a RayService whose spec is kept in step.
- Our drain lists Workloads and jobs to see whether a worker is empty, and our dispatcher follows the queues to see
  what they have left. Which cluster it is, we ask its namespace kube-system.

Kueue's own script also grants `<jobs>/status` get, `workloads` patch, `workloads/status` get and the queues' get, which
nobody uses.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from fleetqueue.api.fleetqueue import IDENTITY_NAMESPACE
from fleetqueue.api.kueue_configuration import (
    BETA_GATES,
    ELASTIC_JOBS,
    ORCHESTRATED_PREEMPTION,
    REMOTE_SPEC_SYNC,
    Configuration,
)

KUEUE: Final = "kueue.x-k8s.io"
JOB_VERBS: Final = ("create", "delete", "get", "list", "watch")


@dataclass(frozen=True, slots=True)
class PolicyRule:
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    name: str = ""
    """The one object that is meant; all where empty."""

    def manifest(self) -> dict[str, Any]:
        named = {"resourceNames": [self.name]} if self.name else {}
        return {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs), **named}


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind as Kueue 0.19 sends it; it watches exactly this version on a worker."""

    group: str
    version: str
    resource: str
    patched_with: str = ""
    """The feature gate with which Kueue changes a copy that already exists."""


JOB_KINDS: Final = {
    "batch/job": JobKind("batch", "v1", "jobs", ELASTIC_JOBS),
    "jobset.x-k8s.io/jobset": JobKind("jobset.x-k8s.io", "v1alpha2", "jobsets"),
    "kubeflow.org/jaxjob": JobKind("kubeflow.org", "v1", "jaxjobs"),
    "kubeflow.org/mpijob": JobKind("kubeflow.org", "v2beta1", "mpijobs"),
    "kubeflow.org/paddlejob": JobKind("kubeflow.org", "v1", "paddlejobs"),
    "kubeflow.org/pytorchjob": JobKind("kubeflow.org", "v1", "pytorchjobs"),
    "kubeflow.org/tfjob": JobKind("kubeflow.org", "v1", "tfjobs"),
    "kubeflow.org/xgboostjob": JobKind("kubeflow.org", "v1", "xgboostjobs"),
    "leaderworkerset.x-k8s.io/leaderworkerset": JobKind("leaderworkerset.x-k8s.io", "v1", "leaderworkersets"),
    "pod": JobKind("", "v1", "pods"),
    "ray.io/raycluster": JobKind("ray.io", "v1", "rayclusters", ELASTIC_JOBS),
    "ray.io/rayjob": JobKind("ray.io", "v1", "rayjobs"),
    "ray.io/rayservice": JobKind("ray.io", "v1", "rayservices", REMOTE_SPEC_SYNC),
    "statefulset": JobKind("apps", "v1", "statefulsets"),
    "trainer.kubeflow.org/trainjob": JobKind("trainer.kubeflow.org", "v1alpha1", "trainjobs"),
    "workload.codeflare.dev/appwrapper": JobKind("workload.codeflare.dev", "v1beta2", "appwrappers"),
}
NEVER_DISPATCHED: Final = frozenset({"deployment", "sparkoperator.k8s.io/sparkapplication"})
"""Kinds that Kueue manages but MultiKueue does not send: a list copied from Kueue's configuration may name them."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What a credential shall allow, and what for."""

    rules: tuple[PolicyRule, ...]
    kinds: Mapping[str, JobKind]
    """What Kueue watches on every worker, by the name that its configuration has for it. Where a worker does not serve
    one of them, or does not let Kueue watch it, Kueue refuses the whole worker."""
    unknown: tuple[str, ...] = ()
    """Names in Kueue's configuration that stand for no kind that we know, or that the hub serves."""
    only_adds: bool = False
    """Whether rights that were given before stay: the running Kueue may need more than is known of it."""
    origin: str = ""
    """What Kueue calls the copies of this hub on a worker."""


def rights_for(configurations: Sequence[Configuration], external: Mapping[str, JobKind]) -> Rights:
    """Return what Kueue needs on a worker with any of these configurations.

    `external` has the kinds that the hub serves under the names of `externalFrameworks`.
    """
    known = {**external, **JOB_KINDS}
    named = {name for c in configurations for name in (*c.frameworks, *c.external_frameworks)} - NEVER_DISPATCHED
    gates = frozenset().union(*(configuration.gates for configuration in configurations))
    kinds = {name: known[name] for name in sorted(named) if name in known}
    unknown = tuple(sorted(named - known.keys()))
    return Rights(tuple(_rules(kinds.values(), gates)), kinds, unknown, origin=configurations[0].origin)


def rules_for(job_kinds: Iterable[str], gates: Collection[str] = BETA_GATES) -> list[PolicyRule]:
    """Return the rules for these kinds of jobs, in one order whatever the order asked; raises ValueError."""
    wanted = sorted(set(job_kinds) - NEVER_DISPATCHED)
    unknown = [name for name in wanted if name not in JOB_KINDS]
    if unknown:
        raise ValueError(f"unknown job kind {', '.join(unknown)}; known are {', '.join(sorted(JOB_KINDS))}")
    return _rules((JOB_KINDS[name] for name in wanted), gates)


def _rules(kinds: Iterable[JobKind], gates: Collection[str]) -> list[PolicyRule]:
    return [*_kueue_rules(gates), *(_job_rule(kind, gates) for kind in kinds)]


def widened(rules: Sequence[PolicyRule], live: Iterable[Mapping[str, Any]]) -> list[PolicyRule]:
    """Return the rules with all that live ones, as a role has them, allow beyond them; not those for single objects."""
    allowed = {(rule.group, resource, verb) for rule in rules for resource in rule.resources for verb in rule.verbs}
    more: dict[tuple[str, str], list[str]] = {}
    for grant in live:
        if grant.get("resourceNames"):
            continue
        for group, resource, verb in product(*(grant.get(part) or () for part in ("apiGroups", "resources", "verbs"))):
            if (group, resource, verb) not in allowed:
                more.setdefault((group, resource), []).append(verb)
    return [
        *rules,
        *(PolicyRule(group, (resource,), tuple(sorted(verbs))) for (group, resource), verbs in more.items()),
    ]


def _kueue_rules(gates: Collection[str]) -> list[PolicyRule]:
    status_verbs = ("patch", "update") if ORCHESTRATED_PREEMPTION in gates else ("patch",)
    return [
        PolicyRule(KUEUE, ("workloads",), ("create", "delete", "get", "list", "update", "watch")),
        PolicyRule(KUEUE, ("workloads/status",), status_verbs),
        PolicyRule(KUEUE, ("clusterqueues", "localqueues"), ("list", "watch")),
        PolicyRule("", ("namespaces",), ("get",), IDENTITY_NAMESPACE),
    ]


def _job_rule(kind: JobKind, gates: Collection[str]) -> PolicyRule:
    verbs = JOB_VERBS if kind.patched_with not in gates else tuple(sorted({*JOB_VERBS, "patch"}))
    return PolicyRule(kind.group, (kind.resource,), verbs)
