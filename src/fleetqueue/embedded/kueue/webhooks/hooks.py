"""All hooks of a Kueue manager: which writes they are asked about, and what they say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.admission_hooks import AdmissionHook, Call, Find
from fleetqueue.api.apps_v1 import Deployment, ReplicaSet, StatefulSet
from fleetqueue.api.canonical_quantities import canonical
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import MPI_JOB, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, SPARK_APPLICATION
from fleetqueue.api.kueue_pods import DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.frameworks import BATCH_JOB
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.topology_requests import UnreadableRequest
from fleetqueue.embedded.kueue.names import IN_USE
from fleetqueue.embedded.kueue.settings import SYSTEM_NAMESPACES, KueueSettings
from fleetqueue.embedded.kueue.webhooks import job_rules, pod_rules, queue_rules
from fleetqueue.embedded.kueue.webhooks.field_errors import refuse
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext, JobDefaults
from fleetqueue.embedded.kueue.webhooks.job_topology_rules import topology_faults
from fleetqueue.embedded.kueue.webhooks.parent_rules import completed_deployment, parent_faults
from fleetqueue.embedded.kueue.webhooks.pod_rules import PodDefaults
from fleetqueue.embedded.kueue.webhooks.ray_rules import ray_cluster_faults, ray_job_faults, ray_service_faults
from fleetqueue.embedded.kueue.webhooks.serving_rules import (
    completed_leader_worker_set,
    completed_stateful_set,
    leader_worker_set_faults,
    stateful_set_faults,
)
from fleetqueue.embedded.kueue.webhooks.workload_rules import workload_faults

CREATE: Final = ("CREATE",)
WRITES: Final = ("CREATE", "UPDATE")
AMOUNTS: Final = ("nominalQuota", "borrowingLimit", "lendingLimit", "weight")

ABOVE_PODS: Final[Mapping[str, type[Object]]] = {
    DEPLOYMENT: Deployment,
    STATEFUL_SET: StatefulSet,
    LEADER_WORKER_SET: LeaderWorkerSet,
}
"""The kinds that are admitted by their pods, by the names that the configuration has for them."""

Faults = Callable[[Manifest | None, Manifest], list[str]]
_OF_MANAGED: Final[dict[str, Callable[[Manifest], list[str]]]] = {
    RAY_CLUSTER.framework: ray_cluster_faults,
    RAY_JOB.framework: ray_job_faults,
    RAY_SERVICE.framework: ray_service_faults,
}
"""What is wrong with jobs of some kinds if Kueue manages them."""


def hooks(
    settings: KueueSettings, integrations: Sequence[Integration], find: Find, parents: Sequence[type[Object]] = ()
) -> list[AdmissionHook]:
    """Return the hooks of a manager with these settings; `parents` are kinds that somebody else manages."""

    def lookup(kind: type[Object], name: str, namespace: str) -> Manifest | None:
        return find(kind.resource.group, kind.resource.plural, namespace, name)

    named = [integration for integration in integrations if integration.framework in settings.frameworks]
    enabled = [integration.looking_up(lookup) for integration in named]
    above = [kind for framework, kind in ABOVE_PODS.items() if framework in settings.frameworks]
    if settings.manages_pods:
        above.append(Pod)
    kinds = (*(integration.kind for integration in enabled), *parents, *above)
    context = JobContext(settings, find, kinds, (ReplicaSet,))
    of_jobs = [hook for integration in enabled for hook in _of_jobs(JobDefaults(integration, context))]
    of_pods = _of_pods(context) if settings.manages_pods else ()
    return [*_of_queues(), *of_jobs, *of_pods, *_of_parents(context)]


def _of_queues() -> Iterable[AdmissionHook]:
    yield _hook("mclusterqueue", kueue.ClusterQueue, _written_queue, is_mutating=True)
    yield _hook("mresourceflavor", kueue.ResourceFlavor, _held, is_mutating=True)
    yield _hook("vclusterqueue", kueue.ClusterQueue, _judged(queue_rules.cluster_queue_faults))
    yield _hook("vcohort", kueue.Cohort, _judged(queue_rules.cohort_faults))
    yield _hook("vresourceflavor", kueue.ResourceFlavor, _judged(queue_rules.flavor_faults))
    resources = ("workloads", "workloads/status")
    yield _hook("vworkload", kueue.Workload, _judged(workload_faults), resources=resources)


def _of_jobs(defaults: JobDefaults) -> Iterable[AdmissionHook]:
    integration = defaults.integration
    kind, spared = integration.kind, SYSTEM_NAMESPACES
    name = kind.resource.kind.lower()

    def complete(old: Manifest | None, new: Manifest) -> Manifest:
        return defaults.completed(new)

    def faults(old: Manifest | None, new: Manifest) -> list[str]:
        try:
            problems = [*plain_faults(old, new), *topology_faults(integration, new)]
        except UnreadableRequest as error:
            return [str(error)]
        return sorted(problems, key=_path) if old is None and integration.framework == MPI_JOB.framework else problems

    def plain_faults(old: Manifest | None, new: Manifest) -> list[str]:
        problems: list[str] = []
        if integration.framework in _OF_MANAGED and defaults.is_managed(new):
            problems += _OF_MANAGED[integration.framework](new)
        problems += [*job_rules.faults(new), *job_rules.prebuilt_faults(integration, new)]
        problems += job_rules.elastic_faults(integration, new)
        problems += job_rules.missing_faults(integration, new)
        if integration.framework == BATCH_JOB:
            problems += job_rules.batch_job_faults(old, new)
        if integration.framework == SPARK_APPLICATION.framework:
            without_queue = defaults.context.settings.manages_jobs_without_queue
            problems += job_rules.spark_application_faults(new, without_queue=without_queue)
        if old is not None:
            has_default = defaults.context.has_default_queue(new["metadata"].get("namespace", ""))
            problems += job_rules.change_faults(integration, old, new, has_default_queue=has_default)
        return problems

    yield _hook(f"m{name}", kind, complete, is_mutating=True, spared=spared)
    yield _hook(f"v{name}", kind, _judged(faults), spared=spared)


def _path(problem: str) -> str:
    return problem.partition(": ")[0]


def _of_pods(context: JobContext) -> Iterable[AdmissionHook]:
    defaults, spared = PodDefaults(context), SYSTEM_NAMESPACES

    def complete(old: Manifest | None, new: Manifest) -> Manifest:
        return defaults.completed(new)

    def faults(old: Manifest | None, new: Manifest) -> list[str]:
        if old is None:
            return pod_rules.faults(new)
        has_default = context.has_default_queue(new["metadata"].get("namespace", ""))
        return pod_rules.change_faults(old, new, has_default_queue=has_default)

    yield _hook("mpod", Pod, complete, is_mutating=True, spared=spared)
    yield _hook("vpod", Pod, _judged(faults), spared=spared)


def _of_parents(context: JobContext) -> Iterable[AdmissionHook]:
    hooks: dict[str, tuple[Callable[[JobContext, Manifest], Manifest], Faults]] = {
        DEPLOYMENT: (completed_deployment, parent_faults),
        STATEFUL_SET: (completed_stateful_set, partial(stateful_set_faults, context)),
        LEADER_WORKER_SET: (completed_leader_worker_set, partial(leader_worker_set_faults, context)),
    }
    for framework, (completed, faults) in hooks.items():
        if framework in context.settings.frameworks:
            yield from _of_parent(ABOVE_PODS[framework], _completing(context, completed), faults)


def _completing(context: JobContext, completed: Callable[[JobContext, Manifest], Manifest]) -> Call:
    def call(old: Manifest | None, new: Manifest) -> Manifest:
        return completed(context, new)

    return call


def _of_parent(kind: type[Object], complete: Call, faults: Faults) -> Iterable[AdmissionHook]:
    """Return the hooks of a kind whose pods follow it also when it changes."""
    name, spared = kind.resource.kind.lower(), SYSTEM_NAMESPACES
    yield _hook(f"m{name}", kind, complete, is_mutating=True, operations=WRITES, spared=spared)
    yield _hook(f"v{name}", kind, _judged(faults), spared=spared)


def _hook(
    name: str,
    kind: type[Object],
    call: Call,
    *,
    is_mutating: bool = False,
    operations: tuple[str, ...] = (),
    resources: tuple[str, ...] = (),
    spared: tuple[str, ...] = (),
) -> AdmissionHook:
    resource = kind.resource
    return AdmissionHook(
        name=f"{name}.kb.io",
        group=resource.group,
        version=resource.version,
        resources=resources or (resource.plural,),
        operations=operations or (CREATE if is_mutating else WRITES),
        call=call,
        is_mutating=is_mutating,
        spared=spared,
    )


def _judged(faults: Faults) -> Call:
    """Make a hook of rules. What is not even shaped as its schema asks is left to the schema."""

    def call(old: Manifest | None, new: Manifest) -> Manifest:
        try:
            problems = faults(old, new)
        except (KeyError, TypeError, AttributeError, ValueError):
            return new
        refuse(problems)
        return new

    return call


def _written_queue(old: Manifest | None, new: Manifest) -> Manifest:
    """Hold a ClusterQueue, and write its amounts as Go does: upstream's hook answers with the queue as it read it."""
    held = _held(old, new)
    return {**held, "spec": _with_canonical_amounts(held["spec"])} if "spec" in held else held


def _with_canonical_amounts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_canonical_amounts(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _canonical(inner) if name in AMOUNTS else _with_canonical_amounts(inner) for name, inner in value.items()
    }


def _canonical(amount: Any) -> Any:
    try:
        return canonical(str(amount))
    except ValueError:
        return amount  # the schema refuses it


def _held(old: Manifest | None, new: Manifest) -> Manifest:
    metadata = new["metadata"]
    finalizers = metadata.get("finalizers") or []
    if IN_USE in finalizers:
        return new
    return {**new, "metadata": {**metadata, "finalizers": [*finalizers, IN_USE]}}
