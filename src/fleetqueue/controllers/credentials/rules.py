"""What a credential may do on a worker: exactly what Kueue 0.19 and our own parts do with it.

Each right has somebody who uses it, found in Kueue's source and tried on the real one:
- Kueue opens a watch on Workloads and on every job kind (one that is refused fails the whole connection), gets them,
  creates the copies, deletes them, updates a Workload to drop its finalizer or change its priority, and patches its
  status to evict it. Its collector lists Workloads.
- It patches a Job or RayCluster that is elastic, and a RayService whose spec is kept in step.
- Our drain lists Workloads and jobs to see whether a worker is empty, and our dispatcher follows the queues to see
  what they have left.

Kueue's own script also grants `<jobs>/status` get, `workloads` patch, `workloads/status` get and the queues' get, which
nobody uses.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

ELASTIC_JOBS: Final = "ElasticJobsViaWorkloadSlices"
REMOTE_SPEC_SYNC: Final = "MultiKueueRemoteSpecSync"
ORCHESTRATED_PREEMPTION: Final = "MultiKueueOrchestratedPreemption"
GATES_ON_BY_DEFAULT: Final = frozenset({ELASTIC_JOBS, REMOTE_SPEC_SYNC})

KUEUE: Final = "kueue.x-k8s.io"
JOB_VERBS: Final = ("create", "delete", "get", "list", "watch")


@dataclass(frozen=True, slots=True)
class Rule:
    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]

    def manifest(self) -> dict[str, Any]:
        return {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}


@dataclass(frozen=True, slots=True)
class JobKind:
    group: str
    resource: str
    patched_with: str = ""
    """The feature gate with which Kueue changes a copy that already exists."""


JOB_KINDS: Final = {
    "batch/job": JobKind("batch", "jobs", ELASTIC_JOBS),
    "jobset.x-k8s.io/jobset": JobKind("jobset.x-k8s.io", "jobsets"),
    "kubeflow.org/jaxjob": JobKind("kubeflow.org", "jaxjobs"),
    "kubeflow.org/mpijob": JobKind("kubeflow.org", "mpijobs"),
    "kubeflow.org/paddlejob": JobKind("kubeflow.org", "paddlejobs"),
    "kubeflow.org/pytorchjob": JobKind("kubeflow.org", "pytorchjobs"),
    "kubeflow.org/tfjob": JobKind("kubeflow.org", "tfjobs"),
    "kubeflow.org/xgboostjob": JobKind("kubeflow.org", "xgboostjobs"),
    "leaderworkerset.x-k8s.io/leaderworkerset": JobKind("leaderworkerset.x-k8s.io", "leaderworkersets"),
    "pod": JobKind("", "pods"),
    "ray.io/raycluster": JobKind("ray.io", "rayclusters", ELASTIC_JOBS),
    "ray.io/rayjob": JobKind("ray.io", "rayjobs"),
    "ray.io/rayservice": JobKind("ray.io", "rayservices", REMOTE_SPEC_SYNC),
    "statefulset": JobKind("apps", "statefulsets"),
    "trainer.kubeflow.org/trainjob": JobKind("trainer.kubeflow.org", "trainjobs"),
    "workload.codeflare.dev/appwrapper": JobKind("workload.codeflare.dev", "appwrappers"),
}
NEVER_DISPATCHED: Final = frozenset({"deployment", "sparkoperator.k8s.io/sparkapplication"})
"""Kinds that Kueue manages but MultiKueue does not send: a list copied from Kueue's configuration may name them."""


def rules_for(job_kinds: Iterable[str], gates: Collection[str] = GATES_ON_BY_DEFAULT) -> list[Rule]:
    """Return the rules for these kinds of jobs, in one order whatever the order asked."""
    wanted = sorted(set(job_kinds) - NEVER_DISPATCHED)
    unknown = [name for name in wanted if name not in JOB_KINDS]
    if unknown:
        raise ValueError(f"unknown job kind {', '.join(unknown)}; known are {', '.join(sorted(JOB_KINDS))}")
    return [*_kueue_rules(gates), *(_job_rule(JOB_KINDS[name], gates) for name in wanted)]


def _kueue_rules(gates: Collection[str]) -> list[Rule]:
    status_verbs = ("patch", "update") if ORCHESTRATED_PREEMPTION in gates else ("patch",)
    return [
        Rule(KUEUE, ("workloads",), ("create", "delete", "get", "list", "update", "watch")),
        Rule(KUEUE, ("workloads/status",), status_verbs),
        Rule(KUEUE, ("clusterqueues", "localqueues"), ("list", "watch")),
    ]


def _job_rule(kind: JobKind, gates: Collection[str]) -> Rule:
    verbs = JOB_VERBS if kind.patched_with not in gates else tuple(sorted({*JOB_VERBS, "patch"}))
    return Rule(kind.group, (kind.resource,), verbs)
